"""The rules alone: who acts when, what may be done, who wins; small games whole, random play against exact rates."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import sqrt
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.deduction.deals import all_deals
from apportion.environments.deduction.werewolf.cast import (
    GUARDIAN,
    HUNTER,
    SEER,
    VILLAGE,
    VILLAGER,
    WEREWOLF,
    WEREWOLVES,
    cast,
)
from apportion.environments.deduction.werewolf.game import GAME
from apportion.environments.deduction.werewolf.rules import (
    GUARD,
    KILL,
    KILLED,
    NOBODY,
    OUT,
    PAPER,
    PROPOSE,
    SHOOT,
    VOTE,
    Options,
    Table,
)

REDUCED = [
    (WEREWOLF, VILLAGER, VILLAGER),
    (WEREWOLF, SEER, VILLAGER),
    (WEREWOLF, GUARDIAN, VILLAGER),
    (WEREWOLF, SEER, GUARDIAN),
    (WEREWOLF, SEER, GUARDIAN, VILLAGER),
    (WEREWOLF, VILLAGER, VILLAGER, VILLAGER),
    (WEREWOLF, HUNTER, VILLAGER),
    (WEREWOLF, GUARDIAN, HUNTER, VILLAGER),
]
WITH_HUNTER = (WEREWOLF, WEREWOLF, SEER, GUARDIAN, HUNTER, VILLAGER, VILLAGER, VILLAGER)
TIES = ("lot", "nobody")


class Lot(Random):
    """Draws what it is told to, and says when it was asked for more."""

    def __init__(self, taken: int) -> None:
        super().__init__(0)
        self.taken, self.among = taken, 1

    def choice(self, seq: Any) -> Any:
        self.among = len(seq)
        return seq[self.taken]


def state_of(table: Table) -> tuple[Any, ...]:
    return tuple(getattr(table, name) for name in Table.__slots__ if name != "options")


def after_all(table: Table) -> list[tuple[Fraction, Table]]:
    """Every way in which one step can go, with its chance in random play."""
    seats = table.acting()
    ways = []
    for aims in product(*(table.aims(seat) for seat in seats)):
        taken = among = 0
        chance = Fraction(1)
        for seat in seats:
            chance /= len(table.aims(seat))
        while taken == 0 or taken < among:
            copied, lot = table.copy(), Lot(taken)
            copied.do(dict(zip(seats, aims, strict=True)), lot)
            among, taken = lot.among, taken + 1
            ways.append((chance / among, copied))
    return ways


def enumerated(options: Options, deal: tuple[str, ...]) -> tuple[Fraction, int]:
    """The village's chance in random play by going through every state, and how many states there are."""
    layer = {state_of(Table(options, deal)): (Fraction(1), Table(options, deal))}
    won, states = Fraction(0), 0
    while layer:
        following: dict[tuple[Any, ...], tuple[Fraction, Table]] = {}
        for chance, table in layer.values():
            states += 1
            check_state(table)
            if table.winner:
                won += chance * (table.winner == VILLAGE)
                continue
            for part, after in after_all(table):
                had = following.get(state_of(after), (Fraction(0), after))[0]
                following[state_of(after)] = (had + chance * part, after)
        layer = following
    return won, states


def check_state(table: Table) -> None:
    """What holds in every state, by the rules' words."""
    wolves = [seat for seat in table.alive if table.roles[seat - 1] == WEREWOLF]
    assert list(table.wolves) == wolves
    if table.phase == SHOOT and not table.winner:
        assert table.acting() == (table.hunter,) and table.roles[table.hunter - 1] == HUNTER
        assert table.hunter not in table.alive and table.aims(table.hunter) == (NOBODY, *table.alive)
        return
    assert set(table.acting()) <= set(table.alive)
    ended = not wolves or 2 * len(wolves) >= len(table.alive)
    if ended:
        assert table.winner == (WEREWOLVES if wolves else VILLAGE)
    if table.winner:
        assert (ended or table.day == table.options.most_days) and table.acting() == ()
        return
    for seat in table.acting():
        aims = table.aims(seat)
        assert aims and set(aims) - {NOBODY} <= set(table.alive)
        assert table.phase in (GUARD,) or seat not in aims
        assert not (table.phase in (PROPOSE, KILL) and set(aims) & set(wolves))
        assert (NOBODY in aims) == (table.phase == VOTE)


