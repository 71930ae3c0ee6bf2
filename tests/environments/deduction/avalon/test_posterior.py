"""The posterior over the deals, beside one that is written down act by act."""

from itertools import combinations, permutations
from math import comb
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.observation import (
    evidence_of,
    night_in_words,
    role_in_words,
    rounds_of,
    rules_in_words,
)
from apportion.environments.deduction.avalon.posterior import (
    OpponentModel,
    Round,
    clean_chances,
    evil_chances,
    merlin_chances,
    posterior,
)
from apportion.environments.deduction.avalon.role_assignments import Evidence, fitting, numbers_of
from apportion.environments.deduction.avalon.rules import TABLETOP, Options
from tests.environments.deduction.avalon.plays import CASTS, EVIL, LARGEST, held_evil, shown, some_game

ROLES = Options().roles
HABITS = OpponentModel(fails=0.6, merlin=0.9, evil=0.65, proposes=0.75)


def proposals(deal: tuple[str, ...], seat: int, size: int, habits: OpponentModel) -> dict[tuple[int, ...], float]:
    """How probably a leader proposes each team."""
    every, held = list(combinations(range(len(deal)), size)), held_evil(deal, seat)
    clean = [team for team in every if not held & set(team)]
    if not held or not clean:
        return dict.fromkeys(every, 1 / len(every))
    share = habits.proposes if deal[seat] == "merlin" else 1 - habits.proposes
    return {team: share / len(clean) if team in clean else (1 - share) / (len(every) - len(clean)) for team in every}


def approval(deal: tuple[str, ...], seat: int, team: tuple[int, ...], habits: OpponentModel) -> float:
    """How probably a player votes for a team; one who knows nobody to be evil may do anything."""
    held = held_evil(deal, seat)
    tainted = bool(held & set(team))
    if deal[seat] == "merlin":
        return 1 - habits.merlin if tainted else habits.merlin
    return 0.5 if not held else habits.evil if tainted else 1 - habits.evil


def plays(deal: tuple[str, ...], habits: OpponentModel, draws: Random, asks: int) -> Round:
    """A round as these habits have it, drawn act by act, for the player who asks."""
    players = range(len(deal))
    leader, size = draws.choice(players), 2 if len(deal) == 5 else draws.choice((3, 5))
    chances = proposals(deal, leader, size, habits)
    (team,) = draws.choices(list(chances), list(chances.values()))
    votes = tuple(draws.random() < approval(deal, seat, team, habits) for seat in players)
    failed = [seat for seat in team if deal[seat] in EVIL and draws.random() < habits.fails]
    return Round(leader, team, votes, len(failed), int(asks in failed))


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), seat=st.integers(0, 6), count=st.integers(0, 4), roles=st.sampled_from(CASTS))
def test_the_posterior_is_the_product_of_what_each_act_is_worth(
    seed: int, seat: int, count: int, roles: tuple[str, ...]
) -> None:
    draws, players, seat = Random(seed), range(len(roles)), seat % len(roles)
    true = tuple(draws.sample(roles, len(roles)))
    rounds = tuple(plays(true, HABITS, draws, seat) for _ in range(count))
    seen = shown(true, seat)
    known = Evidence(seat, true[seat], seen and frozenset(seen), tuple(r.others_fails(seat) for r in rounds))
    weights = {}
    for deal in sorted(set(permutations(roles))):
        evil = [sum(deal[s] in EVIL for s in one.team if s != seat) for one in rounds]
        fails = [one.fails - one.own for one in rounds]
        if deal[seat] != true[seat] or shown(deal, seat) != seen:
            continue
        if any(one > of for one, of in zip(fails, evil, strict=True)):
            continue
        weights[deal] = 1.0
        for one, of, failed in zip(rounds, evil, fails, strict=True):
            if one.leader != seat:
                weights[deal] *= proposals(deal, one.leader, len(one.team), HABITS)[one.team]
            for voter in set(players) - {seat}:
                chance = approval(deal, voter, one.team, HABITS)
                weights[deal] *= 2 * (chance if one.votes[voter] else 1 - chance)
            weights[deal] *= comb(of, failed) * 0.6**failed * 0.4 ** (of - failed)
    assert fitting(roles, known) == tuple(weights) and true in weights
    found = posterior(roles, known, rounds, HABITS)
    total = sum(weights.values())
    expected = {deal: weight / total for deal, weight in weights.items()}
    assert found[numbers_of(roles, known)] == pytest.approx(list(expected.values()))
    assert found.sum() == pytest.approx(1)
    for at in players:
        assert evil_chances(roles, found)[at] == pytest.approx(sum(p for d, p in expected.items() if d[at] in EVIL))
        assert merlin_chances(roles, found)[at] == pytest.approx(
            sum(p for d, p in expected.items() if d[at] == "merlin")
        )
    for team, clean in clean_chances(roles, found, list(combinations(players, 2))).items():
        assert clean == pytest.approx(sum(p for d, p in expected.items() if not {d[at] for at in team} & set(EVIL)))


