from importlib.metadata import EntryPoint

import pytest

from apportion.decompose.prompt_building.prompt import FOLDER, PROMPTS, load_prompt
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts import prompt_file
from tests.decompose.sessions import session

GOOD = """title: mine
units: judgement
low: 0
high: 10

[system]
{% include "shared/rules.txt" %}

[user]
How good was {{ target }}?
{{ transcript }}
{{ turns }}
"""


def written(tmp_path, text, name="mine.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_file_of_the_user_s_own_is_a_prompt_whose_identity_is_its_text(tmp_path):
    prompt = load_prompt(written(tmp_path, GOOD))
    assert (prompt.title, prompt.units, prompt.low, prompt.high) == ("mine", "judgement", 0.0, 10.0)
    system, user = prompt.messages(session().episodes()[0])
    assert system == load_prompt("default").messages(session().episodes()[0])[0]
    assert user.content.startswith('How good was "SYSTEM"?\n[\n{"turn": 0,')
    one, same = (load_prompt(written(tmp_path, GOOD, name)).identity() for name in ("a.txt", "b.txt"))
    other = load_prompt(written(tmp_path, GOOD.replace("good", "bad"), "c.txt")).identity()
    assert one == same != other


@pytest.mark.parametrize(
    ("name", "null"),
    [("blind", "mean"), ("default", "mean"), ("quality", "mean"), ("paper", "zero"), ("attribution", "never")],
)
def test_what_null_means_is_a_part_of_each_prompt_and_of_its_other_wording(name, null):
    assert load_prompt(name).null == null
    assert f"\nnull: {null}\n" in load_prompt(name).path.read_text()
    assert load_prompt(str(FOLDER / "paraphrase" / f"{name}.txt")).null == null


@pytest.mark.parametrize(("units", "null"), [("judgement", "mean"), ("attribution", "never"), ("score", "zero")])
def test_a_prompt_that_does_not_say_what_null_means_follows_its_units(tmp_path, units, null):
    text = GOOD.replace("judgement", units)
    if units == "score":
        text = text.replace("low: 0\nhigh: 10\n", "")
    assert load_prompt(written(tmp_path, text)).null == null
    other = "never" if units == "attribution" else "zero" if null == "mean" else "mean"
    said = text.replace(f"units: {units}\n", f"units: {units}\nnull: {other}\n")
    silent, spoken = load_prompt(written(tmp_path, text, "a.txt")), load_prompt(written(tmp_path, said, "b.txt"))
    assert spoken.null == other
    # It is told to nobody who answers: recorded replies are found by the messages.
    assert silent.messages(session().episodes()[0]) == spoken.messages(session().episodes()[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", r"its sections are none; it needs \[system\] and \[user\]"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"x" * 1_000_001, "1,000,001 bytes; a prompt has at most 1,000,000"),
        (GOOD.replace("[system]", "[assistant]"), r"its sections are \[assistant\], \[user\]"),
        (GOOD + "[user]\nagain", r"its sections are \[system\], \[user\], \[user\]"),
        (GOOD.replace("units: judgement\n", ""), "units: missing; allowed are judgement, score, attribution"),
        (GOOD.replace("judgement", "points"), "units: points; allowed are"),
        (GOOD.replace("low: 0", "lowest: 0"), "line 'lowest: 0' before its sections; allowed are title, units"),
        (GOOD.replace("low: 0", "low: 0\nlow: 1"), "line 'low: 1' before its sections"),
        (GOOD.replace("low: 0\n", ""), "units: judgement needs low and high, each a number"),
        (GOOD.replace("low: 0", "low: 10"), "low: 10, high: 10; low must be below high, and both finite"),
        (GOOD.replace("judgement", "score"), "low or high with units: score; shares of the score have no bounds"),
        (GOOD.replace("judgement", "attribution").replace("low: 0", "low: 1"), "a whole number from 0 to high"),
        (GOOD.replace("high: 10", "high: 10\nnull: 0"), "null: 0; allowed are mean, zero, never"),
        (
            GOOD.replace("judgement", "attribution").replace("high: 10", "high: 10\nnull: zero"),
            "null: zero with units: attribution, which are whole numbers; only never is allowed",
        ),
        (GOOD.replace("{{ turns }}", "{{ turns | frobnicate }}"), r"\[user\] is no valid template: No filter named"),
        (GOOD.replace("shared/rules.txt", "shared/no.txt"), r"\[system\] is no valid template: .*shared/no.txt"),
        (GOOD.replace("shared/rules.txt", "../../settings.py"), r"\[system\] is no valid template"),
        (
            GOOD.replace("{{ target }}", "{{ who }}"),
            r"\[user\] has unknown blanks who; known are backgrounds, behaviour",
        ),
        (GOOD.replace("{{ turns }}", ""), r"\[user\] lacks the blanks \{\{ turns \}\}"),
        (GOOD.replace("{{ transcript }}", ""), r"\[user\] lacks the blanks \{\{ transcript \}\}"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, problem):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=rf"decompose\.llm\.prompt: .*mine\.txt: .*{problem}") as caught:
        load_prompt(path)
    assert "see docs/guides/language-model.md" in str(caught.value)


@pytest.mark.parametrize("name", ["no/such.txt", "./", "a\0b.txt", "~nobody_here/x.txt"])
def test_a_path_that_is_no_file_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"decompose\.llm\.prompt: .* cannot be read"):
        load_prompt(name)


def test_a_template_that_fails_while_it_is_filled_is_told(tmp_path):
    prompt = load_prompt(written(tmp_path, GOOD.replace("{{ turns }}", "{{ turns }}{{ 1 / 0 }}")))
    with pytest.raises(InputError, match=r"mine\.txt cannot be filled: division by zero\. Its blanks are backgrounds"):
        prompt.messages(session().episodes()[0])


def brought(monkeypatch, value):
    point = EntryPoint("theirs", value, PROMPTS.entry_points)
    monkeypatch.setattr(prompt_file, "_entry_points", lambda group: {"theirs": point})
    load_prompt.cache_clear()


def test_a_package_may_bring_a_prompt(monkeypatch):
    brought(monkeypatch, "tests.decompose.prompt_building.test_prompt_header:PAPER")
    assert "theirs" in PROMPTS.names()
    assert load_prompt("theirs").units == "score"


PAPER = FOLDER / "paper.txt"
NO_PATH = 7


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no_such_module:X", "cannot be loaded: ModuleNotFoundError"),
        (
            "tests.decompose.prompt_building.test_prompt_header:NO_PATH",
            "is 7; it must be the path of a prompt's text file",
        ),
    ],
)
def test_a_package_s_prompt_that_does_not_load_is_told(monkeypatch, value, problem):
    brought(monkeypatch, value)
    with pytest.raises(InputError, match=rf"entry point 'theirs' of apportion\.prompts .*{problem}"):
        load_prompt("theirs")
