"""The rules of a negotiation alone, acts as numbers: no names, no words, no log (section 3 of the paper).

**What is legal when.** Two seats act by turns; who starts is drawn by whoever begins the game. A *proposal* is
``propose(o)`` or ``insist(o)``; o is what its SPEAKER keeps, 0 to the count of each item, and what is left is the
other's. The last proposal *stands* until another takes its place, whatever is said of it in between. It is *settled*
from the ``agree`` that follows until the next proposal or ``disagree``.

====================  ===============================================================================================
``propose``           always
``insist``            always but as the first act; with its own split, which may be any, the speaker's last or not
``agree``             when the standing proposal is the other's, or is the speaker's own and settled (a confirmation)
``disagree``          always but as the first act
``end``               always but as the first act, so that every game has a proposal; nothing follows it
====================  ===============================================================================================

So the first act is a ``propose``; only whose own proposal the other has just refused cannot ``agree``. After ``end``,
or after the 20th act (``end`` counts as one), both take items without seeing what the other takes: any split of the
pool. Both have the points of what they take where the two add up to the pool, else 0 each: no act binds anybody, and
`Game.meant` says what was agreed on. There is no selection of its own for "no deal": what does not add up is none.

**Where the paper slips.** It lets o run from 1 to 4 of each item (section 3); its own games keep 0 (Figures 13 to 16),
and nobody can keep more than there are. Figure 14's middle game opens with ``insist``; the first act of ours is the
``propose`` of the same split. Figure 13's first game has ``agree`` after ``agree``: the confirmation above. Figure 16's
last ends right after an ``insist`` with two selections that do not add up, which is why ``end`` is legal there.
"""

from __future__ import annotations

from functools import lru_cache

from apportion.environments.negotiation.action_encoding import (
    ACTS,
    AGREE,
    DISAGREE,
    END,
    INSIST,
    KINDS,
    SPLIT_OF,
    SPLITS,
    act_of,
    rest,
    splits_of,
)
from apportion.environments.negotiation.contexts import SEATS, Context, Counts
from apportion.foundation.errors import InputError, UnitError

MOST_ACTS = 20
"""After which both take their items (section 3 has T; the published code 20)."""
OPENING, REFUSED, ANSWERABLE = range(3)
"""What may be done: a proposal has to be made; one's own has just been refused; everything."""

_KINDS_AT = (KINDS[:1], tuple(kind for kind in KINDS if kind != "agree"), KINDS)


class RuleError(UnitError):
    """An act or a selection that the rules do not allow here."""


@lru_cache(maxsize=256)
def legal_acts(counts: Counts) -> tuple[tuple[int, ...], ...]:
    """By `OPENING`, `REFUSED` and `ANSWERABLE`, the acts that a pool allows, in the order of their numbers."""
    proposals = splits_of(counts)
    insists = tuple(INSIST + split for split in proposals)
    return proposals, (*proposals, *insists, DISAGREE, END), (*proposals, *insists, AGREE, DISAGREE, END)


@lru_cache(maxsize=256)
def _allowed(counts: Counts) -> tuple[bytes, ...]:
    """`legal_acts` as tables of 0 and 1 by act."""
    return tuple(bytes(code in legal for code in range(ACTS)) for legal in map(frozenset, legal_acts(counts)))


