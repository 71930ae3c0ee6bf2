"""What a person who negotiates reads, and can type: a split by its numbers, or any words that are an act."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.act_parser import UNKNOWN, parse, unread
from apportion.environments.negotiation.action_encoding import SPLIT_OF
from apportion.environments.negotiation.contexts import Counts
from apportion.environments.negotiation.game import NAMES
from apportion.environments.negotiation.observation import (
    BOOKS,
    SELECT,
    Part,
    PrivateInformation,
    Wording,
    done,
)
from apportion.environments.negotiation.realization import in_words
from apportion.environments.negotiation.scripts import own_proposals
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import Command, Rendered

SAY, TAKE = "say", "take"


class PairRenderer(ABC):
    """A `Renderer` of two who come to terms by turns: by commands, which the rules allow now, or in own words."""

    names: Sequence[str] = NAMES
    """By seat, as the game calls them."""
    acts: Mapping[str, Command]
    """By kind of act the command for it."""
    such_as: str
    """Own words that are an act."""

    @abstractmethod
    def opening(self, view: Observation) -> Sequence[Rendered]:
        """The rules, and what the person alone knows."""

    @abstractmethod
    def heard(self, view: Observation) -> Sequence[tuple[int, Action]]:
        """What was done so far, each with its seat."""

    @abstractmethod
    def done(self, view: Observation, seat: int, act: Action) -> str:
        """An act of a seat in words, behind who did it."""

    @abstractmethod
    def understood(self, view: Observation, act: Action) -> Action:
        """The act of a command's words, or of own words. Raises LineError: They are no act."""

    def events(self, view: Observation) -> list[Rendered]:
        """The acts, an entry each; what the person said in own words is shown, too, with what was understood."""
        told = []
        for number, (seat, act) in enumerate(self.heard(view), 1):
            mine, words = seat == view.seat, f'"{act.text}"' if act.text else ""
            who = "You" if mine else self.names[seat]
            told.append(Rendered(f"#{number} {who} {self.done(view, seat, act)}. ", words, own=mine and not act.text))
        return told

    def prompt(self, view: Observation) -> str:
        """How many acts there are."""
        return f"act {len(self.heard(view)) + 1} of {view.facts.most_acts}> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """What the rules allow now; own words, too."""
        said = Command(SAY, f"say it in your own words, such as: {self.such_as}", "TEXT")
        return {SAY: said, **{kind: self.acts[kind] for kind in view.legal}}

    def plain(self, view: Observation) -> str | None:
        """Own words."""
        return SAY


def _commands(items: Sequence[str]) -> Mapping[str, Command]:
    """Of a game about ``items``, by their plurals."""
    split = " ".join(items).upper()
    return {
        "propose": Command("propose", "propose to keep so many; the rest is the other's", split),
        "insist": Command("insist", "insist on keeping so many", split),
        "agree": Command("agree", "agree to what is proposed"),
        "disagree": Command("disagree", "refuse what is proposed"),
        "end": Command("end", "end the talk; then both take their items"),
        SELECT: Command(SELECT, "take so many; without numbers what was agreed on", f"[{split}]"),
    }


class NegotiationRenderer(PairRenderer):
    """Of what `Negotiation.facts` gives a seat; ``wording`` is the game's."""

    def __init__(self, wording: Wording = BOOKS) -> None:
        self._wording, self._items = wording, wording.items
        self.acts = _commands(wording.items)
        self.such_as = f"I take the {wording.items[1]} and you get the rest"

    def opening(self, view: Observation) -> list[Rendered]:
        """The rules, the pool, and what it is worth to the person."""
        part, words = self._part(view), self._wording
        return [
            Rendered("The rules: ", words.rules(part.names, part.counts, part.most_acts)),
            Rendered(f"You are {part.names[part.seat]}. To you, ", f"{words.values(part.values)}."),
        ]

    def heard(self, view: Observation) -> Sequence[tuple[int, Action]]:
        """The acts before the end."""
        return _facts(view).heard

    def done(self, view: Observation, seat: int, act: Action) -> str:
        """What was proposed, with what it leaves to the other; or agreed, refused, ended."""
        return self._wording.told(done(act, self._part(view), seat))

    def prompt(self, view: Observation) -> str:
        """How many acts there are, or what may be taken."""
        facts = _facts(view)
        if not facts.over:
            return super().prompt(view)
        agreed = "nothing was agreed on"
        if facts.meant is not None:
            agreed = f"agreed for you: {self._wording.told(in_words(SPLIT_OF[facts.meant]))}"
        return f"take your items ({agreed})> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """What the rules allow now; own words, too, while it goes on."""
        return {TAKE: self.acts[SELECT]} if _facts(view).over else super().commands(view)

    def plain(self, view: Observation) -> str | None:
        """Own words, or the numbers that are taken."""
        return TAKE if _facts(view).over else SAY

    def understood(self, view: Observation, act: Action) -> Action:
        """The act of a command's words, or of own words, as the parser reads them.

        Raises LineError: They are no act, or no split, or were read in part.
        """
        facts = _facts(view)
        if act.kind == SAY:
            standing = facts.standing if facts.by == 1 - facts.seat else None
            own = own_proposals(facts)
            words = self._wording.read(act.text)
            kind, split = parse(words, facts.counts, standing, own[-1] if own else None)
            if kind == UNKNOWN:
                raise LineError("that is no act: say who gets what, agree, disagree, or end it; /help lists commands")
            count = unread(words)
            if count is not None and kind != "disagree":
                numbers, order = " ".join(map(str, (*facts.counts[:2], 1))), " ".join(self._items)
                raise LineError(
                    f"{count!r} was not read as a count: say what you keep, as /propose {numbers} ({order})"
                )
            return Action(kind, act.text, None if split is None else list(SPLIT_OF[split]))
        if act.kind == SELECT and not act.text and facts.meant is None:
            split_of = " ".join(self._items)
            raise LineError(f"nothing was agreed on: say how many you take, as /{TAKE} 1 0 2 ({split_of})")
        if act.kind == SELECT and not act.text and facts.meant is not None:
            return Action(SELECT, "", list(SPLIT_OF[facts.meant]))
        if act.kind in ("propose", "insist", SELECT):
            return Action(act.kind, "", self._numbers(act.text, facts.counts))
        return act

    def _part(self, view: Observation) -> Part:
        facts = _facts(view)
        one, other = self.names
        return Part(facts.seat, (one, other), facts.counts, facts.values, facts.most_acts)

    def _numbers(self, words: str, counts: Counts) -> list[int]:
        numbers = words.replace(",", " ").split()
        if len(numbers) != len(self._items) or not all(number.isascii() and number.isdecimal() for number in numbers):
            raise LineError(f"{len(self._items)} whole numbers are needed: how many {', '.join(self._items)} are yours")
        kept = [int(number[:4]) for number in numbers]
        if any(one > count for one, count in zip(kept, counts, strict=True)):
            raise LineError(
                f"there are {self._wording.told(in_words(counts))}: no item more than there is can be yours"
            )
        return kept


def _facts(view: Observation) -> PrivateInformation:
    facts: PrivateInformation = view.facts
    return facts
