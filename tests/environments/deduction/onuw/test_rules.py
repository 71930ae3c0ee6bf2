"""The night over all deals, the vote over all ballots, each beside a second telling of the rules."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

from apportion.environments.deduction.onuw.claims import all_accounts
from apportion.environments.deduction.onuw.rules import (
    CHOOSING,
    PLAYERS,
    VILLAGE,
    WEREWOLF,
    ClaimedHistory,
    Deal,
    Options,
    all_deals,
    check_deal,
    choices_of,
    dead,
    fitting_deals,
    nights_of,
    winner,
)
from apportion.environments.deduction.scripts import Random as Drawn
from apportion.foundation.errors import InputError
from tests.environments.deduction.onuw import oracle
from tests.environments.deduction.onuw.playing import played

BALLOTS = [(None, *[other for other in range(PLAYERS) if other != seat]) for seat in range(PLAYERS)]


def from_one(choice: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(place + 1 for place in choice)


def nights_beside_the_second_telling(deals: Sequence[Deal]) -> int:
    """How many nights they have."""
    worlds = 0
    for deal in deals:
        expected = {tuple(sorted(chosen.items())): oracle.told(deal, chosen) for chosen in oracle.nights(deal)}
        for world in nights_of(deal):
            chosen = {
                role: from_one(choice)
                for role, choice in zip(CHOOSING, world.choices, strict=True)
                if deal.index(role) < PLAYERS
            }
            cards, shown = expected.pop(tuple(sorted(chosen.items())))
            night = world.night
            assert night.cards == cards
            assert {seat + 1: seen for seat, seen in enumerate(night.seen) if seen} == shown
            worlds += 1
        assert not expected
    return worlds


def test_the_nights_of_every_tenth_deal_end_as_in_the_second_telling() -> None:
    assert nights_beside_the_second_telling(all_deals()[::10]) > 9_000


@pytest.mark.slow
def test_every_night_of_every_deal_ends_as_in_the_second_telling() -> None:
    assert list(all_deals()) == oracle.dealt()
    assert (len(all_deals()), nights_beside_the_second_telling(all_deals())) == (1_800, 116_280)


def test_every_vote_ends_as_in_the_second_telling() -> None:
    for options in (Options(), Options(single_votes_kill=False)):
        for votes in product(*BALLOTS):
            killed = dead(votes, options)
            for wolf in range(PLAYERS):
                cards = tuple(WEREWOLF if seat == wolf else "villager" for seat in range(PLAYERS))
                ours = winner(cards, killed) == VILLAGE
                theirs = oracle.village_wins(
                    tuple(0 if vote is None else vote + 1 for vote in votes), wolf + 1, options.single_votes_kill
                )
                assert ours == theirs


def test_what_may_be_chosen() -> None:
    assert [len(choices_of(role, 2)) for role in CHOOSING] == [6, 5, 7]
    assert all(choices_of(role, 2)[0] == () for role in (*CHOOSING, WEREWOLF))
    assert all(2 not in choice for role in CHOOSING for choice in choices_of(role, 2))


@pytest.mark.parametrize(
    ("deal", "told"),
    [
        (("werewolf", "seer", "seer", "robber", "troublemaker", "insomniac", "villager"), "dealt werewolf, seer, seer"),
        (("werewolf",), "5 players and the centre share 7 cards"),
        (("villager", "villager", "seer", "robber", "troublemaker", "insomniac", "werewolf"), "lies in the centre"),
    ],
)
def test_deals_that_cannot_be(deal: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_deal(deal)


@pytest.mark.parametrize("rounds", [0, -1, 21])
def test_rounds_that_cannot_be(rounds: int) -> None:
    with pytest.raises(InputError, match=f"rounds = {rounds}; rounds of discussion are 1 to 20"):
        Options(rounds)


def test_the_deals_that_fit_are_those_of_the_worlds_that_fit() -> None:
    """Every thirtieth deal, with all its nights."""
    fitting: dict[tuple[int, ClaimedHistory], set[tuple[str, ...]]] = defaultdict(set)
    looked_at = all_deals()[::30]
    for world in (world for deal in looked_at for world in nights_of(deal)):
        for seat, lived in enumerate(world.accounts):
            fitting[seat, lived].add(world.deal)
    assert {key[1] for key in fitting if key[0] == 0} <= set(all_accounts(0))
    for seat in range(PLAYERS):
        for lived in all_accounts(seat)[seat::12]:
            found = [deal for deal in fitting_deals(seat, lived) if deal in looked_at]
            assert found == [deal for deal in looked_at if deal in fitting[seat, lived]]


def test_what_one_knows_to_be_one_s_last_card() -> None:
    assert ClaimedHistory("seer", (1,), ("werewolf",)).last == "seer"
    assert ClaimedHistory("robber", (1,), ("werewolf",)).last == "werewolf"
    assert ClaimedHistory("robber").last == "robber"
    assert ClaimedHistory("insomniac", (), ("villager",)).last == "villager"
    assert ClaimedHistory("villager").last == "villager"


def standard_errors(wins: int, games: int, rate: Fraction) -> float:
    """How far a count lies from its expectation, in standard errors."""
    return abs(float(wins - games * rate)) / math.sqrt(games * rate * (1 - rate))


def exact(role: str, single_votes_kill: bool) -> Fraction:
    """How often who is dealt a card wins: votes know nothing, so that the team at dawn and the vote do not depend."""
    village, ends = oracle.random_village_rate(single_votes_kill), oracle.ends_as_werewolf()[role]
    return ends * (1 - village) + (1 - ends) * village


def test_the_exact_rates() -> None:
    assert oracle.random_village_rate(True) == Fraction(1_057, 3_125)


def through_the_core(games: int, *, by_role: bool) -> list[float]:
    """The same of games that are played through the core."""
    village, wins, dealt = 0, Counter[str](), Counter[str]()
    for number in range(games):
        game = played((Drawn(),), number, Options(rounds=1))
        won = [one["win"] for one in game.outcome().values()]
        village += won.count(1.0) == 4
        dealt[game.deal[number % PLAYERS]] += 1
        wins[game.deal[number % PLAYERS]] += won[number % PLAYERS] == 1.0
    return [
        standard_errors(village, games, oracle.random_village_rate(True)),
        *[standard_errors(wins[role], dealt[role], exact(role, True)) for role in wins if by_role],
    ]


@pytest.mark.parametrize("games", [500, pytest.param(60_000, marks=pytest.mark.slow)])
def test_random_agents_through_the_core(games: int) -> None:
    assert max(through_the_core(games, by_role=games > 500)) < 3
