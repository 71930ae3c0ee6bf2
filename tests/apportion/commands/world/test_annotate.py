from pathlib import Path

import pytest

from apportion.environments.negotiation.action_encoding import AGREE, DISAGREE, act_code
from apportion.environments.negotiation.expert_queries import Question, Queue
from tests.apportion.called import called
from tests.pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

COUNTS, VALUES = (1, 3, 1), (3, 2, 1)
QUESTIONS = [
    Question(COUNTS, VALUES, 1, 0, (act_code("propose", split),))
    for split in ((1, 2, 0), (1, 3, 0), (0, 3, 1), (1, 0, 1))
]


def annotating(folder: Path) -> PseudoTerminal:
    return PseudoTerminal(["-m", "apportion", "label", "expert", str(folder), "--by", "ann"])


@pytest.mark.slow
def test_stopped_killed_and_gone_on_with_nothing_is_asked_twice(tmp_path):
    queue = Queue(tmp_path)
    queue.ask(QUESTIONS)
    with annotating(tmp_path) as terminal:
        terminal.until("question 1 of 4")
        terminal.until("act 2 of 20> ")
        terminal.type("/agree\r")
        terminal.until("question 2 of 4")
        terminal.until("act 2 of 20> ")
        terminal.type("/propose 0 1")
        terminal.until("/propose 0 1")
        assert terminal.end_by(CTRL_C) == 130
    with annotating(tmp_path) as terminal:
        terminal.until("question 1 of 3")
        terminal.until("act 2 of 20> ")
        terminal.type("no way\r")
        terminal.until("question 2 of 3")
        terminal.until("act 2 of 20> ")
        terminal.kill()
    with annotating(tmp_path) as terminal:
        terminal.until("question 1 of 2")
        assert terminal.end_by(CTRL_D) == 0 and "0 questions answered, 2 left" in terminal.screen
    with annotating(tmp_path) as terminal:
        for _ in range(2):
            terminal.until("act 2 of 20> ")
            terminal.type("I want the book and 2 hats\r")
        terminal.until("2 questions answered, 0 left")
        assert terminal.end() == 0
    wanted = act_code("propose", (1, 2, 0))
    assert queue.answered(QUESTIONS) == [AGREE, DISAGREE, wanted, wanted]


def test_without_a_terminal_or_a_folder(tmp_path, capsys):
    assert called("label", "expert", tmp_path / "none") == 2
    assert "standard input is none" in capsys.readouterr().err
