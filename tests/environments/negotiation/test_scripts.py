import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Observation
from apportion.environments.negotiation.action_encoding import split_code
from apportion.environments.negotiation.agents import AGENTS, ROSTER
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.scripts import (
    LEAST,
    ConcedingAgent,
    FairAgent,
    GreedyAgent,
    RandomAgent,
    TitForTatAgent,
    asking_for,
)
from apportion.foundation.errors import InputError
from tests.environments.negotiation.strategies import CONTEXTS
from tests.environments.negotiation.test_game import CONTEXT, played


def kinds_of(game: object, agent: str) -> list[str]:
    return [move.act.kind for moves in game.steps for move in moves if move.agent == agent]  # type: ignore[attr-defined]


def test_greedy_never_moves_and_two_of_them_get_nothing() -> None:
    game = played(CONTEXT, 1, GreedyAgent(), GreedyAgent())
    assert len(game.steps) == 21
    first = game.agents[game.starter]
    assert kinds_of(game, first) == ["propose", *["insist"] * 9, "select"]
    assert game.outcome() == {name: {"points": 0.0, "advantage": 0.0} for name in game.agents}


@given(CONTEXTS, st.integers(0, 50))
def test_fair_agrees_to_half_and_greedy_takes_what_it_leaves(context: Context, seed: int) -> None:
    game = played(context, seed, FairAgent(), FairAgent())
    points = [game.outcome()[name]["points"] or 0.0 for name in game.agents]
    assert points == [0, 0] or min(points) >= 5


@given(CONTEXTS, st.integers(0, 50))
def test_conceding_comes_to_a_deal_with_itself(context: Context, seed: int) -> None:
    """Both go down to 4 points, and some split brings both that much, or neither finds one."""
    game = played(context, seed, ConcedingAgent(), ConcedingAgent())
    points = [game.outcome()[name]["points"] or 0.0 for name in game.agents]
    assert points == [0, 0] or min(points) >= LEAST


def test_tit_for_tat_gives_what_it_is_given() -> None:
    stubborn = played(CONTEXT, 1, TitForTatAgent(), GreedyAgent())
    asked = [move.act.data for moves in stubborn.steps[:-1] for move in moves if move.agent == "Alice"]
    worth = [CONTEXT.worth(0, tuple(kept)) for kept in asked]
    assert worth[0] == 10
    assert set(worth[1:]) == {9}
    giving = played(CONTEXT, 1, TitForTatAgent(), ConcedingAgent())
    assert min(giving.outcome()[name]["points"] or 0 for name in giving.agents) > 0


def test_a_random_agent_draws_any_kind_of_act() -> None:
    kinds = {
        kind for seed in range(50) for kind in kinds_of(played(CONTEXT, seed, RandomAgent(), RandomAgent()), "Alice")
    }
    assert kinds == {"propose", "insist", "agree", "disagree", "end", "select"}


@given(CONTEXTS, st.integers(0, 10))
def test_what_is_asked_for_is_worth_as_much_as_is_wanted_and_leaves_what_is_worth_nothing(
    context: Context, wanted: int
) -> None:
    for seat, values in enumerate(context.values):
        asked = asking_for(context.counts, values, wanted)
        kept = [code for code in range(125) if code == asked]
        assert kept
        split = (asked // 25, asked // 5 % 5, asked % 5)
        assert context.worth(seat, split) >= wanted
        assert all(not n or value for n, value in zip(split, values, strict=True))


@pytest.mark.parametrize(
    "name", [name for name in AGENTS.names() if name not in ("learned", "recorded", "policy", "smollm2")]
)
def test_every_script_is_found_by_its_name(name: str) -> None:
    agent: Agent = ROSTER.scripted(name)
    assert agent.called == name
    assert not agent.paid
    game = played(CONTEXT, 5, agent, agent)
    assert game.over
    assert agent.act(Observation(played(CONTEXT, 5, agent, agent), "Alice")) is not None


def test_a_name_that_nobody_has_is_told_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"no agent 'fairy'; did you mean 'fair'\?.*Language models: base, react"):
        ROSTER.scripted("fairy")
    with pytest.raises(InputError, match=r"made of: recorded@LOG#EPISODE, .*learned@FOLDER"):
        ROSTER.scripted("lerned@folder")
    with pytest.raises(InputError, match=r"'learned' needs what it is made of behind an @, as learned@FOLDER"):
        ROSTER.scripted("learned")
    assert asking_for((1, 3, 1), (3, 1, 4), 8) == split_code((1, 1, 1))
