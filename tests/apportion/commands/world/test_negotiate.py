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
