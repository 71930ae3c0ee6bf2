"""The posterior over the deals, beside one that is written down act by act."""

from itertools import combinations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.observation import evidence_of, night_in_words, rounds_of, rules_in_words
from apportion.environments.deduction.avalon.posterior import (
    OpponentModel,
    Round,
    clean_chance,
    evil_chances,
    merlin_chances,
    posterior,
)
from apportion.environments.deduction.avalon.role_assignments import Evidence, all_deals, fitting, seen_by
from apportion.environments.deduction.avalon.rules import TABLETOP, Options
from tests.environments.deduction.avalon.plays import some_game

ROLES = Options().roles
HABITS = OpponentModel(fails=0.6, merlin=0.9, evil=0.65, proposes=0.75)
EVIL = ("minion", "assassin")


def plays(deal: tuple[str, ...], habits: OpponentModel, draws: Random) -> Round:
    """A round as these habits have it, drawn act by act."""
    leader = draws.randrange(5)
    every = list(combinations(range(5), 2))
    clean = [team for team in every if not any(deal[seat] in EVIL for seat in team)]
    tainted = [team for team in every if team not in clean]
    if deal[leader] == "servant":
        team = draws.choice(every)
    else:
        wanted = draws.random() < habits.proposes
        team = draws.choice(clean if wanted == (deal[leader] == "merlin") else tainted)
    votes = []
    for role in deal:
        approves = draws.random() < {"servant": 0.5, "merlin": habits.merlin}.get(role, habits.evil)
        votes.append(approves == (role == "servant" or (role == "merlin") == (team in clean)))
    fails = sum(deal[seat] in EVIL and draws.random() < habits.fails for seat in team)
    return Round(leader, team, tuple(votes), fails)


@given(
    seed=st.integers(0, 2**32),
    seat=st.integers(0, 4),
    count=st.integers(0, 4),
    true=st.sampled_from(all_deals(ROLES)),
)
def test_the_posterior_is_the_product_of_what_each_act_is_worth(
    seed: int, seat: int, count: int, true: tuple[str, ...]
) -> None:
    draws = Random(seed)
    rounds = [plays(true, HABITS, draws) for _ in range(count)]
    deals = fitting(ROLES, Evidence(seat, true[seat], seen_by(true, seat), tuple((r.team, r.fails) for r in rounds)))
    weights = [1.0] * len(deals)
    for (number, deal), one in product(enumerate(deals), rounds):
        evil = sum(deal[s] in EVIL for s in one.team)
        for voter in set(range(5)) - {seat}:
            if deal[voter] == "merlin":
                weights[number] *= 0.9 if one.votes[voter] == (evil == 0) else 1 - 0.9
            elif deal[voter] in EVIL:
                weights[number] *= 0.65 if one.votes[voter] == (evil > 0) else 1 - 0.65
        weights[number] *= {
            (0, 0): 1, (1, 0): 0.4, (1, 1): 0.6, (2, 0): 0.16, (2, 1): 0.48, (2, 2): 0.36,
        }[evil, one.fails]  # fmt: skip
        if one.leader != seat and deal[one.leader] != "servant":
            # Of ten teams of two, three are clean.
            weights[number] *= 10 * (
                (0.75 / 3 if evil == 0 else 0.25 / 7) if deal[one.leader] == "merlin" else
                (0.25 / 3 if evil == 0 else 0.75 / 7)
            )  # fmt: skip
    found = posterior(deals, rounds, seat, HABITS)
    assert found == pytest.approx([weight / sum(weights) for weight in weights])
    assert true in deals
    evil_by_seat = evil_chances(deals, found)
    assert sum(evil_by_seat) == pytest.approx(2)
    assert sum(merlin_chances(deals, found)) == pytest.approx(1)
    for team in combinations(range(5), 2):
        clean = clean_chance(deals, found, team)
        assert clean <= 1 - max(evil_by_seat[s] for s in team) + 1e-9


def test_before_anything_is_done_all_deals_are_alike() -> None:
    deals = fitting(ROLES, Evidence(1, "servant", None))
    assert posterior(deals, (), 1) == pytest.approx([1 / 24] * 24)
    assert clean_chance(deals, posterior(deals, (), 1), (0, 1)) == pytest.approx(0.5)


def test_the_rules_are_told_with_the_options_in_force() -> None:
    told = rules_in_words(Options())
    for part in (
        "5 players: 1 Merlin, 2 Servants of Arthur, 1 Minion of Mordred, 1 Assassin.",
        "up to 5 quests, for teams of 2, 3, 2, 3 and 3",
        "the fifth team of a quest goes however it is voted on",
        "Three failed: evil wins. Three passed: the Assassin names one player",
    ):
        assert part in told
    assert "the fifth team of a quest is the last: evil wins if it is rejected" in rules_in_words(TABLETOP)
    small = rules_in_words(Options(("merlin", "servant", "assassin"), (1,), proposals=2))
    assert "up to 1 quests, for teams of 1" in small and "the second team of a quest" in small and "One failed" in small


@pytest.mark.parametrize(
    ("seat", "role", "evil", "told"),
    [
        (1, "merlin", (3, 4), "You see that Player 3 and Player 4 are evil."),
        (1, "merlin", (3,), "You see that Player 3 is evil."),
        (3, "minion", (3, 4), "You see that Player 4 is evil, too."),
        (3, "assassin", (3,), "You see that nobody else is evil."),
    ],
)
def test_the_night_shows_who_is_evil(seat: int, role: str, evil: tuple[int, ...], told: str) -> None:
    assert night_in_words(seat, role, evil) == told


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 80))
def test_rounds_and_evidence_are_those_of_the_game(seed: int, steps: int) -> None:
    game = some_game(seed, steps)
    for seat, name in enumerate(game.agents):
        facts = game.facts(name)
        rounds, known = rounds_of(facts), evidence_of(facts)
        votes = [moves for moves in game.steps if any(move.act.kind in ("approve", "reject") for move in moves)]
        assert (known.seat, known.role) == (seat, game.deal[seat])
        assert known.seen == (None if game.deal[seat] == "servant" else game.game.evil)
        assert len(known.quests) == game.game.passed + game.game.failed
        assert sum(fails > 0 for _, fails in known.quests) == game.game.failed
        assert [(one.team, one.fails) for one in rounds if one.fails is not None] == list(known.quests)
        assert sum(one.votes is not None for one in rounds) >= len(votes)
        for one in rounds:
            assert one.votes is None or len(one.votes) == 5
