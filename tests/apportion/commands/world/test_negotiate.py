from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.negotiation.contexts import ITEMS
from tests.pseudo_terminal import CTRL_C, PseudoTerminal

CONTEXT = "1 3 3 1 1 4\n1 7 3 0 1 3\n"


def negotiating(folder: Path, *arguments: str) -> PseudoTerminal:
    (folder / "contexts.txt").write_text(CONTEXT)
    command = ["-m", "apportion", "world", "play", "negotiation", str(folder / "study"), "--with", "fair"]
    return PseudoTerminal([*command, "--contexts", str(folder / "contexts.txt"), *arguments])


@pytest.mark.slow
def test_a_whole_game_stopped_and_gone_on_with(tmp_path):
    with negotiating(tmp_path) as terminal:
        assert "To you, a book is worth 3 points, a hat 1 point, a ball 4 points." in terminal.until("of 20> ")
        terminal.type("Hello there!\r")
        terminal.until("! that is no act")
        terminal.until("of 20> ")
        terminal.type("Book and ball for me\r")
        terminal.until("of 20> ")
        assert terminal.end_by(CTRL_C) == 130
        screens = [terminal.screen]
    with negotiating(tmp_path) as terminal:
        terminal.until('"Book and ball for me"')
        terminal.until("of 20> ")
        terminal.type("/agree\r")
        terminal.until("take your items (agreed for you: ")
        terminal.type("/take\r")
        shown = terminal.until("next: apportion inspect")
        assert terminal.end() == 0
        assert "You have 7 points, the other 7, of 10 each." in shown
        screens.append(terminal.screen)
    for screen in screens:
        assert all(item in screen for item in ITEMS)
    (session,) = Corpus.open(tmp_path / "study").iter_sessions()
    assert "Book and ball for me" in [turn.text for turn in session.turns]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "own", "wrong", "words", "then", "ends"),
    [
        (
            "bargaining",
            "your budget is 207",
            {
                "/offer abc": "! one whole number is needed, the price",
                "/offer 288": "! 'Buyer' offers 288: a whole number from 1 to 287 is a price",
                "no, 40 is too much": "! is that an offer",
            },
            "How about 30?",
            ("/leave",),
            "You have 0 points, the other 0, in percent of the list price.",
        ),
        (
            "casino",
            "a package of Food is worth",
            {
                "/propose 4 0 0": "! there are 3 Food, 3 Water and 3 Firewood",
                "/sulk": "! no command /sulk: there are /say, /propose",
            },
            "Water for me",
            ("/end", "/take 3 3 3"),
            "You have 5 points, the other 5, of 36 each.",
        ),
    ],
)
def test_other_negotiations_refuse_what_is_no_act_and_go_on_where_they_stopped(
    tmp_path, world, own, wrong, words, then, ends
):
    arguments = ["-m", "apportion", "world", "play", world, str(tmp_path / "mine"), "--seed", "2", "--with", "greedy"]
    with PseudoTerminal(arguments) as terminal:
        assert own in terminal.until("of 20> ")
        for line, told in {"": "! nothing was typed", **wrong}.items():
            terminal.type(f"{line}\r")
            terminal.until(told)
            terminal.until("of 20> ")
        terminal.type(f"{words}\r")
        terminal.until("of 20> ")
        assert terminal.end_by(CTRL_C) == 130
    with PseudoTerminal(arguments) as terminal:
        terminal.until(f'"{words}"')
        for line in then:
            terminal.until("> ")
            terminal.type(f"{line}\r")
        shown = terminal.until(f"next: apportion inspect {tmp_path / 'mine'}")
        assert terminal.end() == 0
        assert ends in shown and f"{tmp_path / 'mine'}: 1 sessions" in shown
    (session,) = Corpus.open(tmp_path / "mine").iter_sessions()
    assert any(words in turn.text for turn in session.turns)
