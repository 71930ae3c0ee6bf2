"""The account of an import: what adds up, what does not, and where it is told."""

import json
from pathlib import Path

import pytest

from apportion.corpus import account
from apportion.corpus.account import AccountLine, account_lines, account_of, opened
from apportion.corpus.builder import CorpusBuild, CorpusRows
from apportion.corpus.importers import esconv
from apportion.foundation.errors import UnitError
from tests.apportion.called import called

FILM = Path("film.mp4")
IMPORT = ("import", "esconv", "-o", "language=en")
DIALOG = [{"speaker": "usr", "text": "I am sad"}, {"speaker": "sys", "text": "Why?"}]
LINES = (
    AccountLine("turns", 1234, {"go on": 4, "are made": -2}, {"blank": (30, ("a", "b"))}),
    AccountLine("words", 10, {}, {}),
)


def made(*texts, scores=0, films=()):
    rows = CorpusRows()
    rows.session("s", "test")
    for turn, text in enumerate(texts):
        rows.utterance("s", turn, "ann", text)
    for _ in range(scores):
        rows.rating("s", ("ann", "bob"), "fun", 1.0, (0.0, 1.0))
    return CorpusBuild(rows.tables(), files={f"media/{film}": film for film in films})


def settled(tell, build):
    """The account's lines, by what they are of."""
    with opened() as told:
        told.read("dialogues")
        tell(told)
    return {line.what: line for line in told.settled(build)}


def lose(told):
    """A session that is left out within the account that is open."""
    told.read("dialogues")
    with pytest.raises(UnitError), account.session("dialogues", "line 2"):
        account.current().said("turns", ["gone with it"])
        account.current().left_out("turns", "blank")
        raise UnitError("broken")


def keep(told):
    """A session that is kept, with something of it left out or joined."""
    with account.session("dialogues", "line 1"):
        account.current().said("turns", ["one two", "", "three"])
        account.current().left_out("turns", "blank", place="line 1")
        account.current().joined("turns", "go on")
        account.current().kept("lines", 3)
        account.current().read("lines", 3)


@pytest.mark.parametrize(
    ("tell", "build", "expected"),
    [
        (lambda told: told.said("cues", ["a b", "c"]), made("a b", "c"), {"cues": (2, 2), "words": (3, 3)}),
        (keep, made("one two three"), {"turns": (3, 2), "words": (3, 3), "lines": (3, 3)}),
        (lambda told: (keep(told), lose(told)), made("one two three"), {"dialogues": (2, 1), "turns": (4, 2)}),
        (lambda told: (told.read("scores", 2), told.read("labels")), made(scores=3), {"scores": (2, 2)}),
        (lambda told: told.recording(FILM, 3.5), made(films=[FILM]), {"seconds of media": (3.5, 3.5)}),
        (lambda told: [told.recording(FILM, 3.5) for _ in "ab"], made(films=[FILM]), {"recordings": (1, 1)}),
        (lambda told: told.joined("turns", "are made", -1), made(""), {}),
    ],
)  # fmt: skip
def test_what_adds_up(tell, build, expected):
    lines = settled(tell, build)
    assert {what: (lines[what].read, lines[what].kept) for what in expected} == expected


@pytest.mark.parametrize(
    ("tell", "build", "words"),
    [
        (lambda told: None, made(""), "0 turns read, 0 left out, 0 joined, and 1 turns in the corpus"),
        (lambda told: told.said("turns", ["a b"]), made("a"), "2 words read, .* and 1 words in the corpus"),
        (lambda told: told.said("turns", ["a", ""]), made("a"), "2 turns read"),
        (lambda told: told.read("dialogues"), made(), "2 dialogues read, .* and 1 sessions"),
        (lambda told: told.read("lines", 2), made(), "2 lines read, .* and 0 lines in the corpus"),
        (lambda told: told.left_out("scores", "N/A"), made(), "0 scores read, 1 left out"),
        (lambda told: told.recording(FILM, 3.5), made(), "(1 recordings|3.5 seconds of media) read"),
        (keep, made("one two", "three"), "3 turns read, 1 left out, 1 joined, and 2 turns .* Its author tells"),
    ],
)
def test_what_does_not_add_up_is_an_error(tell, build, words):
    with pytest.raises(UnitError, match=words):
        settled(tell, build)