def test_before_anything_is_done_all_deals_are_alike() -> None:
    known = Evidence(1, "servant", None)
    chances = posterior(ROLES, known, ())
    assert chances[chances > 0] == pytest.approx([1 / 24] * 24)
    assert clean_chances(ROLES, chances, [(0, 1)])[0, 1] == pytest.approx(0.5)


def test_the_largest_cast_has_151_200_deals_and_chances_for_all_of_them() -> None:
    one = Round(0, (0, 1, 2), (True,) * 10, 2)
    known = Evidence(9, "servant", None, ((one.team, 2),))
    chances = posterior(LARGEST, known, (one,))
    assert len(chances) == 151_200 and sum(evil_chances(LARGEST, chances)) == pytest.approx(4)
    assert clean_chances(LARGEST, chances, [(0, 1), (3, 4)]) == pytest.approx({(0, 1): 0, (3, 4): 0.4252}, abs=1e-4)


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
    for part in (
        "Percival and the Servants are good",
        "Merlin knows who is evil but for Mordred; Percival knows who are Merlin and Morgana, but not who is who; evil "
        "players but for Oberon know each other",
        "one fails the quest (the fourth: two)",
        "4 Servants of Arthur, 1 Assassin, 1 Morgana, 1 Mordred, 1 Oberon",
        "the next player who is not known to the Assassin to be evil",
    ):
        assert part in rules_in_words(Options(LARGEST))
    assert "2 Minions of Mordred" in rules_in_words(Options(players=7)) and "(the fo" not in rules_in_words(
        Options(players=6)
    )
    small = rules_in_words(Options(("merlin", "servant", "assassin"), (1,), proposals=2))
    assert "up to 1 quests, for teams of 1" in small and "the second team of a quest" in small and "One failed" in small


@pytest.mark.parametrize(
    ("seat", "role", "evil", "told"),
    [
        (1, "merlin", (3, 4), "You see that Player 3 and Player 4 are evil."),
        (1, "merlin", (3,), "You see that Player 3 is evil."),
        (3, "minion", (3, 4), "You see that Player 4 is evil, too."),
        (3, "assassin", (3,), "You see that nobody else is evil."),
        (1, "percival", (3,), "You see that Player 3 is Merlin."),
        (
            1,
            "percival",
            (3, 4),
            "You see that Player 3 and Player 4 are Merlin and Morgana, in this order or the other.",
        ),
    ],
)
def test_the_night_shows_who_is_evil(seat: int, role: str, evil: tuple[int, ...], told: str) -> None:
    assert night_in_words(seat, role, evil) == told


@pytest.mark.parametrize("role", LARGEST)
def test_a_role_is_told_what_it_knows(role: str) -> None:
    told = role_in_words(role, LARGEST)
    assert told.startswith("You are ") and ("good" in told) == (role not in EVIL) != ("an evil" in told)
    assert ("but for Oberon" in told) == (role in EVIL and role != "oberon")
    assert ("Mordred" in told) == (role in ("merlin", "mordred")) and ("Percival" in told) == (
        role in ("percival", "morgana")
    )
    assert "a Minion of Mordred" in role_in_words("minion", Options(players=7).roles)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 80), roles=st.sampled_from(CASTS))
def test_rounds_and_evidence_are_those_of_the_game(seed: int, steps: int, roles: tuple[str, ...]) -> None:
    game = some_game(seed, steps, roles=roles)
    for seat, name in enumerate(game.agents):
        facts = game.facts(name)
        rounds, known = rounds_of(facts), evidence_of(facts)
        votes = [moves for moves in game.steps if any(move.act.kind in ("approve", "reject") for move in moves)]
        assert (known.seat, known.role) == (seat, game.deal[seat])
        assert known.seen == shown(game.deal, seat)
        assert len(known.quests) == game.game.passed + game.game.failed
        played = [one for one in rounds if one.fails is not None]
        needed = (1, 1, 1, 1 + (len(roles) > 6), 1)
        failed = [one.fails >= of for one, of in zip(played, needed, strict=False)]
        assert sum(failed) == game.game.failed
        own = [moves for moves in game.steps if any(one.agent == name and one.act.kind == "fail" for one in moves)]
        assert [one.others_fails(seat) for one in played] == list(known.quests)
        assert [one.team for one in played if one.own] == [tuple(int(m.agent[7:]) - 1 for m in moves) for moves in own]
        assert sum(one.votes is not None for one in rounds) >= len(votes)
        for one in rounds:
            assert one.votes is None or len(one.votes) == len(roles)
