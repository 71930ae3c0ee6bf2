import json
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.environments.negotiation.human_study.survey import QUIZ, SURVEY
from tests.apportion.called import called
from tests.pseudo_terminal import CTRL_C, PseudoTerminal

STUDY = """
title = "Bargaining"
consent = "You may stop at any time."
agents = ["greedy", "conceding"]
practice = "greedy"
"""


def sitting(folder: Path) -> PseudoTerminal:
    file = folder / "study.toml"
    file.write_text(STUDY)
    arguments = ["world", "play", "negotiation", str(folder / "out"), "--study", str(file), "--called", "p01"]
    return PseudoTerminal(["-m", "apportion", *arguments])


def play_to_the_end(terminal: PseudoTerminal) -> None:
    terminal.until(" of 20> ")
    terminal.type("/propose 0 1 0\r")
    terminal.until(" of 20> ")
    terminal.type("/end\r")
    terminal.until("take your items")
    terminal.until("> ")
    terminal.type("/take 0 1 0\r")
    terminal.until("Your points: ")


def test_a_sitting_stopped_and_killed_shows_no_name_of_an_agent(tmp_path, capsys):
    screens = []
    with sitting(tmp_path) as terminal:
        terminal.until("Do you agree to take part?")
        terminal.until("> ")
        terminal.type("yes\r")
        for question in QUIZ:
            terminal.until(f"{len(question.choices)}: ")
            terminal.until("> ")
            terminal.type(f"{question.right + 1}\r")
            terminal.until("Right: ")
        play_to_the_end(terminal)
        terminal.until("===== Game 1 of 2 =====")
        terminal.until(" of 20> ")
        assert terminal.end_by(CTRL_C) == 130
        screens.append(terminal.screen)
    with sitting(tmp_path) as terminal:
        play_to_the_end(terminal)
        for _ in range(3):
            terminal.until("1 to 5> ")
            terminal.type("4\r")
        terminal.until("1 to 5> ")
        terminal.kill()
        screens.append(terminal.screen)
    with sitting(tmp_path) as terminal:
        assert "Game 1" not in terminal.until("4 of 10. ")
        for number in range(4, 10):
            terminal.until("1 to 5> ")
            terminal.type(f"{number % 5 + 1}\r")
        terminal.until("10 of 10. ")
        terminal.until("> ")
        terminal.type("/stop\r")
        assert terminal.end() == 130
        screens.append(terminal.screen)
    for screen in screens:
        assert "greedy" not in screen.lower() and "conceding" not in screen.lower()
    answers = [json.loads(line) for line in (tmp_path / "out" / "p01" / "answers.jsonl").read_text().splitlines()]
    assert [line["question"] for line in answers if line["what"] == "answer"] == [one.name for one in SURVEY[:9]]
    sat = ("world", "play", "negotiation", tmp_path / "out", "--study", tmp_path / "study.toml")
    assert called(*sat, "--report") == 0
    told = capsys.readouterr().out
    assert "people who took part: 1; games: 1" in told and "games.corpus (a corpus)" in told
    (rated,) = {
        one["session_id"] for one in Corpus.open(tmp_path / "out" / "games.corpus").tables["ratings"].to_pylist()
    }
    assert rated == "p01-game-1"


def test_the_report_and_what_is_missing(tmp_path, capsys):
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    arguments = ("world", "play", "negotiation", tmp_path / "out", "--study", file)
    assert called(*arguments, "--report") == 0
    assert "people who took part: 0; games: 0" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "study.json").read_text())["games"] == 0
    wrong = (((), "--called: missing"), (("--called", "Ann Lee"), "an id of 1 to 40"), (("--called", "p"), "none"))
    for options, why in wrong:
        assert called(*arguments, *options) == 2 and why in capsys.readouterr().err
