"""The rules of Avalon: which acts are legal and who wins, on seats from 0 (Appendix A.2): no names, no words, no log.

A leader proposes a team; all vote for or against it at once. An approved team goes on the quest, and each of its
members plays a card unseen: good ones can only let it pass, evil ones may fail it. Three passed quests: the Assassin
names the one player who may be Merlin, once. Good wins if that is not Merlin.

==================  ======================================  =======================================================
                    here                                    sources that say it, and another
==================  ======================================  =======================================================
players, roles      5: Merlin, 2 Servants, Minion,          A.2 and Figure 13; AvalonBench deals the same to five
                    Assassin; 6 to 10 by `cast`             the tabletop game
sizes of the teams  2, 3, 2, 3, 3; of others by `cast`      the tabletop game and AvalonBench. A.2 says none; in
                                                            Figure 13 three go on the third quest: a slip
who leads first     drawn with the deal                     the tabletop game; A.2 does not say
the leader          moves on after every proposal,          A.2 ("rotates sequentially") and AvalonBench. In
                    approved or not                         Figure 13, Player 2 leads two quests running: a slip
approved            by more than half of all votes          the tabletop game and AvalonBench; A.2 says majority
the fifth team      goes, however it is voted on            A.2 and AvalonBench. `EVIL_WINS`: the tabletop game,
                                                            where evil wins when it is rejected
who may fail        evil alone                              the tabletop game; A.2 leaves it open, and
                                                            AvalonBench's engine takes any card
a quest fails       by one card; the fourth from seven      A.2 ("if any player votes to fail"); the tabletop game
                    players on by two
the last shot       one, at anybody but oneself             A.2 and the tabletop game; AvalonBench lets the
                                                            Assassin name himself, which loses as well
==================  ======================================  =======================================================

A.2 says that evil players know each other's "roles but not specific roles": here they know who is evil (`cast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, fields
from functools import cached_property, lru_cache

from apportion.environments.deduction.avalon import cast
from apportion.environments.deduction.avalon.cast import ASSASSIN, EVIL_ROLES, MERLIN, MINION, NAMES, SERVANT, Deal
from apportion.foundation.errors import InputError, UnitError

GOOD, EVIL = "good", "evil"
TEAM, VOTE, QUEST, SHOT, OVER = "team", "vote", "quest", "shot", "over"
"""What is decided next: who goes, whether they go, how the quest ends, who is named as Merlin; nothing."""
GOES, EVIL_WINS = "goes", "evil-wins"
QUESTS_FAILED, REJECTIONS, MERLIN_FOUND, MERLIN_HIDDEN = "quests failed", "rejections", "merlin found", "merlin hidden"
"""How it ended; good wins by the last alone."""
FEWEST, MOST = 3, max(cast.EVIL)
"""Players: five (A.2) or more, or fewer in games that are small enough to be enumerated whole."""
MOST_PROPOSALS = 5


class RuleError(UnitError):
    """Something that the rules do not allow here."""


@dataclass(frozen=True)
class Options:
    """What is played. The module's table says where each choice comes from.

    ``roles``: All that are dealt, 3 to 10: one Merlin and one Assassin, of the others but Servants and Minions one at
    most, fewer evil than good, from six on as many as `cast.EVIL` says; none: `cast.cast`. ``sizes``: Members of the
    team of each quest, in order; 1, 3 or 5 quests, none: `cast.team_sizes`. More than half of them decide the game.
    ``last_team``: What the last proposal of a quest is: `GOES`, however it is voted on, or `EVIL_WINS` when it is
    rejected. ``proposals``: Of teams for one quest at most; 1 to 5. ``players``: How many play, in place of ``roles``
    (5). Raises InputError: No such game: too many players, two Merlins, as many evil as good, a team of more than there
    are.
    """

    roles: Deal = ()
    sizes: tuple[int, ...] = ()
    last_team: str = GOES
    proposals: int = 5
    players: InitVar[int | None] = None

    def __post_init__(self, players: int | None) -> None:
        if players not in (None, *cast.EVIL) or (self.roles and players not in (None, len(self.roles))):
            dealt = f", and {len(self.roles)} roles are dealt" if self.roles else ""
            raise InputError(f"avalon: players = {players}; {min(cast.EVIL)} to {MOST} play{dealt}")
        # What is not said is filled in, so that logs say it.
        object.__setattr__(self, "roles", self.roles or cast.cast(players or 5))
        object.__setattr__(self, "sizes", self.sizes or cast.team_sizes(len(self.roles)))
        problem = self._problem()
        if problem:
            said = ", ".join(f"{one.name} = {getattr(self, one.name)!r}" for one in fields(self))
            raise InputError(f"avalon: {problem} ({said})")

    def _problem(self) -> str | None:
        players, evil = len(self.roles), sum(role in EVIL_ROLES for role in self.roles)
        unknown, twice = set(self.roles) - set(NAMES), {one for one in self.roles if self.roles.count(one) > 1}
        if not FEWEST <= players <= MOST:
            return (
                f"{players} players; {min(cast.EVIL)} to {MOST} play, {FEWEST} or {min(cast.EVIL) - 1} a reduced game"
            )
        if unknown:
            return f"no role {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}"
        if not {MERLIN, ASSASSIN} <= set(self.roles) or not twice <= {SERVANT, MINION}:
            return f"one Merlin and one Assassin are dealt, and of all but {SERVANT} and {MINION} one at most"
        if 2 * evil >= players or (players > min(cast.EVIL) and evil != cast.EVIL[players]):
            table = ", ".join(f"{count} of {of}" for of, count in cast.EVIL.items())
            return f"{evil} evil of {players}; good players outnumber evil ones, and evil are {table} players"
        if len(self.sizes) not in (1, 3, 5) or not all(1 <= size <= players for size in self.sizes):
            return "1, 3 or 5 quests are needed, each for a team of one to all players"
        if self.last_team not in (GOES, EVIL_WINS):
            return f"the last team {self.last_team!r}; {GOES!r} or {EVIL_WINS!r}"
        return None if 1 <= self.proposals <= MOST_PROPOSALS else f"one to {MOST_PROPOSALS} proposals a quest"

    @cached_property
    def decisive(self) -> int:
        """Quests by which a side has won them."""
        return len(self.sizes) // 2 + 1

    def fails(self, quest: int) -> int:
        """Cards by which a quest, from 0, fails."""
        return 1 + (quest == 3 and len(self.roles) >= cast.TWO_FAILS_FROM)


TABLETOP = Options(last_team=EVIL_WINS)
"""As the tabletop game has it."""


@lru_cache(maxsize=1024)
def evil_seats(deal: Deal) -> frozenset[int]:
    """The seats of the evil players."""
    return frozenset(seat for seat, role in enumerate(deal) if role in EVIL_ROLES)


class Game:
    """One game; `phase` says what is decided next, and the method of that name decides it.

    ``options``: What is played. ``deal``: The roles by seat, an order of ``options.roles``; is not checked
    here. ``leader``: The seat that proposes first. ``rejected``: Teams of this quest that were rejected so far.
    ``passed``, ``failed``: Quests. ``winner``, ``ending``: The team that has won, and how; None until it is over.

    >>> game = Game(Options(), ("merlin", "servant", "minion", "assassin", "servant"), leader=0)
    >>> game.propose((0, 1))
    >>> game.vote((True, True, True, False, True))   # Figure 13's first quest
    True
    >>> game.quest((True, True))
    0
    >>> game.phase, game.leader, game.passed
    ('team', 1, 1)
    """

    __slots__ = (
        *("deal", "ending", "evil", "failed", "leader", "options", "passed", "phase", "rejected", "team", "winner"),
    )

    def __init__(self, options: Options, deal: Deal, leader: int) -> None:
        self.options, self.deal, self.evil, self.leader = options, deal, evil_seats(deal), leader
        self.phase, self.rejected, self.passed, self.failed = TEAM, 0, 0, 0
        self.team: tuple[int, ...] = ()
        self.winner: str | None = None
        self.ending: str | None = None

    @property
    def number(self) -> int:
        """The quest that is played, from 0."""
        return self.passed + self.failed

    @property
    def size(self) -> int:
        """Members of the team of this quest."""
        return self.options.sizes[self.passed + self.failed]

    @property
    def last(self) -> bool:
        """Whether no other team can be proposed for this quest."""
        return self.rejected + 1 >= self.options.proposals

    def acting(self) -> tuple[int, ...]:
        """Who decides now, in the order of the seats; several do it at once."""
        if self.phase == TEAM:
            return (self.leader,)
        if self.phase == VOTE:
            return tuple(range(len(self.deal)))
        if self.phase == QUEST:
            return self.team
        return (self.assassin,) if self.phase == SHOT else ()

    @property
    def assassin(self) -> int:
        """The seat that shoots."""
        return self.deal.index(ASSASSIN)

    def check_team(self, team: Sequence[int]) -> None:
        """Raise RuleError where a team is none of this quest: another size, a seat twice or not there."""
        if len(team) != self.size or len(set(team)) != len(team) or not all(0 <= one < len(self.deal) for one in team):
            raise RuleError(
                f"{list(team)} is no team of quest {self.number + 1}: {self.size} seats of {len(self.deal)}, each once"
            )

    def check_card(self, seat: int, passes: bool) -> None:
        """Raise RuleError where a good player fails a quest, or one who is not on it plays a card."""
        if seat not in self.team:
            raise RuleError(f"seat {seat} is not on the quest")
        if not passes and seat not in self.evil:
            raise RuleError(f"seat {seat} is good, and good players cannot fail a quest")

    def check_target(self, target: int) -> None:
        """Raise RuleError where the Assassin names himself, or nobody who plays."""
        if target == self.assassin or not 0 <= target < len(self.deal):
            raise RuleError(f"seat {target} cannot be named as Merlin: any of the {len(self.deal)} but the Assassin's")

    def propose(self, team: Sequence[int]) -> None:
        """The leader proposes who goes.

        Raises RuleError as `check_team`; or it is not the time, as in the other methods.
        """
        self._check_phase(TEAM)
        self.check_team(team)
        self.team = tuple(sorted(team))
        self.phase = VOTE

    def vote(self, approvals: Sequence[bool]) -> bool:
        """All vote, an approval or not by seat; whether the team goes.

        Raises RuleError: it is not one vote of everybody.
        """
        self._check_phase(VOTE)
        players = len(self.deal)
        if len(approvals) != players:
            raise RuleError(f"{len(approvals)} votes; all {players} vote")
        if 2 * sum(approvals) > players or (self.last and self.options.last_team == GOES):
            self.phase, self.rejected = QUEST, 0
        elif self.last:
            self._end(EVIL, REJECTIONS)
        else:
            self.phase, self.rejected = TEAM, self.rejected + 1
        self.leader = (self.leader + 1) % players
        return self.phase == QUEST

    def quest(self, passes: Sequence[bool]) -> int:
        """The members' cards, in the order of their seats; how many fail it.

        Raises RuleError as `check_card`, or it is not one card of every member.
        """
        self._check_phase(QUEST)
        if len(passes) != len(self.team):
            raise RuleError(f"{len(passes)} cards; each of the team's {len(self.team)} plays one")
        fails = 0
        for seat, one in zip(self.team, passes, strict=True):
            if not one:
                self.check_card(seat, one)
                fails += 1
        self.phase = TEAM
        if fails >= self.options.fails(self.number):
            self.failed += 1
            if self.failed == self.options.decisive:
                self._end(EVIL, QUESTS_FAILED)
        else:
            self.passed += 1
            if self.passed == self.options.decisive:
                self.phase = SHOT
        return fails

    def shoot(self, target: int) -> bool:
        """The Assassin names one player as Merlin; whether it is. Raises RuleError as `check_target`."""
        self._check_phase(SHOT)
        self.check_target(target)
        hit = self.deal[target] == MERLIN
        self._end(*((EVIL, MERLIN_FOUND) if hit else (GOOD, MERLIN_HIDDEN)))
        return hit

    def copy(self) -> Game:
        """The same, which goes on by itself."""
        copied = Game.__new__(Game)
        for name in Game.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def _check_phase(self, phase: str) -> None:
        if self.phase != phase:
            raise RuleError(f"not the time for a {phase}: {self.phase}")

    def _end(self, winner: str, ending: str) -> None:
        self.phase, self.winner, self.ending = OVER, winner, ending
