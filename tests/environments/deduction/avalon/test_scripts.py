"""Scripted players: what they say and hear, what they decide, and how often they win."""

import asyncio
from itertools import permutations
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.avalon.claims import Claim, claims_in
from apportion.environments.deduction.avalon.game import GAME, Avalon
from apportion.environments.deduction.avalon.rules import Options
from apportion.environments.deduction.avalon.scripts import Bayesian, Claims, Script, heard_suspicion
from apportion.environments.deduction.events import SPEAK, Event, Stage
from apportion.environments.environment import Action, Observation
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.deduction.avalon.exact import reckoned
from tests.environments.deduction.avalon.plays import CASTS, LARGEST, begun, until
from tests.environments.deduction.avalon.positions import POSITIONS, model, placed

SCRIPTS = {name: GAME.roster.scripted(name) for name in ("random", "claims", "bayes")}
RANDOM_GOOD = float(reckoned(GAME.options())[1]["merlin hidden"])


def team_play(good: str, evil: str, seed: str, **options: Any) -> Avalon:
    """A whole game of one agent on each side."""
    game = begun(None, seed, **options)
    seats = {
        name: SCRIPTS[good if game.teams[role] == "good" else evil]
        for name, role in zip(game.agents, game.deal, strict=True)
    }
    play(game, seats)
    return game


def won_by_good(good: str, evil: str, games: int) -> float:
    return (
        sum(team_play(good, evil, f"{good}/{evil}/{number}").game.winner == "good" for number in range(games)) / games
    )


def after_quest(fails: int, team: list[int]) -> Avalon:
    """Figure 13's deal after a first quest, at the next proposal's discussion; Player 1 leads it."""
    game = next(game for seed in range(99) if (game := begun(seed=seed)).game.leader == 4)
    game.step({"Player 5": Action("propose", "", team)})
    until(game, "vote")
    game.step({name: Action("approve") for name in game.agents})
    failing = [name for name in game.acting() if "fail" in game.legal(name)][:fails]
    game.step({name: Action("fail" if name in failing else "pass") for name in game.acting()})
    return game


def vote_of(script: Script, game: Avalon, seat: int) -> str:
    until(game, "vote")
    return script.act(Observation(game, f"Player {seat}")).kind


@given(
    role=st.sampled_from(("", "a Servant of Arthur", "Merlin")),
    evil=st.lists(st.integers(1, 5), unique=True, max_size=4),
    trusted=st.lists(st.integers(1, 5), unique=True, max_size=4),
)
def test_a_claim_is_read_as_it_was_said(role: str, evil: list[int], trusted: list[int]) -> None:
    claim = Claim(role, tuple(evil), tuple(trusted))
    assert Claim.read(f"Well. {claim.sentence} So much for now.") == Claim("", claim.evil, claim.trusted)


@pytest.mark.parametrize("words", ["", "Player 3 is evil.", "I hold nobody for evil.", "I trust you all", "{}"])
def test_other_words_are_no_claim(words: str) -> None:
    assert Claim.read(words) == Claim()
    assert Claim().sentence == "I have nothing to say yet."


def test_of_every_speaker_the_last_claim_counts() -> None:
    events = [
        Event(Stage("discussion", 1), SPEAK, seat, Claim("", (evil,)).sentence) for seat, evil in ((1, 2), (1, 3))
    ]
    assert claims_in(events) == [(1, Claim("", (3,)))]


@settings(max_examples=12)
@given(text=st.text(max_size=60), number=st.integers(0, 10**30))
def test_strangers_words_break_no_script(text: str, number: int) -> None:
    game = after_quest(1, [1, 3])
    game.step({"Player 1": Action("propose", "", [1, 2, 5])})
    for name in game.agents:
        words = f"{text} I hold Player {number} and Player 77 for evil. I trust Player 0."
        game.step({name: Action(SPEAK, words)})
    for name in game.agents:
        for script in (Claims(), Bayesian()):
            assert Observation(game, name).problem(script.act(Observation(game, name))) is None
    assert all(0 <= one <= 1 for one in heard_suspicion(game.facts("Player 2")))


@pytest.mark.parametrize("script", [Claims(), Bayesian()])
def test_merlin_is_for_good_teams_and_evil_players_for_the_others(script: Script) -> None:
    for team, merlins, evils in (([1, 2], "approve", "reject"), ([1, 3], "reject", "approve")):
        game = next(game for seed in range(99) if (game := begun(seed=seed)).game.leader == 4)
        game.step({"Player 5": Action("propose", "", team)})
        assert vote_of(script, game, 1) == merlins
        assert vote_of(script, game, 3) == vote_of(script, game, 4) == evils


