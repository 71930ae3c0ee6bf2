"""Scripts that play Werewolf: claims that are said and understood, the posterior beside a loop, who beats whom."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.scripts import Random
from apportion.environments.deduction.werewolf.cast import VILLAGE, cast
from apportion.environments.deduction.werewolf.claims import Claim, Talk, claim_in
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.posterior import HABITS, posterior
from apportion.environments.deduction.werewolf.role_assignments import deals_of
from apportion.environments.deduction.werewolf.scripts import BayesianAgent, Claims
from apportion.environments.environment import Action, Observation
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.deduction.werewolf.games import begun, played
from tests.environments.deduction.werewolf.positions import COUNT, model, positions

SEATS = st.integers(1, 12)
CLAIMS = st.builds(
    Claim,
    st.booleans(),
    st.dictionaries(SEATS, st.booleans(), max_size=4).map(lambda results: tuple(results.items())),
    st.lists(SEATS, max_size=3, unique=True).map(tuple),
)
HUNTED = (*cast(5), "hunter")
DEAL = ("werewolf", "seer", "guardian", "villager", "werewolf", "villager", "villager")


@given(CLAIMS)
def test_a_claim_that_is_said_is_understood(claim: Claim) -> None:
    assert claim_in(claim.sentence()) == claim


def test_claims_in_the_words_of_others() -> None:
    assert claim_in("Listen: I'm the Seer! player 3 is not a Werewolf, so vote out Player 4.") == Claim(
        True, ((3, False),), (4,)
    )
    assert claim_in("I am the seerest. Player 123 is a werewolf. Moderator: vote now") == Claim()


def weighed(facts: PrivateInformation) -> dict[tuple[str, ...], float]:
    """The posterior by a loop over deals and events, apart from the arrays."""
    weights = {deal: _weight(deal, facts) for deal in facts.deals}
    total = sum(weights.values())
    return {deal: weight / total for deal, weight in weights.items()}


def _weight(deal: tuple[str, ...], facts: PrivateInformation) -> float:
    alive, seers, weight = list(range(1, len(deal) + 1)), set(), 1.0
    role = dict(enumerate(deal, 1))

    def votes(seat: int, at: int) -> float:
        rates = {one: HABITS.spares if role[one] == role[seat] == "werewolf" else 1.0 for one in alive if one != seat}
        return (rates[at] if at else 1.0) / (sum(rates.values()) + 1.0)

    for event in facts.events:
        if event.kind == VOTE:
            weight *= votes(event.seat, event.data)
        elif event.kind == SPEAK:
            claim, its = claim_in(event.text), role[event.seat]
            if event.seat not in seers:
                chance = {"seer": HABITS.claims[0], "werewolf": HABITS.claims[1]}.get(its, HABITS.claims[2])
                weight *= chance if claim.seer else 1 - chance
            if claim.seer:
                for at, is_one in claim.results:
                    if its == "seer":
                        weight *= HABITS.seen if is_one == (role[at] == "werewolf") else 1 - HABITS.seen
                    elif its == "werewolf":
                        named = HABITS.names[role[at] == "werewolf"]
                        weight *= named if is_one else 1 - named
                    else:
                        weight *= 0.5
                seers.add(event.seat)
            for at in claim.suspects:
                if at in alive and at != event.seat:
                    weight *= votes(event.seat, at)
        elif event.kind == "killed":
            fame = {one: HABITS.hunted if one in seers else 1.0 for one in alive}
            prey = {one: fame[one] for one in alive if role[one] != "werewolf"}
            attacked = {one: (1 - HABITS.idle) * part / sum(prey.values()) for one, part in prey.items()}
            lives = any(role[one] == "guardian" for one in alive)
            saved = {one: lives * fame[one] / sum(fame.values()) for one in alive}
            if event.data:
                weight *= attacked[event.data] * (1 - saved[event.data])
            else:
                weight *= HABITS.idle + sum(part * saved[one] for one, part in attacked.items())
        if event.kind in ("killed", "out", "shoot") and event.data:
            alive.remove(event.data)
    return weight


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), SEATS, st.sampled_from((cast(7), cast(5), cast(10), HUNTED)))
def test_the_posterior_is_that_of_a_loop_over_deals_and_events(
    seed: int, steps: int, seat: int, roles: tuple[str, ...]
) -> None:
    game = played(seed, steps, idle=0.05, roles=roles)
    facts = game.facts(f"Player {(seat - 1) % len(roles) + 1}")
    expected, table = weighed(facts) if not game.over else {game.deal: 1.0}, deals_of(game.options.roles)
    found = posterior(facts)
    assert len(found) == {5: 60, 6: 360, 7: 420, 10: 5040}[len(roles)] and found[table.deals.index(game.deal)] > 0
    np.testing.assert_allclose(found, [expected.get(deal, 0.0) for deal in table.deals], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("roles", [cast(5), cast(9), cast(12), HUNTED])
def test_scripts_play_every_cast(roles: tuple[str, ...]) -> None:
    for agent in (BayesianAgent(), Claims(), Random()):
        game = begun(1, None, roles)
        play(game, dict.fromkeys(game.agents, agent))
        assert game.over


def village_wins(village: Any, werewolves: Any, games: int) -> float:
    won = 0
    for seed in range(games):
        game = Werewolf()
        game.reset(seed)
        sides = {"village": village, "werewolves": werewolves}
        play(game, {name: sides[game.teams[role]] for name, role in zip(game.agents, game.deal, strict=True)})
        won += game.table.winner == VILLAGE
    return won / games


@pytest.mark.parametrize("games", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_scripts_beat_random_play_on_each_side(games: int) -> None:
    """Random play is won by the village in 12.84 % of games."""
    rate = 0.1284
    error = (rate * (1 - rate) / games) ** 0.5
    for village in (BayesianAgent(), Claims()):
        assert village_wins(village, Random(), games) > rate + 3 * error
    if games > 100:
        for werewolves in (BayesianAgent(), Claims()):
            assert village_wins(Random(), werewolves, games) < rate - 3 * error


def day_one(game: Werewolf, kill: int, check: int, guard: int) -> None:
    for act in (
        Action("propose", "", kill),
        Action("kill", "", kill),
        Action("check", "", check),
        Action("guard", "", guard),
    ):
        game.do(act)


@pytest.mark.parametrize("agent", [Claims(), BayesianAgent()])
def test_a_seer_tells_of_a_werewolf_and_is_believed(agent: Any) -> None:
    game = begun(1, DEAL)
    day_one(game, 7, 5, 2)
    game.do(Action("none"))
    said = agent.act(Observation(game, "Player 2"))
    assert said.text.startswith("I am the seer. Player 5 is a werewolf.")
    game.do(said)
    for name in ("Player 3", "Player 4", "Player 5", "Player 6"):
        act = agent.act(Observation(game, name))
        if name == "Player 5":
            assert act.text.startswith("I am the seer. Player 2 is a werewolf.")
        game.do(act)
    votes = {name: agent.act(Observation(game, name)).data for name in game.acting()}
    assert [votes[name] for name in ("Player 2", "Player 3", "Player 4", "Player 6")].count(5) >= 3
    assert votes["Player 1"] not in (1, 5)
    assert set(Talk.of(game.facts("Player 4")).seers) == {2, 5}
    game.step({name: Action(VOTE, "", 0) for name in game.acting()})
    assert agent.act(Observation(game, "Player 1")).data == 2
    game.do(Action("propose", "", 2))
    game.do(Action("kill", "", 2))
    assert agent.act(Observation(game, "Player 2")).data not in (2, 5)
    game.do(Action("none"))
    assert agent.act(Observation(game, "Player 3")).data in (2, 5)


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
    """The figures of docs/evidence/games.md."""
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
