"""The rules of Werewolf: which acts are legal and who wins, on numbers of seats (Stackelberg Speaker, appendix A.1).

How to use it::

    table = Table(Options(), ("seer", "werewolf", …))
    while seats := table.acting():
        table.do({seat: draws.choice(table.aims(seat)) for seat in seats}, draws)
    table.winner
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from random import Random
from typing import Literal, NamedTuple

from apportion.environments.deduction.werewolf.cast import (
    GUARDIAN,
    HUNTER,
    SEER,
    VILLAGE,
    WEREWOLF,
    WEREWOLVES,
    WOLVES,
    cast,
    check_roles,
)

PAPER = cast(7)
"""Appendix A.1's seven."""
PROPOSE, KILL, CHECK, GUARD, VOTE, SHOOT = ("propose", "kill", "check", "guard", "vote", "shoot")
"""Phases, each called as its act; in a night those whose player lives, in this order. A hunter who was killed or voted
out shoots, before anybody has won by that."""
KILLED, OUT, CHECKED, FELL, WON = "killed", "out", "checked", "fell", "won"
"""What comes of acts (`Result`)."""
PACK, ROLES = "pack", "roles"
"""What else is made known: to the werewolves who they are, and at the end the deal to all."""
NOBODY = 0


@dataclass(frozen=True)
class Options:
    """What sources of the rules differ in, or do not say.

    ``roles``: All that are dealt (`check_roles`); none: `cast`. ``tie``: Of several who have the most votes: one drawn
    by lot is out (A.1), or nobody (Figure 12). ``self_guard``: Whether the guardian may protect itself (A.1: it may).
    ``most_days``: Days after which the werewolves have won, undetected; ours, since nobody need ever be out by A.1.
    ``players``: How many play, in place of ``roles`` (7). Raises ValueError: Another number of players, roles that
    there are not, two seers, or no day.
    """

    roles: tuple[str, ...] = ()
    tie: Literal["lot", "nobody"] = "lot"
    self_guard: bool = True
    most_days: int = 20
    players: InitVar[int | None] = None

    def __post_init__(self, players: int | None) -> None:
        if self.most_days < 1:
            raise ValueError(f"most_days = {self.most_days}: one at least")
        if players not in (None, *WOLVES) or (self.roles and players not in (None, len(self.roles))):
            dealt = f", and {len(self.roles)} roles are dealt" if self.roles else ""
            raise ValueError(f"players = {players}: {min(WOLVES)} to {max(WOLVES)} play{dealt}")
        # What is not said is filled in, so that logs say it.
        object.__setattr__(self, "roles", self.roles or cast(players or 7))
        check_roles(self.roles)


class Result(NamedTuple):
    """What came of a step: `KILLED` or `OUT` with a seat or `NOBODY`, `WON` with a team, others with a seat.

    `FELL` is the hunter, who shoots next.

    ``more``: of `CHECKED` whether it is a werewolf, of `OUT` all who had the most votes.
    """

    kind: str
    what: int | str
    more: tuple[int, ...] | bool = ()


