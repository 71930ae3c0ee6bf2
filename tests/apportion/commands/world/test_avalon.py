import json
import re
import time
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.pseudo_terminal import CTRL_C, PseudoTerminal

PROMPT = re.compile(r"(team|discussion|vote|quest|shot)(?: \d)?, [a-z ,]+> ")


def test_games_become_a_corpus(tmp_path, capsys):
    arguments = ("world", "simulate", "avalon", str(tmp_path / "c"), "--agents", "claims,bayes", "--games", "3")
    assert called(*arguments) == 0 and "3 sessions" in capsys.readouterr().out
    assert called("inspect", str(tmp_path / "c"), "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["ratings"]] == ["win"]
    (tmp_path / "small").mkdir()
    small = ("roles=merlin,servant,assassin", "sizes=1,2,2", "last_team=evil-wins", "proposals=2")
    rules = [part for rule in small for part in ("--rule", rule)]
    assert called("world", "simulate", "avalon", str(tmp_path / "small"), "--games", "2", *rules) == 0
    (session, _) = Corpus.open(tmp_path / "small").iter_sessions()
    assert {turn.speaker for turn in session.turns} == {"Player 1", "Player 2", "Player 3", "Moderator"}


def playing(folder: Path) -> PseudoTerminal:
    command = f"-m apportion world play avalon {folder} --seat 3 --with claims,bayes --seed 1".split()
    return PseudoTerminal(command)


class Player:
    """Answers the prompts of a terminal one after the other."""

    def __init__(self, terminal: PseudoTerminal) -> None:
        self.terminal, self.at, self.asked = terminal, 0, ""

    def prompt(self) -> str:
        """The phase that asks next; empty when it is over."""
        end = time.monotonic() + 60.0
        while (found := PROMPT.search(self.terminal.screen, self.at)) is None:
            if not self.terminal._read(0.2):
                return ""
            assert time.monotonic() < end, self.terminal.screen[self.at :]
        self.at = found.end()
        self.asked = found[1]
        return self.asked

    def refused(self, typed: str, why: str) -> None:
        """Type what is no act here; the same is asked again."""
        before = self.at
        self.terminal.type(f"{typed}\r")
        assert self.prompt()
        assert why in " ".join(self.terminal.screen[before : self.at].split())

    def answer(self) -> None:
        """Something that is allowed."""
        size = re.findall(r"with (\d) players", " ".join(self.terminal.screen.split()))[-1]
        team = "1 2" if size == "2" else "1 2 3"
        allowed = {"team": team, "discussion": "I say: Moderator, end this.", "vote": "/approve", "quest": "/pass"}
        self.terminal.type(f"{allowed.get(self.asked, '1')}\r")


@pytest.mark.slow
def test_a_whole_game_with_illegal_acts_stopped_and_gone_on_with(tmp_path):
    refused = set()
    with playing(tmp_path / "c") as terminal:
        player = Player(terminal)
        assert player.prompt()
        assert "You are Player 3." in terminal.screen
        while player.asked != "vote":
            if player.asked == "team":
                player.refused("/propose 1 9", "may not propose")
                refused.add("team")
            player.answer()
            player.prompt()
        for typed, why in (
            ("yes", "say which of /approve, /reject"),
            ("/approve 2", "takes no words"),
            ("/fail", "/fail"),
        ):
            player.refused(typed, why)
        player.answer()
        player.prompt()
        assert terminal.end_by(CTRL_C) == 130
        screens = [terminal.screen]
    with playing(tmp_path / "c") as terminal:
        player = Player(terminal)
        while player.prompt():
            if player.asked == "quest" and "quest" not in refused and "/fail" not in terminal.screen[-200:]:
                player.refused("/propose 1 2", "no command /propose")
                refused.add("quest")
            player.answer()
        assert terminal.end() == 0
        assert re.search(r"Your team has (won|lost)\.", terminal.screen)
        screens.append(terminal.screen)
    first = "I say: Moderator, end this."
    assert first in screens[0] and first in screens[1]
    (session,) = Corpus.open(tmp_path / "c").iter_sessions()
    said = [turn.text for turn in session.turns if turn.speaker == "Player 3"]
    assert first in said and "[voted for the team]" in said
    assert [one.score for one in session.ratings if one.target == "Player 3"] in ([0.0], [1.0])
