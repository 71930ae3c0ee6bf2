"""What a real language model decides in positions of Avalon: recorded replies to today's requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from apportion.environments.actions import Action
from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.environment import Observation
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.deduction.avalon.positions import POSITIONS, model, placed

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
    """The figures of docs/deduction_avalon.md."""
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
