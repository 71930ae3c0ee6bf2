"""The environment of every game of hidden roles with rounds of discussion (Stackelberg Speaker, appendix A).

Players speak in an order that the rules fix, and act: at once (votes) or alone, for all to see or in secret. An act's
``data`` is its aim: the number of a seat from 1, 0 for nobody, or a list of numbers. Words count for nothing: the
rules never read them, and of acts other than speech they are dropped. ``none`` is the silent act of every phase; it
stands for a default act that the rules name, and every one of them is counted. So does a speech without a word; what is
longer than `MOST_WORDS` is cut there, and counted.

In a corpus the utterances are the speeches and the public acts (in brackets) of the players, and what the rules make
known to all, said by `MODERATOR`, who sits in no seat and has no rating. Acts that are secret are no utterances. What
a player alone knows, its role and what came of its nights, stands in the private background of the kind ``role``, with
the night in which it was learned: whoever trains on it has to mind that later nights lie behind earlier turns.

A game is a subclass that has:

- ``kind``, ``teams`` (role to team), ``meanings`` (kind of act to what it does, in words),
- ``_dealt(draws)``, a deal; ``_open()``, its rules from ``self.deal``; ``_copied()``, what a clone has of its own,
- ``_stage()``, ``_acting()``, ``_alive()``, ``_choices(seat)``, ``_default(seat)``, ``_speakers()``,
- ``_public()`` or ``_witnesses(seat)``: who knows an act of this phase; ``words(kind, aim)``: it, as something done,
- ``_do(acts)``, which tells by `tell` what came of it; ``_won(seat)``; ``most_acts(seat)``,
- ``rules_in_words()``, ``role_in_words(seat)``, and ``fits(facts)``, the deals that a player's facts allow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any, ClassVar

from apportion.environments.actions import SILENT
from apportion.environments.deduction.events import (
    MODERATOR,
    SPEAK,
    Aim,
    Deal,
    Event,
    Stage,
    aim_of,
    called,
    done,
    first_seen,
    is_one_of,
    numbers_in,
    utterance,
)
from apportion.environments.deduction.observation import PrivateInformation, in_text, possible
from apportion.environments.environment import Action, AgentAction, Environment, InvalidActionError, Step
from apportion.foundation.errors import InputError

MOST_WORDS = 5_000
"""Characters of a speech; what is longer is cut."""
WIN = "win"


class Deduction(Environment):
    """One game; the seats are called Player 1 to Player n.

    ``players``: Seats. ``rules``: The game's options, a frozen dataclass. ``deal``: Who has which role; None: drawn
    when the game begins. Raises InputError: Another number of roles than the game has.
    """

    teams: ClassVar[Mapping[str, str]]
    meanings: Mapping[str, str]

    def __init__(self, players: int, rules: Any, deal: Deal | None = None) -> None:
        self.rules, self._given = rules, deal
        self._rules_told = self.rules_in_words()
        self._seats = {called(seat): seat for seat in range(1, players + 1)}
        super().__init__(self._seats)

    def acting(self) -> tuple[str, ...]:
        """The next speaker of a discussion, or whoever acts in this phase."""
        return self._now

    @property
    def kinds(self) -> tuple[str, ...]:
        """Speech, the acts of all phases, and the silent one."""
        return (SPEAK, *self.meanings, SILENT)

    def legal(self, agent: str) -> tuple[str, ...]:
        """The kinds of acts of this phase, and the silent one."""
        return (*self.choices(self._seats[agent]), SILENT) if agent in self._now else ()

    def choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        """By kind of act what a seat may aim it at now; nothing when it is not its turn."""
        if called(seat) not in self._now:
            return {}
        return {SPEAK: ()} if self._queue else self._choices(seat)

    def default(self, seat: int) -> tuple[str, Aim] | None:
        """The act for which the silent one stands; None: nothing is done, as in a discussion."""
        return None if self._queue or called(seat) not in self._now else self._default(seat)

    def observe(self, agent: str) -> str:
        """The rules, the player's role, what happened and it may know, and what it may do."""
        return in_text(self.facts(agent), self.meanings, self.words)

    def cue(self, agent: str) -> str:
        """What it learned in secret since it acted last, and what it may do where that is not to speak."""
        facts = self.facts(agent)
        own = [number for number, event in enumerate(facts.events) if event.seat == facts.seat]
        since = facts.events[own[-1] + 1 :] if own else ()
        told = [f"{event.stage}: {done(event, facts.seat)}." for event in since if event.to is not None]
        may = [] if SPEAK in facts.choices else possible(facts, self.meanings, self.words)
        told += [f"({facts.stage}. You may: {'; '.join(may)}.)"] if may else []
        return " ".join(told)

    def facts(self, agent: str) -> PrivateInformation:
        """The same as data."""
        seat = self._seats[agent]
        role = self.role_of(seat)
        return PrivateInformation(
            seat, role, self.teams[role], self._stage(), self._alive(), self.known(seat), self.choices(seat),
            self.default(seat), self.rules, (self._rules_told, self.role_in_words(seat)), self.fits,
        )  # fmt: skip

    def role_of(self, seat: int) -> str:
        """The role that a seat knows itself to have."""
        return self.deal[seat - 1]

    def role(self, agent: str) -> str:
        """The role as it was dealt."""
        return self.deal[self._seats[agent] - 1]

    def team_at_end(self, seat: int) -> str:
        """The team by whose end a seat wins or loses: that of its role as it was dealt, where no roles move."""
        return self.teams[self.deal[seat - 1]]

    def moment(self, agent: str) -> int:
        """How much of what happened the player knows of: the number of steps would tell who acts at night."""
        return len(self.known(self._seats[agent]))

    def known(self, seat: int) -> tuple[Event, ...]:
        """What happened and a seat may know, without the numbers of the steps; only new events are looked at."""
        looked_at, known = self._known.get(seat, (0, ()))
        if looked_at < len(self.events):
            known += tuple(Event(*event[:-1]) for event in self.events[looked_at:] if event.known_to(seat))
            self._known[seat] = (len(self.events), known)
        return known

    def follower(self, step: int) -> str | None:
        """Who speaks right after the speaker of a step, in the same round; None: the speaker is its last, or nobody's.

        ``step`` may be the one that is about to be done.
        """
        if step == len(self.steps):
            return called(self._queue[1]) if len(self._queue) > 1 else None
        return self._followers.get(step)

    def outcome(self) -> dict[str, dict[str, float | None]]:
        """By player whether its team has won; None before the end."""
        ended = self.over
        return {name: {WIN: float(self._won(seat)) if ended else None} for name, seat in self._seats.items()}

    def scales(self) -> dict[str, tuple[float, float]]:
        """Lost or won."""
        return {WIN: (0.0, 1.0)}

    def said(self, move: AgentAction) -> str | None:
        """The utterance that a move would be now: a speech, or a public act in brackets."""
        if move.act.kind not in self.legal(
            move.agent
        ):  # Of a history whose acts no longer fit: it is told by its kind.
            return move.act.text if move.act.kind == SPEAK else None
        if not self._queue and not self._public():
            return None
        return utterance(self._event(self._seats[move.agent], move.act)[0])

    def turns(self, steps: Iterable[Step]) -> list[tuple[int, str, str]]:
        """As `Environment.turns`, with what `MODERATOR` says among them."""
        steps = self.steps if steps is self.steps else list(steps)
        game = self if steps == self.steps[: len(steps)] else self._played(steps)
        return [
            (event.step, called(event.seat) if event.seat else MODERATOR, utterance(event))
            for number, event in enumerate(game.events)
            if event.to is None and (event.step < len(steps) or number < game._opened)
        ]

    def instead(self, moves: Step) -> Step:
        """Silence: in a round everybody has a turn of their own."""
        return tuple(AgentAction(move.agent, Action(SILENT)) for move in moves)

    def meant(self, agent: str, text: str) -> Action:
        """In a discussion what is said; else the act as `said` tells it, or the kind that is named, at its numbers."""
        choices = self.choices(self._seats[agent])
        if SPEAK in choices:
            return Action(SPEAK, text)
        for kind, aims in choices.items():
            for aim in aims or (None,):
                if text == f"[{self.words(kind, aim)}]":  # As `said` has it.
                    return Action(kind, "", list(aim) if isinstance(aim, tuple) else aim)
        named = [kind for kind in choices if kind in text.casefold()]
        if not named and "nobody" not in text.casefold() and not any(map(str.isdigit, text)):
            return Action("", text)  # Words that neither name an act nor a player are none.
        named = named or list(choices)
        return self.in_words(agent, named[0], text) if len(named) == 1 else Action(SILENT)

    def in_words(self, agent: str, kind: str, text: str) -> Action:
        """An act whose aim are the numbers in its words; none of them is one of its choices: nobody, where it may be.

        That an agent acts by words alone is its caller's way to act; the rules read nothing of what is said.
        """
        aims = self.choices(self._seats[agent]).get(kind, ())
        return Action(kind, text if kind == SPEAK else "", numbers_in(text, aims) if aims else None)

    def examples(self, agent: str) -> dict[str, list[str]]:
        """The aims of this phase; an act that is aimed at nobody, and silence, have no words."""
        aims = self.choices(self._seats[agent])
        named = {kind: [_words_of(aim) for aim in allowed] or [""] for kind, allowed in aims.items() if kind != SPEAK}
        return {SPEAK: ["Hello."], SILENT: [""]} | named

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """The rules for all; for each player alone its role, and what it came to know in secret, with when."""
        rows: list[tuple[str | None, str, str]] = [(None, "rules", self._rules_told)]
        for name, seat in self._seats.items():
            secret = [event for event in self.events if event.to is not None and event.known_to(seat)]
            told = [f"{event.stage}: {done(event, seat)}" for event in secret]
            rows.append((name, "role", " ".join([self.role_in_words(seat), *told])))
        return rows

    def counted(self) -> dict[str, int]:
        """Default acts by phase, and speeches that were cut."""
        return dict(self._counted)

    def tell(
        self,
        kind: str,
        text: str,
        data: Any = None,
        to: tuple[int, ...] | None = None,
        stage: Stage | None = None,
    ) -> None:
        """Make something known, to all or to some seats, at a stage (None: the present one); for `_do` and `_open`."""
        self.events.append(Event(stage or self._stage(), kind, 0, text, data, to, len(self.steps)))

    def _begin(self) -> None:
        drawn = self._dealt(self.chance.draws)
        self.deal = drawn if self._given is None else self._given
        if len(self.deal) != len(drawn):
            raise InputError(f"{self.kind}: a deal of {len(self.deal)} roles; {len(drawn)} are dealt")
        self.events: list[Event] = []
        self._known: dict[int, tuple[int, tuple[Event, ...]]] = {}
        self._counted: Counter[str] = Counter()
        self._followers: dict[int, str | None] = {}
        self._queue: tuple[int, ...] = ()
        self._open()
        self._opened = len(self.events)
        self._queue = self._speakers()
        self._look()

    def _own(self) -> None:
        self.events = self.events.copy()
        self._known = self._known.copy()
        self._counted = self._counted.copy()
        self._followers = self._followers.copy()
        self._copied()

    def _check(self, agent: str, act: Action) -> None:
        if act.kind == SILENT or self._queue:
            return
        aims = self.choices(self._seats[agent])[act.kind]
        if is_one_of(aim_of(act.data), aims):
            return
        listed = ", ".join(str(list(one) if isinstance(one, tuple) else one) for one in islice(aims, 30))
        allowed = f"allowed: {listed}" if aims else "it is aimed at nobody"
        raise InvalidActionError(f"{agent!r} may not {act.kind} {act.data!r:.60}: {allowed}")

    def _apply(self, moves: Step) -> None:
        acts: dict[int, tuple[str, Aim]] = {}
        for move in moves:
            seat = self._seats[move.agent]
            event, aim = self._event(seat, move.act)
            self._count(event, move.act)
            self.events.append(event)
            acts[seat] = (event.kind, aim)
        if self._queue:
            self._followers[len(self.steps)] = called(self._queue[1]) if len(self._queue) > 1 else None
            self._queue = self._queue[1:]
        else:
            self._do(acts)
            if self._acting():
                self._queue = self._speakers()
        self._look()

    def _look(self) -> None:
        self._now = tuple(map(called, self._queue[:1] or self._acting()))

    def _event(self, seat: int, act: Action) -> tuple[Event, Aim]:
        """What an act is for those who know of it, and its aim; default acts have taken the silent one's place."""
        stage, step = self._stage(), len(self.steps)
        if self._queue:
            words = act.text.strip()[:MOST_WORDS].rstrip() if act.kind == SPEAK else ""
            kind, text = (SPEAK, words) if first_seen(words) else (SILENT, "said nothing")
            return Event(stage, kind, seat, text, None, None, step), None
        default = self._default(seat)
        kind, aim = (act.kind, aim_of(act.data)) if act.kind != SILENT else default or (SILENT, None)
        to = None if self._public() else self._witnesses(seat)
        return Event(stage, kind, seat, self.words(kind, aim), aim, to, step), aim

    def _count(self, event: Event, act: Action) -> None:
        if event.kind == SPEAK and len(act.text.strip()) > MOST_WORDS:
            self._counted[f"a speech of more than {MOST_WORDS:,} characters was cut"] += 1
        elif SILENT in (act.kind, event.kind):
            kind = SPEAK if self._queue else event.kind
            self._counted[f"nothing was done ({event.stage.phase}, {kind}): the default act took its place"] += 1

    def _played(self, steps: Sequence[Step]) -> Deduction:
        """This game after other steps, which go on from its own or begin anew."""
        game, done = self.clone(), len(self.steps)
        if steps[:done] != self.steps:
            game.reset(self.seed)
            done = 0
        for moves in steps[done:]:
            game.advance(moves)
        return game

    @abstractmethod
    def _dealt(self, draws: Random) -> Deal:
        """A deal, drawn."""

    @abstractmethod
    def _open(self) -> None:
        """Begin the rules from ``self.deal``."""

    @abstractmethod
    def _copied(self) -> None:
        """Copy what `_do` changes in place."""

    @abstractmethod
    def _stage(self) -> Stage:
        """Where the game stands."""

    @abstractmethod
    def _acting(self) -> tuple[int, ...]:
        """The seats that act in this phase, in order, when its discussion is over; nobody: the game is."""

    @abstractmethod
    def _alive(self) -> tuple[int, ...]:
        """The seats that still play."""

    @abstractmethod
    def _choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        """By kind of act what a seat whose turn it is may aim it at."""

    @abstractmethod
    def _default(self, seat: int) -> tuple[str, Aim] | None:
        """The act for which the silent one stands; its aim need be none that may be chosen."""

    @abstractmethod
    def _speakers(self) -> tuple[int, ...]:
        """Who speaks, in order, before anybody acts in the phase that has just begun; asked once for each step."""

    @abstractmethod
    def _public(self) -> bool:
        """Whether the acts of this phase are known to all."""

    def _witnesses(self, seat: int) -> tuple[int, ...]:
        """Who knows a seat's secret act."""
        return (seat,)

    @staticmethod
    @abstractmethod
    def words(kind: str, aim: Aim) -> str:
        """An act as something done, without who: ``voted for Player 3``."""

    @abstractmethod
    def _do(self, acts: Mapping[int, tuple[str, Aim]]) -> None:
        """Do the acts of one step, by seat; each is one of its choices or its default."""

    @abstractmethod
    def most_acts(self, seat: int) -> int:
        """How many acts a seat has at most, in any game."""

    @abstractmethod
    def _won(self, seat: int) -> bool:
        """Whether a seat's team has won, at the end."""

    @abstractmethod
    def rules_in_words(self) -> str:
        """The game's rules, as everybody knows them, with the options in force and the default acts."""

    @abstractmethod
    def role_in_words(self, seat: int) -> str:
        """What a player knows from before the first act."""

    @staticmethod
    @abstractmethod
    def fits(facts: PrivateInformation) -> Sequence[Deal]:
        """The deals that a player's facts allow, from these alone."""


def _words_of(aim: Aim) -> str:
    return " ".join(map(str, aim)) if isinstance(aim, tuple) else str(aim)
