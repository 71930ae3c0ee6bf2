"""A negotiation as an environment: two agents share out a pool by turns, then both select (section 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from apportion.environments.environment import Action, AgentAction, Environment, InvalidActionError, Step
from apportion.environments.negotiation.act_parser import UNKNOWN, parse
from apportion.environments.negotiation.action_encoding import (
    AGREE,
    INSIST,
    KINDS,
    SPLIT_OF,
    SPLITS,
    WITH_SPLIT,
    CodeError,
    act_of,
    rest,
)
from apportion.environments.negotiation.contexts import ITEMS, SEATS, WORTH, Context, Counts
from apportion.environments.negotiation.observation import (
    BOOKS,
    SELECT,
    Part,
    PrivateInformation,
    Wording,
    in_text,
    number_of,
)
from apportion.environments.negotiation.pareto import solve
from apportion.environments.negotiation.realization import in_words, sentence
from apportion.environments.negotiation.rules import MOST_ACTS, Game, legal_acts
from apportion.foundation.errors import InputError

NAMES = ("Alice", "Bob")
"""Seat 0 and seat 1, as in the paper."""
MOST_WORDS = 2_000
"""Characters of one act: what is longer is no sentence of a negotiation."""


BEHIND = re.compile(r"\[([^\]]*)\]\s*$")
"""The act in brackets at the end of an utterance."""


class Negotiation(Environment):
    """One game. An act's ``data`` is the split that its speaker keeps (propose, insist, select), else None.

    What counts is ``kind`` and ``data``; the words of an act are heard and bind nobody. An act without words has a
    sentence of `realization`. Who starts is drawn; at the end both `SELECT` in one step, unseen by each other.

    ``context``: The pool, and the values of seat 0 and seat 1. ``most_acts``: After which both select. ``names``: Who
    sits in seat 0 and in seat 1. Raises InputError: A context that breaks a constraint, no act at all, or names that
    cannot be used.
    """

    kind: ClassVar[str] = "negotiation"
    wording: ClassVar[Wording] = BOOKS
    """How it is told; acts are read by it, too."""
    unheard_acts_stay: ClassVar[bool] = False
    """Selections follow from what was said: in a history without some acts they are made anew."""
    speeches: ClassVar[frozenset[str]] = frozenset({"propose", "insist", "agree", "disagree", "end"})

    def __init__(self, context: Context, most_acts: int = MOST_ACTS, names: Sequence[str] = NAMES) -> None:
        self.context, self.most_acts = context, most_acts
        self._check_context()
        self.heard: list[tuple[int, Action]] = []
        super().__init__(names)
        if len(self.agents) != SEATS:
            raise InputError(f"{self.kind}: {len(self.agents)} agents; {SEATS} negotiate")

    def acting(self) -> tuple[str, ...]:
        """One after the other; both at once when they select."""
        if not self.game.over:
            return (self.agents[self.game.seat],)
        return () if self.game.done else self.agents

    @property
    def most_steps(self) -> int:
        """The acts, and both selections in one."""
        return self.most_acts + 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """The five acts, and `SELECT`."""
        return (*KINDS, SELECT)

    def legal(self, agent: str) -> tuple[str, ...]:
        """What the rules allow when it is the agent's turn (`rules`), and `SELECT` at the end."""
        if self.game.over:
            return () if self.game.done or agent not in self.agents else (SELECT,)
        return self.game.kinds() if agent == self.agents[self.game.seat] else ()

    def observe(self, agent: str) -> str:
        """The rules, the agent's own values, and what was done."""
        return in_text(self.part(agent), self.heard, self.legal(agent), self.wording)

    def part(self, agent: str) -> Part:
        """What an agent knows from before the first act."""
        seat = self.agents.index(agent)
        return Part(
            seat, (self.agents[0], self.agents[1]), self.context.counts, self.context.values[seat], self.most_acts
        )

    def facts(self, agent: str) -> PrivateInformation:
        """The same as data."""
        game, seat = self.game, self.agents.index(agent)
        return PrivateInformation(
            seat, self.context.counts, self.context.values[seat], game.acts, self.starter, game.standing, game.by,
            game.settled, game.legal() if seat == game.seat else (), game.over, game.meant(seat) if game.over else None,
            self.tone * (2 * len(game.acts) + 1) >> 8, self.heard, self.most_acts,
        )  # fmt: skip

    def in_words(self, agent: str, kind: str, text: str) -> Action:
        """The split of an act is read from its words (`act_parser`); words that give nothing to anybody have none.

        Only here a missing one is filled in: ``insist`` repeats the speaker's last, `SELECT` takes what was agreed on.
        """
        if kind not in (*WITH_SPLIT, SELECT):
            return Action(kind, text)
        seat = self.agents.index(agent)
        split = parse(self.wording.read(text), self.context.counts).split
        if split is None and kind == SELECT:
            split = self.game.meant(seat)
        if split is None and kind == "insist":
            split = self._proposed(seat)
        return Action(kind, text, None if split is None else list(SPLIT_OF[split]))

    def meant(self, agent: str, text: str) -> Action:
        """The act that the words are, or that stands in brackets behind them (`said`); at the end what is taken."""
        if self.game.over:
            kind, split = parse(self.wording.read(text), self.context.counts)
            takes = split is not None or kind == "agree" or text.startswith(f"[{SELECT}]")
            return self.in_words(agent, SELECT, text) if takes else Action("", text)
        game, seat = self.game, self.agents.index(agent)
        told = BEHIND.search(text)
        standing = game.standing if game.by == 1 - seat else None
        kind, split = parse(self.wording.read(told[1] if told else text), self.context.counts, standing)
        if kind == UNKNOWN:
            kind, split = parse(self.wording.read(text), self.context.counts, standing, self._proposed(seat))
        if kind == "insist" and kind not in game.kinds():
            kind = "propose"
        return Action(
            kind, text[: told.start()].strip() if told else text, None if split is None else list(SPLIT_OF[split])
        )

    def cue(self, agent: str) -> str:
        """That items are taken now."""
        return "(The talk is over. Say what you take.)" if SELECT in self.legal(agent) else ""

    def stand_in(self, agent: str) -> Action:
        """Nothing is agreed to: a refusal, or where something has to be kept, to keep nothing."""
        keeps = next((kind for kind in ("disagree", SELECT) if kind in self.legal(agent)), "propose")
        return Action(keeps, "", None if keeps == "disagree" else [0] * len(ITEMS))

    def examples(self, agent: str) -> dict[str, list[str]]:
        """Sentences of the splits that the pool allows, of which `SELECT` takes any."""
        proposals = legal_acts(self.context.counts)[0]
        told = [self._plain(code) for code in proposals]
        return {"propose": told, "insist": [self._plain(INSIST + code) for code in proposals], SELECT: told}

    def outcome(self) -> dict[str, dict[str, float | None]]:
        """By agent its ``points``, and its ``advantage``: its points less the other's (section 6).

        Before both have selected: of what is settled so far, as if both took that; nothing is settled: 0.
        """
        points = self._points()
        return {
            name: {"points": float(points[seat]), "advantage": float(points[seat] - points[1 - seat])}
            for seat, name in enumerate(self.agents)
        }

    def scales(self) -> dict[str, tuple[float, float]]:
        """Points from 0 to 10."""
        return {"points": (0.0, float(WORTH)), "advantage": (-float(WORTH), float(WORTH))}

    def said(self, move: AgentAction) -> str | None:
        """An act's words, with the act in brackets where they do not say it; a selection is heard by nobody."""
        if move.act.kind == SELECT:
            return None
        return _utterance(self._code(move.act.plain), move.act.text.strip(), self.context.counts, self.wording)

    def backgrounds(self) -> list[tuple[str | None, str, str]]:
        """The rules and the pool for both; what things are worth to it for each agent alone."""
        names = (self.agents[0], self.agents[1])
        rows: list[tuple[str | None, str, str]] = [
            (None, "rules", self.wording.rules(names, self.context.counts, self.most_acts))
        ]
        for name, values in zip(self.agents, self.context.values, strict=True):
            rows.append((name, "goal", f"As many points as possible: to {name}, {self.wording.values(values)}."))
        return rows

    def _proposed(self, seat: int) -> int | None:
        """The split that a seat has proposed last."""
        own = [code % SPLITS for code in self.game.acts[seat != self.starter :: 2] if code < AGREE]
        return own[-1] if own else None

    def _plain(self, code: int) -> str:
        """An act by its number, in words that `in_words` reads."""
        return self.wording.told(sentence(code, self.context.counts))

    def _check_context(self) -> None:
        """Raise InputError for a context that this game is not about."""
        self.context.check()

    def _begin(self) -> None:
        self.starter = self.chance.draws.randrange(SEATS)
        self.tone = self.chance.draws.getrandbits(31)
        self.game = Game(self.context, self.starter, self.most_acts)
        self.heard = []

    def _own(self) -> None:
        self.game = self.game.copy()
        self.heard = self.heard.copy()

    def _check(self, agent: str, act: Action) -> None:
        if len(act.text) > MOST_WORDS:
            raise InvalidActionError(
                f"{agent!r} says {len(act.text):,} characters at once; at most {MOST_WORDS:,} are an act"
            )
        code = self._code(act)
        if not (self.game.can_take(code) if act.kind == SELECT else self.game.allows(code)):
            raise InvalidActionError(
                f"step {len(self.steps)}: {agent!r} {act.kind}s {act.data} of {list(self.context.counts)} "
                f"({self.wording.told(in_words(self.context.counts))}); no item more than there is"
            )

    def _apply(self, moves: Step) -> None:
        if self.game.over:
            for move in moves:
                self.game.select(self.agents.index(move.agent), self._code(move.act))
            return
        (move,) = moves
        self.heard.append((self.game.seat, move.act))
        self.game.do(self._code(move.act))

    def _points(self) -> tuple[int, int]:
        game = self.game
        if game.over or not game.settled:
            return game.points
        deal = game.standing if game.by == 0 else rest(self.context.counts, game.standing)
        return solve(self.context).points[deal]

    def _code(self, act: Action) -> int:
        """`observation.number_of`; raises InvalidActionError: its data is no split, or is missing, or should be."""
        try:
            return number_of(act)
        except CodeError as error:
            raise InvalidActionError(
                f"step {len(self.steps)}: {error} (data: how many {', '.join(self.wording.items)} are kept)"
            ) from None


@lru_cache(maxsize=4096)
def _utterance(code: int, words: str, counts: Counts, wording: Wording) -> str:
    plain = wording.told(sentence(code, counts))
    if not words:
        return plain
    kind, split = parse(wording.read(words), counts)
    said = (kind, split) == (act_of(code)[0], code % SPLITS if code < AGREE else None)
    return words if said else f"{words} [{plain}]"