@pytest.mark.parametrize("script", [Claims(), Bayesian()])
def test_an_evil_leader_takes_no_other_evil_player_along_and_accuses_none(script: Script) -> None:
    for seed in range(30):
        game = begun(seed=seed)
        if game.game.leader in (2, 3):
            leader = game.game.leader + 1
            team = script.act(Observation(game, f"Player {leader}")).data
            assert leader in team and len({3, 4} & set(team)) == 1
        until(game, "discussion")
        for _ in range(2):
            game.step({game.acting()[0]: Action("none")})
        assert not {3, 4} & set(Claim.read(script.act(Observation(game, "Player 3")).text).evil)


@pytest.mark.parametrize("roles", [*CASTS[1:], Options(players=9).roles, LARGEST])
def test_scripts_play_every_cast(roles: tuple[str, ...]) -> None:
    names = ("claims", "random") if roles == LARGEST else SCRIPTS
    for number, (good, evil) in enumerate(permutations(names, 2)):
        assert team_play(good, evil, f"{number}", roles=roles).over


def test_two_evil_players_fail_a_quest_that_needs_two_cards() -> None:
    game = begun(Options(players=7).roles, players=7)
    for failing in (1, 1, 1, 2):
        until(game, "quest")
        fail = [name for name in game.acting() if Claims().act(Observation(game, name)).kind == "fail"]
        assert len(fail) == failing
        spoilt = fail if game.game.number == 0 else ()
        game.step({name: Action("fail" if name in spoilt else "pass") for name in game.acting()})


def gains_of_bayes(games: int) -> tuple[float, float]:
    """By how many standard errors of random play it wins more often, as good and as evil."""
    error = sqrt(RANDOM_GOOD * (1 - RANDOM_GOOD) / games)
    as_good, as_evil = won_by_good("bayes", "random", games), won_by_good("random", "bayes", games)
    return (as_good - RANDOM_GOOD) / error, (RANDOM_GOOD - as_evil) / error


@pytest.mark.parametrize(("games", "errors"), [(25, 2), pytest.param(1_000, 3, marks=pytest.mark.slow)])
def test_the_bayesian_beats_random_play_on_each_side(games: int, errors: float) -> None:
    assert min(gains_of_bayes(games)) > errors


@pytest.mark.slow
def test_random_agents_win_through_the_core_as_often_as_the_rules_alone_say() -> None:
    share, error = won_by_good("random", "random", 3_000), sqrt(RANDOM_GOOD * (1 - RANDOM_GOOD) / 3_000)
    assert abs(share - RANDOM_GOOD) < 3 * error


RECORDED = Path(__file__).resolve().parents[4] / "demo" / "deduction" / "avalon_decisions.jsonl"


@pytest.fixture(scope="module")
def decisions() -> list[tuple[Avalon, str, Action]]:
    """By position its game, who was asked, and what the recorded reply does there."""
    replies = RecordedReplies(RECORDED)

    def complete(request: ChatRequest) -> ChatReply:
        return asyncio.run(replies.fetch(request))

    agent = model(complete)
    return [(game, name, agent.act(Observation(game, name))) for game, name in map(placed, range(len(POSITIONS)))]


def good_team(game: Avalon, team: object) -> bool:
    assert isinstance(team, list | tuple)
    return {game.deal[seat - 1] for seat in team} <= {"merlin", "servant"}


def test_every_reply_is_an_act_that_the_rules_allow(decisions: list[tuple[Avalon, str, Action]]) -> None:
    for game, name, act in decisions:
        game.check(name, act)
        assert act.kind != "none" and act.data != {"unusable": ""}


def test_what_it_decides_is_what_its_role_would_want(decisions: list[tuple[Avalon, str, Action]]) -> None:
    """The figures of docs/evidence/games.md."""
    by_phase: dict[tuple[str, str], list[tuple[Avalon, Action]]] = {}
    for position, (game, _, act) in zip(POSITIONS, decisions, strict=True):
        side = "evil" if position.role in ("minion", "assassin") else "good"
        by_phase.setdefault((position.phase, side), []).append((game, act))
    assert [act.kind for _, act in by_phase["vote", "good"]] == ["reject"] * 8
    assert [act.kind for _, act in by_phase["vote", "evil"]] == ["approve"] * 2
    assert all(good_team(game, act.data) for game, act in by_phase["team", "good"])
    assert not any(good_team(game, act.data) for game, act in by_phase["team", "evil"])
    assert [act.kind for _, act in by_phase["quest", "evil"]] == ["fail"] * 4
    assert all(game.deal[int(act.data) - 1] == "merlin" for game, act in by_phase["shot", "evil"])
    assert all(len(act.text.split()) <= 100 for _, act in by_phase["discussion", "good"])
