"""What random play comes to, exactly: by walking through every state of the engine, and by arithmetic without it."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, product
from math import comb
from random import Random
from typing import TypeVar

from apportion.environments.deduction.avalon.rules import (
    ASSASSIN,
    EVIL_ROLES,
    EVIL_WINS,
    MERLIN_FOUND,
    MERLIN_HIDDEN,
    QUEST,
    QUESTS_FAILED,
    REJECTIONS,
    SHOT,
    TEAM,
    VOTE,
    Deal,
    Game,
    Options,
)
from apportion.environments.deduction.deals import all_deals

Thing = TypeVar("Thing")


@lru_cache(maxsize=64)
def teams(players: int, size: int) -> tuple[tuple[int, ...], ...]:
    """Every team of so many seats, in order."""
    return tuple(combinations(range(players), size))


@lru_cache(maxsize=16)
def ballots(players: int) -> tuple[tuple[bool, ...], ...]:
    """Every way in which so many can vote."""
    return tuple(product((False, True), repeat=players))


@lru_cache(maxsize=4096)
def hands(team: tuple[int, ...], evil: frozenset[int]) -> tuple[tuple[bool, ...], ...]:
    """Every way in which a team may play its cards."""
    return tuple(product(*((True, False) if seat in evil else (True,) for seat in team)))


@lru_cache(maxsize=16)
def targets(players: int, assassin: int) -> tuple[int, ...]:
    """Whom the Assassin may name."""
    return tuple(seat for seat in range(players) if seat != assassin)


def dealt(options: Options, draws: Random) -> Game:
    """A game at its beginning, with a deal and a first leader at random."""
    return Game(options, _one_of(all_deals(options.roles), draws), int(draws.random() * len(options.roles)))


def _one_of(things: tuple[Thing, ...], draws: Random) -> Thing:
    return things[int(draws.random() * len(things))]  # Faster than `choice`, and the same in every version of Python.


def after(game: Game) -> Iterator[Game]:
    """Every state that one decision leads to, once for each way to decide."""
    players = len(game.deal)
    ways: dict[str, Callable[[], Iterator[Callable[[Game], object]]]] = {
        TEAM: lambda: (lambda one, t=team: one.propose(t) for team in teams(players, game.size)),
        VOTE: lambda: (lambda one, v=votes: one.vote(v) for votes in ballots(players)),
        QUEST: lambda: (lambda one, c=cards: one.quest(c) for cards in hands(game.team, game.evil)),
        SHOT: lambda: (lambda one, t=target: one.shoot(t) for target in targets(players, game.assassin)),
    }
    for do in ways[game.phase]():
        following = game.copy()
        do(following)
        yield following


def walked(options: Options, deal: Deal, leader: int) -> tuple[Counter[str], dict[str, Fraction]]:
    """By ending, how many games there are and how probable it is, from every state of the engine."""

    def state(game: Game) -> tuple[object, ...]:
        return game.phase, game.leader, game.rejected, game.passed, game.failed, game.team * (game.phase != TEAM)

    known: dict[tuple[object, ...], tuple[Counter[str], dict[str, Fraction]]] = {}

    def value(game: Game) -> tuple[Counter[str], dict[str, Fraction]]:
        if game.ending is not None:
            return Counter({game.ending: 1}), {game.ending: Fraction(1)}
        key = state(game)
        if key not in known:
            ways: Counter[str] = Counter()
            chance: Counter[str] = Counter()
            # Many ways to vote lead to two states.
            following = Counter({})
            games = {}
            for one in after(game):
                at = (one.ending, *state(one))
                games[at] = one
                following[at] += 1
            for at, times in following.items():
                below, probable = value(games[at])
                for ending in below:
                    ways[ending] += times * below[ending]
                    chance[ending] += times * probable[ending]  # type: ignore[assignment]
            number = sum(following.values())
            known[key] = ways, {ending: Fraction(one) / number for ending, one in chance.items()}
        return known[key]

    return value(Game(options, deal, leader))


def reckoned(options: Options) -> tuple[Counter[str], dict[str, Fraction]]:
    """The same by counting and binomials: no state, no deal, no seat."""
    players, evil = len(options.roles), sum(role in EVIL_ROLES for role in options.roles)
    approving = sum(comb(players, votes) for votes in range(players + 1) if 2 * votes > players)
    everyone, decisive = 2**players, len(options.sizes) // 2 + 1

    def goes(size: int, left: int) -> tuple[int, int, Fraction]:
        """Ways to a team that goes, ways to a last one that is rejected, and how probable it is that one goes."""
        proposals = comb(players, size)
        if left == 1:
            if options.last_team == EVIL_WINS:
                against = proposals * (everyone - approving)
                return proposals * approving, against, Fraction(approving, everyone)
            return proposals * everyone, 0, Fraction(1)
        ways, lost, probable = goes(size, left - 1)
        rejected = proposals * (everyone - approving)
        share = Fraction(approving, everyone)
        return proposals * approving + rejected * ways, rejected * lost, share + (1 - share) * probable

    @cache
    def cards(size: int, needed: int) -> tuple[Fraction, Fraction, Fraction]:
        """A team that goes, on average over all: ways to pass and to fail, and how probable passing is."""
        teams_with = [comb(evil, k) * comb(players - evil, size - k) for k in range(size + 1)]
        every = comb(players, size)
        let = [sum(comb(k, fails) for fails in range(needed)) for k in range(size + 1)]
        ways = Fraction(sum(n * 2**k for k, n in enumerate(teams_with)), every)
        to_pass = Fraction(sum(n * let[k] for k, n in enumerate(teams_with)), every)
        passing = sum((Fraction(n * let[k], every) / 2**k for k, n in enumerate(teams_with)), Fraction(0))
        return to_pass, ways - to_pass, passing

    def on(passed: int, failed: int) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
        if failed == decisive:
            return {QUESTS_FAILED: Fraction(1)}, {QUESTS_FAILED: Fraction(1)}
        if passed == decisive:
            hit = Fraction(1, players - 1)
            return (
                {MERLIN_FOUND: Fraction(1), MERLIN_HIDDEN: Fraction(players - 2)},
                {MERLIN_FOUND: hit, MERLIN_HIDDEN: 1 - hit},
            )
        size = options.sizes[passed + failed]
        ways, lost, going = goes(size, options.proposals)
        to_pass, to_fail, passing = cards(size, 2 if passed + failed == 3 and players > 6 else 1)
        one, two = on(passed + 1, failed), on(passed, failed + 1)
        counted: Counter[str] = Counter()
        probable: Counter[str] = Counter()
        for (counts, chances), number, share in ((one, to_pass, passing), (two, to_fail, 1 - passing)):
            for ending in counts:
                counted[ending] += ways * number * counts[ending]  # type: ignore[assignment]
                probable[ending] += going * share * chances[ending]  # type: ignore[assignment]
        if lost:
            counted[REJECTIONS] += lost
            probable[REJECTIONS] += 1 - going  # type: ignore[assignment]
        return dict(counted), dict(probable)  # type: ignore[return-value]

    counted, probable = on(0, 0)
    assert all(Fraction(number).denominator == 1 for number in counted.values())
    return Counter({ending: int(number) for ending, number in counted.items()}), probable


def reduced(players: int) -> Deal:
    """The roles of a game of three or four."""
    return ("merlin", *["servant"] * (players - 2), ASSASSIN)