@cache
def nobody_out(players: int, tie: str) -> Fraction:
    """The chance that a vote at random removes nobody; all others are as likely to be removed as one another."""
    if tie == "lot":
        return Fraction(1, players**players)
    none = 0
    # By how many votes each one has: everybody votes for one of the others or abstains.
    counts: dict[tuple[int, ...], int] = {(0,) * players: 1}
    for voter in range(players):
        then: dict[tuple[int, ...], int] = defaultdict(int)
        for votes, ways in counts.items():
            then[votes] += ways
            for one in range(players):
                if one != voter:
                    then[(*votes[:one], votes[one] + 1, *votes[one + 1 :])] += ways
        counts = then
    for votes, ways in counts.items():
        none += ways * (max(votes) == 0 or votes.count(max(votes)) > 1)
    return Fraction(none, players**players)


@cache
def exact(left: tuple[int, ...], days: int, tie: str) -> Fraction:
    """The village's chance in random play at nightfall, ``days`` of them left: apart from the engine, by counts.

    ``left``: How many of each of `COUNTED` live.
    """
    wolves, alive = left[0], sum(left)
    saved = Fraction(left[2], alive)
    total = saved * _voted(left, days, tie)
    for place, ways in enumerate(left[1:], 1):
        if ways:
            chance = (1 - saved) * Fraction(ways, alive - wolves)
            total += chance * _dead(left, place, lambda then: _voted(then, days, tie))
    return total


COUNTED = (WEREWOLF, SEER, GUARDIAN, HUNTER, VILLAGER)
Left = tuple[int, ...]


def _dead(left: Left, place: int, then: Callable[[Left], Fraction]) -> Fraction:
    """After somebody of a role has died, and whom a hunter shoots."""
    left = _without(left, place)
    if COUNTED[place] != HUNTER:
        return then(left)
    shots = sum(count * then(_without(left, where)) for where, count in enumerate(left) if count)
    return (then(left) + shots) / (sum(left) + 1)


def _without(left: Left, place: int) -> Left:
    return tuple(number - (place == where) for where, number in enumerate(left))


def _voted(at_dawn: Left, days: int, tie: str) -> Fraction:
    alive = sum(at_dawn)
    if 2 * at_dawn[0] >= alive or not at_dawn[0]:
        return Fraction(not at_dawn[0])
    none = nobody_out(alive, tie)
    total = none * _dusk(at_dawn, days, tie)
    for place, count in enumerate(at_dawn):
        if count:
            chance = (1 - none) * Fraction(count, alive)
            total += chance * _dead(at_dawn, place, lambda then: _dusk(then, days, tie))
    return total


def _dusk(left: Left, days: int, tie: str) -> Fraction:
    if not left[0]:
        return Fraction(1)
    if 2 * left[0] >= sum(left) or days == 1:
        return Fraction(0)
    return exact(left, days - 1, tie)


def exact_for(options: Options) -> Fraction:
    count = Counter(options.roles)
    return exact(tuple(count[role] for role in COUNTED), options.most_days, options.tie)


