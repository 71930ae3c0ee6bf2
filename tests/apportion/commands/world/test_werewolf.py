import json
from pathlib import Path
from typing import cast

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import simulate
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.werewolf.cast import SEER
from apportion.environments.environment import Action, AgentAction, Observation
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.human_play.deduction import PersonPlays
from apportion.environments.terminal.human_agent import HumanAgent
from tests.apportion.called import called
from tests.pseudo_terminal import CTRL_C, PseudoTerminal

SEAT, NAME = 2, "Player 2"


def _acts(view: Observation) -> Action:
    """What the person will do: say something, abstain, look at the first player."""
    ((kind, aims),) = view.facts.choices.items()
    return Action(kind, "" if aims else "I have seen things.", aims[0] if aims else None)


def long_game() -> tuple[int, list[AgentAction]]:
    """A seed by which the person is the seer and lives to vote on the second day, and what they do in it."""
    for seed in range(500):
        choice = PersonPlays(game_called("werewolf"), SEAT, ("claims",), seed=seed)
        game = choice.game
        begun = game.make(game.options(), None)
        begun.reset(f"{seed}/person")
        if begun.deal[SEAT - 1] != SEER:
            continue
        person = cast(HumanAgent, ScriptedAgent("person", _acts))
        plan = choice.plan(person, {"claims": game.roster.scripted("claims")})
        (played,) = simulate([plan]).played
        done = [move for moves in played.environment.steps for move in moves if move.agent == NAME]
        if [move.act.kind for move in done][:6] == ["check", "speak", "vote"] * 2:
            return seed, done
    raise AssertionError


def playing(folder: Path, seed: int) -> PseudoTerminal:
    where = [str(folder / "mine"), "--seat", str(SEAT), "--with", "claims", "--seed", str(seed)]
    return PseudoTerminal(["-m", "apportion", "world", "play", "werewolf", *where])


@pytest.mark.slow
def test_a_whole_game_with_illegal_votes_stopped_and_gone_on_with(tmp_path):
    seed, acts = long_game()
    with playing(tmp_path, seed) as terminal:
        assert "You are Player 2, the seer, of the team village." in terminal.until("night 1, check> ")
        terminal.type("2\r")
        terminal.until("! 'Player 2' may not check 2: allowed: 1, 3, 4, 5, 6, 7")
        terminal.type("who?\r")
        terminal.until("! which player? Type /check and one of: [1] or [3]")
        terminal.type(f"{acts[0].act.data}\r")
        terminal.until("day 1, speak> ")
        terminal.type("/vote 3\r")
        terminal.until("no command /vote")
        terminal.type("I have seen things.\r")
        terminal.until("day 1, vote> ")
        terminal.type("2\r")
        terminal.until("! 'Player 2' may not vote 2: allowed: 0, ")
        terminal.type("9\r")
        terminal.until("! 'Player 2' may not vote 9")
        assert terminal.end_by(CTRL_C) == 130
    (logged,) = read_log(tmp_path / "mine" / LOG).values()
    assert [move for moves in logged.steps for move in moves if move.agent == NAME] == acts[:2]
    with playing(tmp_path, seed) as terminal:
        shown = terminal.until("day 1, vote> ")
        assert f"You looked at Player {acts[0].act.data}." in shown and "I have seen things." in shown
        for move, following in zip(acts[2:], [*acts[3:], None], strict=True):
            act = move.act
            terminal.type("I have seen things.\r" if act.kind == "speak" else f"/{act.kind} {act.data}\r")
            if following is not None:
                terminal.until(f", {following.act.kind}> ")
        shown = terminal.until("next: apportion inspect")
        assert terminal.end() == 0
        assert "The roles were: " in shown and ("Your team has won." in shown or "Your team has lost." in shown)
    (logged,) = read_log(tmp_path / "mine" / LOG).values()
    assert [move for moves in logged.steps for move in moves if move.agent == NAME] == acts
    (session,) = Corpus.open(tmp_path / "mine").iter_sessions()
    assert [turn.text for turn in session.turns if turn.speaker == NAME].count("I have seen things.") >= 2


def test_games_become_a_corpus_and_the_same_command_does_nothing_anew(tmp_path, capsys):
    out = tmp_path / "games"
    command = f"world simulate werewolf {out} --agents claims,random --games 4 --rule tie=nobody".split()
    assert called(*command, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"]["sessions"] == 4
    log = (out / LOG).read_bytes()
    assert called(*command) == 0 and (out / LOG).read_bytes() == log
    openings = [episode.opening for episode in read_log(out / LOG).values()]
    assert {one["about"]["rules"]["tie"] for one in openings} == {"nobody"}
    assert called("world", "simulate", "werewolf", str(out), "--games", "5") == 2
    capsys.readouterr()
    assert called("inspect", str(out)) == 0
    assert "win" in capsys.readouterr().out


def test_a_look_at_what_would_be_asked(tmp_path, capsys):
    asks = ("--agents", "react", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--games", "2")
    assert called("world", "simulate", "werewolf", str(tmp_path / "one"), *asks, "--preview", "1") == 0
    assert "Think first, in a few sentences that nobody will hear" in capsys.readouterr().out
    assert called("world", "simulate", "werewolf", str(tmp_path / "one"), *asks, "--dry-run") == 0
    assert "2 episodes" in capsys.readouterr().out and not (tmp_path / "one").exists()