def test_a_session_that_is_lost_takes_all_that_was_read_in_it_along():
    lines = settled(lambda told: (keep(told), lose(told)), made("one two three"))
    assert lines["dialogues"].left_out == {"broken": (1, ("line 2",))}
    assert lines["turns"].left_out == {"blank": (1, ("line 1",)), "their session is left out": (1, ("line 2",))}
    assert lines["words"].left_out == {"their session is left out": (3, ("line 2",))}


def test_seconds_are_rounded_and_few_places_are_told():
    def tell(told):
        told.recording(FILM, 0.1 + 0.2)
        for place in "abcaded":
            told.read("cues")
            told.left_out("cues", "blank", place=place)

    lines = settled(tell, made(films=[FILM]))
    assert lines["seconds of media"].to_json()["kept"] == 0.3
    assert lines["cues"].left_out == {"blank": (7, ("a", "b", "c"))}


def test_nobody_looks_at_what_is_read_for_something_else():
    account.current().read("turns")
    with opened() as told:
        assert account.current() is told
    assert account.current() is not told


def test_the_table():
    assert account_lines(()) == []
    assert account_lines(LINES) == [
        "account        read        kept  left out",
        "turns         1,234       1,204  30 blank (a and 1 more); of those kept, 4 go on; 2 more are made",
        "words            10          10  0",
    ]


def test_the_account_of_a_folder(tmp_path):
    record = {"account": {line.what: line.to_json() for line in LINES}}
    (tmp_path / "import.json").write_text(json.dumps(record))
    assert account_of(tmp_path) == LINES


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{}", '{"account": 3}', '{"account": {"turns": {"read": "x"}}}', '{"account": {"turns": [1]}}'],
)
def test_a_folder_without_an_account_or_with_a_damaged_one(text, tmp_path):
    if text is not None:
        (tmp_path / "import.json").write_text(text)
    assert account_of(tmp_path) == ()


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a.jsonl").write_text(f"{json.dumps({'dialog': DIALOG})}\n{{\n")
    return tmp_path / "a.jsonl"


def test_the_command_prints_and_keeps_it_and_may_run_again(source, tmp_path, capsys):
    corpus = tmp_path / "corpus"
    assert called(*IMPORT, source, corpus) == 1  # Since a dialogue is left out.
    printed = capsys.readouterr().out
    assert "dialogues           2           1  1 broken (a.jsonl, line 2)" in printed
    kept = json.loads((corpus / "import.json").read_text())["account"]
    assert kept["turns"] == {"read": 2, "kept": 2, "joined": {}, "left_out": {}}
    assert kept["dialogues"]["left_out"] == {"broken": {"many": 1, "places": ["a.jsonl, line 2"]}}
    assert called(*IMPORT, source, corpus) == 1
    capsys.readouterr()
    assert called("inspect", corpus) == 0
    table = capsys.readouterr().out
    assert all(line in table for line in printed.splitlines() if line.startswith(("account", "dialogues", "words")))
    assert called("inspect", corpus, "--json") == 0
    assert json.loads(capsys.readouterr().out)["account"] == kept


def test_an_account_that_does_not_add_up_ends_in_exit_1_and_writes_nothing(source, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(esconv, "texts_in", lambda *_: [])
    assert called(*IMPORT, source, tmp_path / "corpus") == 1
    assert "import esconv: the account does not add up: 0 turns read" in capsys.readouterr().err
    assert not (tmp_path / "corpus").exists()