@pytest.mark.parametrize("deals", [2, pytest.param(24, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("roles", REDUCED, ids=lambda roles: "-".join(role[0] for role in roles))
def test_games_of_three_and_four_enumerated_whole_are_won_as_often_as_counted_apart(
    roles: tuple[str, ...], tie: Any, deals: int
) -> None:
    days = 2 if deals == 2 else 3
    options = Options(roles, tie, most_days=days)
    for deal in all_deals(roles)[:deals]:
        won, states = enumerated(options, deal)
        assert won == exact_for(options) and states >= 3


def played(table: Table, draws: Random) -> Table:
    while seats := table.acting():
        table.do({seat: draws.choice(table.aims(seat)) for seat in seats}, draws)
    return table


def village_wins(options: Options, games: int, seed: int) -> int:
    draws = Random(seed)
    return sum(
        played(Table(options, tuple(draws.sample(options.roles, len(options.roles)))), draws).winner == VILLAGE
        for _ in range(games)
    )


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("games", [1_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_random_play_is_won_as_often_as_it_has_to_be(games: int, tie: Any) -> None:
    options = Options(tie=tie)
    rate = float(exact_for(options))
    assert abs(village_wins(options, games, 11) / games - rate) < 3 * sqrt(rate * (1 - rate) / games)


@pytest.mark.parametrize("games", [1_000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("roles", [cast(9), cast(12), WITH_HUNTER])
def test_so_it_is_in_other_casts(roles: tuple[str, ...], games: int) -> None:
    options = Options(roles)
    rate = float(exact_for(options))
    assert abs(village_wins(options, games, 12) / games - rate) < 3 * sqrt(rate * (1 - rate) / games)


def test_the_exact_rates_of_random_play() -> None:
    """The figures that the documentation gives."""
    assert f"{float(exact_for(Options())):.4f} {float(exact_for(Options(tie='nobody'))):.4f}" == "0.1284 0.0829"


@given(
    st.sampled_from((*map(cast, range(5, 13)), WITH_HUNTER)).flatmap(st.permutations),
    st.integers(0, 10**6),
    st.sampled_from(TIES),
    st.booleans(),
)
def test_any_game_ends_once_and_the_dead_do_nothing(roles: list[str], seed: int, tie: Any, self_guard: bool) -> None:
    table, draws = Table(Options(tuple(roles), tie, self_guard), tuple(roles)), Random(seed)
    everybody = set(range(1, len(roles) + 1))
    dead: set[int] = set()
    wins = 0
    while seats := table.acting():
        check_state(table)
        assert (not dead & set(seats) or table.phase == SHOOT) and (
            self_guard or table.phase != GUARD or seats[0] not in table.aims(seats[0])
        )
        before = table.copy()
        acts = {seat: draws.choice((table.default(), *table.aims(seat))) for seat in seats}
        results = table.do(acts, draws)
        assert state_of(before) != state_of(table) and dead <= everybody - set(table.alive)
        dead |= everybody - set(table.alive)
        # A hunter who fell is out at once; whom he shoots is told by no result.
        shot = before.phase == SHOOT and acts[before.hunter] != NOBODY
        assert len(before.alive) - len(table.alive) == shot + sum(
            r.kind in (KILLED, OUT) and r.what != NOBODY for r in results
        )
        wins += sum(result.kind == "won" for result in results)
    check_state(table)
    assert wins == 1


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        (PAPER[:6], "6 players"),
        ((*cast(9), *cast(4)), "13 players"),
        ((WEREWOLF, WEREWOLF, SEER, SEER, GUARDIAN, VILLAGER, VILLAGER), "2 seer"),
        ((WEREWOLF, SEER, SEER, VILLAGER), "2 seer"),
        ((WEREWOLF, WEREWOLF, VILLAGER, VILLAGER), "2 werewolf"),
        ((WEREWOLF, "witch", VILLAGER), "1 witch"),
    ],
)
def test_other_players_than_the_game_has(roles: tuple[str, ...], why: str) -> None:
    with pytest.raises(ValueError, match=f"{why}.*the game has 3 to 12, .* 2 of 7, .* 3 of 10"):
        Options(roles)


@pytest.mark.parametrize(("players", "roles"), [(13, ()), (2, ()), (5, PAPER)])
def test_a_number_of_players_that_cannot_be(players: int, roles: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"players = {players}: 3 to 12 play"):
        Options(roles, players=players)


@pytest.mark.parametrize("players", range(5, 13))
def test_so_many_players_are_dealt_and_a_log_says_their_roles(players: int) -> None:
    options = GAME.options_of([f"players={players}"])
    assert Counter(options.roles)[WEREWOLF] == (1, 1, 2, 2, 2, 3, 3, 3)[players - 5] and len(options.roles) == players
    assert options == Options(options.roles) and (options == Options()) == (players == 7)
    about = GAME.about(options)
    assert list(about["rules"]) == ["roles", "tie", "self_guard", "most_days"] and GAME.of_log(about).rules == options


def test_of_three_werewolves_the_last_decides_and_confirms_what_was_proposed() -> None:
    table = Table(Options(players=10), cast(10))
    done = []
    while table.phase != VOTE and len(done) < 5:
        (seat,) = table.acting()
        done.append((table.phase, seat))
        table.do({seat: 9 if table.phase == PROPOSE and seat == 1 else table.default()}, Random(0))
    assert done == [(PROPOSE, 1), (PROPOSE, 2), (KILL, 3), ("check", 4), (GUARD, 5)] and 9 not in table.alive


def test_a_game_without_a_day() -> None:
    with pytest.raises(ValueError, match="most_days = 0"):
        Options(most_days=0)


def test_there_are_420_deals_each_once() -> None:
    deals = all_deals(PAPER)
    assert len(deals) == len(set(deals)) == 420
    assert sum(deal[0] == deal[1] == WEREWOLF for deal in deals) * len(list(combinations(range(7), 2))) == 420