class Game:
    """One negotiation; `seat` is whose turn it is, until it is `over` and both select.

    ``context``: The pool and both seats' values; is not checked here (`Context.check`). ``starter``: The seat that acts
    first, 0 or 1. ``most_acts``: After which both select, 1 at least. Raises InputError: A starter that there is not,
    or no act at all.

    >>> game = Game(Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))), starter=1)
    >>> for act in (35, 126, AGREE, END):   # Bob keeps (1, 2, 0); Alice insists on (0, 0, 1); Bob agrees; Alice ends
    ...     game.do(act)
    >>> for seat in (0, 1):
    ...     game.select(seat, game.meant(seat))
    >>> game.points
    (4, 9)
    """

    __slots__ = (
        *("_allowed", "acts", "by", "context", "most_acts", "over", "phase", "seat", "settled", "standing", "taken"),
    )

    def __init__(self, context: Context, starter: int, most_acts: int = MOST_ACTS) -> None:
        if starter not in range(SEATS) or most_acts < 1:
            raise InputError(f"starter = {starter}, most_acts = {most_acts}: seat 0 or 1, and one act at least")
        self.context, self.seat, self.most_acts = context, starter, most_acts
        self.acts: list[int] = []
        self.standing, self.by, self.settled = -1, -1, False
        self.phase, self.over = OPENING, False
        self.taken = [-1, -1]
        self._allowed = _allowed(context.counts)

    def legal(self) -> tuple[int, ...]:
        """The acts that the seat may do now; none when it is over."""
        return () if self.over else legal_acts(self.context.counts)[self.phase]

    def kinds(self) -> tuple[str, ...]:
        """Their kinds."""
        return () if self.over else _KINDS_AT[self.phase]

    def allows(self, act: int) -> bool:
        """Whether the seat may do an act now."""
        return not self.over and 0 <= act < ACTS and self._allowed[self.phase][act] == 1

    def do(self, act: int) -> None:
        """Do an act of the seat.

        Raises RuleError: It is not allowed; the text says why. Raises CodeError: There is no such act.
        """
        if self.over or not 0 <= act < ACTS or not self._allowed[self.phase][act]:
            raise RuleError(self._why_not(act))
        self.acts.append(act)
        seat = self.seat
        self.seat = 1 - seat
        if act < AGREE:
            self.standing, self.by, self.settled, self.phase = act % SPLITS, seat, False, ANSWERABLE
        elif act == AGREE:
            self.settled, self.phase = True, ANSWERABLE
        elif act == DISAGREE:
            self.settled = False
            self.phase = ANSWERABLE if self.by == seat else REFUSED
        else:
            self.over = True
        if len(self.acts) >= self.most_acts:
            self.over = True

    def problem(self, act: int) -> str | None:
        """Why an act is not allowed now, in words; None: it is."""
        return None if self.allows(act) else self._why_not(act)

    def _why_not(self, act: int) -> str:
        if self.over:
            return f"act {len(self.acts)}: it is over; both seats select what they take"
        kind, kept = act_of(act)
        if kind not in self.kinds():
            why = "nothing is proposed yet" if self.phase == OPENING else "the other has refused the standing proposal"
            return f"act {len(self.acts)}: seat {self.seat} may not {kind}: {why}; allowed: {', '.join(self.kinds())}"
        return (
            f"act {len(self.acts)}: seat {self.seat} keeps {kept} of {self.context.counts}; no item more than there is"
        )

    def _where(self) -> str:
        return f"act {len(self.acts)}: seat {self.seat}"

    def can_take(self, split: int) -> bool:
        """Whether a split is one of the pool, which a seat may take at the end."""
        return 0 <= split < SPLITS and self._allowed[OPENING][split] == 1

    def meant(self, seat: int) -> int | None:
        """What a seat takes by the words of a game that is over: its part of what was agreed on; None: nothing was.

        That is the standing proposal where it is settled, or where the other seat has ended right after it.
        """
        ended_on_it = len(self.acts) > 1 and self.acts[-1] == END and self.acts[-2] < AGREE
        if not self.settled and not ended_on_it:
            return None
        return self.standing if seat == self.by else rest(self.context.counts, self.standing)

    def select(self, seat: int, split: int) -> None:
        """A seat takes a split, by its number.

        Raises RuleError: Before the end, twice, or off the pool.
        """
        if not self.over:
            raise RuleError(f"seat {seat} selects after {len(self.acts)} acts; it is not over yet")
        if self.taken[seat] >= 0:
            raise RuleError(f"seat {seat} selects twice")
        if not self.can_take(split):
            kept = SPLIT_OF[split] if 0 <= split < SPLITS else split
            raise RuleError(f"seat {seat} takes {kept} of {self.context.counts}; no item more than there is")
        self.taken[seat] = split

    @property
    def done(self) -> bool:
        """Whether both have selected."""
        return self.over and min(self.taken) >= 0

    @property
    def agreed(self) -> bool:
        """Whether the two selections add up to the pool."""
        return self.done and rest(self.context.counts, self.taken[0]) == self.taken[1]

    @property
    def points(self) -> tuple[int, int]:
        """Of seat 0 and seat 1; nothing before both have selected, and nothing when that does not add up."""
        if not self.agreed:
            return 0, 0
        return self.context.worth(0, SPLIT_OF[self.taken[0]]), self.context.worth(1, SPLIT_OF[self.taken[1]])

    def copy(self) -> Game:
        """A game that goes on from here by itself."""
        copied = object.__new__(Game)
        for name in Game.__slots__:
            setattr(copied, name, getattr(self, name))
        copied.acts, copied.taken = self.acts.copy(), self.taken.copy()
        return copied
