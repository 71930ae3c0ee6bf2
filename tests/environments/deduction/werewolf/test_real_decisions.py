"""What a real language model decides in positions of Werewolf: recorded replies to today's requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from apportion.environments.actions import Action
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.environment import Observation
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.deduction.werewolf.positions import COUNT, model, positions

RECORDED = Path(__file__).resolve().parents[4] / "demo" / "deduction" / "werewolf_decisions.jsonl"


@pytest.fixture(scope="module")
def decisions() -> list[tuple[Werewolf, str, Action]]:
    """By position its game, who was asked, and what the recorded reply does there."""
    replies = RecordedReplies(RECORDED)

    def complete(request: ChatRequest) -> ChatReply:
        return asyncio.run(replies.fetch(request))

    return [(game, name, model(style, complete).act(Observation(game, name))) for game, name, style in positions()]


def role(game: Werewolf, seat: object) -> str:
    assert isinstance(seat, int)
    return game.deal[seat - 1]


def test_every_reply_is_an_act_that_the_rules_allow(decisions: list[tuple[Werewolf, str, Action]]) -> None:
    assert len(decisions) == COUNT
    for game, name, act in decisions:
        game.check(name, act)
        assert act.kind != "none"


def test_what_it_decides_is_what_its_team_would_want(decisions: list[tuple[Werewolf, str, Action]]) -> None:
    """The figures of docs/deduction.md."""
    votes = [
        (role(game, game.agents.index(name) + 1) == "werewolf", role(game, act.data) == "werewolf")
        for game, name, act in decisions
        if act.kind == "vote"
    ]
    assert sorted(votes) == [(False, False)] * 2 + [(False, True)] * 5 + [(True, False)]
    aimed = [role(game, act.data) for game, _, act in decisions if act.kind in ("kill", "propose")]
    assert len(aimed) == 4 and "werewolf" not in aimed
    speeches = [act.text for _, _, act in decisions if act.kind == "speak"]
    assert len(speeches) == 8 and all(0 < len(text.split()) <= 100 for text in speeches)