class Table:
    """One game: who lives, whose turn it is, and what is done.

    ``options``: By which rules. ``roles``: By seat, from seat 1.
    """

    __slots__ = (
        *("_night", "_voted", "alive", "day", "guarded", "hunter", "options", "phase", "proposal"),
        *("roles", "target", "winner", "wolves"),
    )  # fmt: skip

    phase: str
    _night: tuple[tuple[str, int], ...]

    def __init__(self, options: Options, roles: tuple[str, ...]) -> None:
        self.options, self.roles = options, roles
        self.alive = tuple(range(1, len(roles) + 1))
        self.wolves = tuple(seat for seat in self.alive if roles[seat - 1] == WEREWOLF)
        self.day = self.proposal = self.target = self.guarded = self.hunter = NOBODY
        self.winner, self._voted = "", False
        self._fall()

    @classmethod
    def at(
        cls,
        options: Options,
        roles: tuple[str, ...],
        alive: tuple[int, ...],
        day: int,
        turn: tuple[str, int],
        voted: bool,
    ) -> Table:
        """A game in its middle, at a phase and who acts (``turn``); what was done before in this night is left open."""
        table = cls(options, roles)
        table.alive, table.day = alive, day - 1
        table.wolves = tuple(seat for seat in alive if seat in table.wolves)
        table._fall()
        if turn in table._night:
            table._night = table._night[table._night.index(turn) :]
        table.phase, table._voted = turn[0], voted
        table.hunter = turn[1] if table.phase == SHOOT else NOBODY
        return table

    def copy(self) -> Table:
        """The same game, to be played on by itself."""
        copied = object.__new__(Table)
        for name in self.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def acting(self) -> tuple[int, ...]:
        """The seats that act now: all who live when they vote, one at night or to shoot, nobody at the end."""
        if self.winner:
            return ()
        if self.phase == SHOOT:
            return (self.hunter,)
        return self.alive if self.phase == VOTE else (self._night[0][1],)

    def aims(self, seat: int) -> tuple[int, ...]:
        """The seats at which one that acts may aim its act; a vote at `NOBODY` abstains."""
        if self.phase in (VOTE, SHOOT):
            return (NOBODY, *[one for one in self.alive if one != seat])
        if self.phase in (PROPOSE, KILL):
            return tuple([one for one in self.alive if one not in self.wolves])
        if self.phase == GUARD and self.options.self_guard:
            return self.alive
        return tuple([one for one in self.alive if one != seat])

    def default(self) -> int:
        """What somebody who does nothing is taken to do: abstains, confirms what is proposed, or acts on nobody."""
        return self.proposal if self.phase in (PROPOSE, KILL) else NOBODY

    def do(self, acts: Mapping[int, int], draws: Random) -> list[Result]:
        """Do what every seat that acts does, by seat at whom; ``draws`` is asked for the lot alone."""
        if self.phase == VOTE:
            return self._vote(acts, draws)
        (aim,) = acts.values()
        results = []
        if self.phase == PROPOSE:
            self.proposal = aim
        elif self.phase == KILL:
            self.target = aim
        elif self.phase == GUARD:
            self.guarded = aim
        elif self.phase == SHOOT:
            return self._went_on(aim)
        elif aim:
            results.append(Result(CHECKED, aim, self.roles[aim - 1] == WEREWOLF))
        self._night = self._night[1:]
        if self._night:
            self.phase = self._night[0][0]
            return results
        return results + self._dawn()

    def _fall(self) -> None:
        """A night begins: the werewolves act, then the seer, then the guardian."""
        self.day += 1
        self.proposal = self.target = self.guarded = NOBODY
        # The last decides, after all others have proposed.
        night = [*[(PROPOSE, seat) for seat in self.wolves[:-1]], (KILL, self.wolves[-1])]
        night += [(CHECK, seat) for seat in self.alive if self.roles[seat - 1] == SEER]
        night += [(GUARD, seat) for seat in self.alive if self.roles[seat - 1] == GUARDIAN]
        self._night = tuple(night)
        self.phase = self._night[0][0]

    def _dawn(self) -> list[Result]:
        killed = self.target if self.target != self.guarded else NOBODY
        self.phase, self._voted = VOTE, False
        return [Result(KILLED, killed), *self._died(killed)]

    def _vote(self, acts: Mapping[int, int], draws: Random) -> list[Result]:
        votes = Counter(aim for aim in acts.values() if aim)
        most = max(votes.values(), default=0)
        first = tuple(sorted(seat for seat, times in votes.items() if times == most))
        out = first[0] if len(first) == 1 else NOBODY
        if len(first) > 1 and self.options.tie == "lot":
            out = draws.choice(first)
        self._voted = True
        return [Result(OUT, out, first), *self._died(out)]

    def _died(self, seat: int) -> list[Result]:
        if seat and self.roles[seat - 1] == HUNTER:
            self._remove(seat)
            self.hunter, self.phase = seat, SHOOT
            return [Result(FELL, seat)]
        return self._went_on(seat)

    def _went_on(self, removed: int) -> list[Result]:
        self._remove(removed)
        results = self._won(self._voted and self.day >= self.options.most_days)
        if not self.winner:
            self.phase = VOTE
            if self._voted:
                self._fall()
        return results

    def _remove(self, seat: int) -> None:
        self.alive = tuple([one for one in self.alive if one != seat])
        self.wolves = tuple([one for one in self.wolves if one != seat])

    def _won(self, last: bool = False) -> list[Result]:
        wolves = len(self.wolves)
        if not wolves:
            self.winner = VILLAGE
        elif 2 * wolves >= len(self.alive) or last:
            self.winner = WEREWOLVES
        return [Result(WON, self.winner)] if self.winner else []
