import pytest
from jinja2 import Environment

from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.prompt_file import PromptKind, PromptText


def kind(folder):
    return PromptKind(
        folder=folder,
        entry_points="apportion.nothing",
        setting="agent.prompt",
        header=("title",),
        blanks=frozenset({"goal", "scene"}),
        needed=("scene",),
        form="An agent's prompt is a title, then [system] and [user]",
    )


@pytest.fixture
def agents(tmp_path):
    (tmp_path / "polite.txt").write_text("title: polite\n\n[system]\nReach {{ goal }}.\n[user]\n{{ scene }}\n")
    return kind(tmp_path)


def test_a_prompt_is_found_by_its_name_and_read(agents):
    assert agents.names() == ["polite"]
    text = agents.read(agents.find("polite"), Environment())
    assert text == PromptText({"title": "polite"}, "Reach {{ goal }}.\n", "{{ scene }}\n")
    assert agents.header_of("polite") == {"title": "polite"}
    with pytest.raises(InputError, match=r"agent\.prompt: no prompt 'polit'; did you mean 'polite'\? Allowed: polite,"):
        agents.find("polit")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[system]\n[user]\n", r"\[user\] lacks the blanks \{\{ scene \}\}"),
        ("[system]\n{{ turns }}\n[user]\n{{ scene }}", r"\[system\] has unknown blanks turns; known are goal, scene"),
        ("units: score\n[system]\n[user]\n{{ scene }}", "line 'units: score' before its sections; allowed are title"),
    ],
)
def test_a_kind_says_what_its_files_may_hold(agents, tmp_path, text, problem):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"agent\.prompt: .*mine\.txt: {problem}.* An agent's prompt is"):
        agents.read(agents.find(str(path)), Environment())
