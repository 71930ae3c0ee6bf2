"""What a person who negotiates reads, and can type: a split by its numbers, or any words that are an act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.act_parser import UNKNOWN, parse
from apportion.environments.negotiation.action_encoding import SPLIT_OF
from apportion.environments.negotiation.contexts import ITEMS
from apportion.environments.negotiation.game import NAMES
from apportion.environments.negotiation.observation import (
    SELECT,
    Part,
    PrivateInformation,
    done,
    rules_in_words,
    values_in_words,
)
from apportion.environments.negotiation.realization import in_words
from apportion.environments.negotiation.scripts import own_proposals
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.human_agent import Command, Rendered

SAY, TAKE = "say", "take"
SPLIT = " ".join(f"{item.upper()}S" for item in ITEMS)
_COMMANDS: Mapping[str, Command] = {
    "propose": Command("propose", "propose to keep so many; the rest is the other's", SPLIT),
    "insist": Command("insist", "insist on keeping so many", SPLIT),
    "agree": Command("agree", "agree to what is proposed"),
    "disagree": Command("disagree", "refuse what is proposed"),
    "end": Command("end", "end the talk; then both take their items"),
    SELECT: Command(SELECT, "take so many; without numbers what was agreed on", f"[{SPLIT}]"),
}


@dataclass(frozen=True)
class NegotiationRenderer:
    """A `Telling` of what `Negotiation.facts` gives a seat; ``names`` are those of the seats."""

    names: tuple[str, str] = NAMES

    def opening(self, view: Observation) -> list[Rendered]:
        """The rules, the pool, and what it is worth to the person."""
        part = self._part(view)
        rules = rules_in_words(part.names, part.counts, part.most_acts)
        return [
            Rendered("The rules: ", rules),
            Rendered(f"You are {part.names[part.seat]}. To you, ", f"{values_in_words(part.values)}."),
        ]

    def events(self, view: Observation) -> list[Rendered]:
        """The acts, an entry each; what the person said in own words is shown, too, with what was understood."""
        part = self._part(view)
        told = []
        for number, (seat, act) in enumerate(_facts(view).heard, 1):
            who = "You" if seat == part.seat else part.names[seat]
            words = f'"{act.text}"' if act.text else ""
            told.append(
                Rendered(f"#{number} {who} {done(act, part, seat)}. ", words, own=seat == part.seat and not act.text)
            )
        return told

    def prompt(self, view: Observation) -> str:
        """How many acts there are, or what may be taken."""
        facts = _facts(view)
        if not facts.over:
            return f"act {len(facts.acts) + 1} of {facts.most_acts}> "
        agreed = "nothing was agreed on"
        if facts.meant is not None:
            agreed = f"agreed for you: {in_words(SPLIT_OF[facts.meant])}"
        return f"take your items ({agreed})> "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """What the rules allow now; own words, too, while it goes on."""
        if _facts(view).over:
            return {TAKE: _COMMANDS[SELECT]}
        said = Command(SAY, "say it in your own words, such as: I take the hats and you get the rest", "TEXT")
        return {SAY: said, **{kind: _COMMANDS[kind] for kind in view.legal}}

    def plain(self, view: Observation) -> str | None:
        """Own words, or the numbers that are taken."""
        return TAKE if _facts(view).over else SAY

    def understood(self, view: Observation, act: Action) -> Action:
        """The act of a command's words, or of own words, as the parser reads them.

        Raises LineError: They are no act, or no split.
        """
        facts = _facts(view)
        if act.kind == SAY:
            standing = facts.standing if facts.by == 1 - facts.seat else None
            own = own_proposals(facts)
            kind, split = parse(act.text, facts.counts, standing, own[-1] if own else None)
            if kind == UNKNOWN:
                raise LineError("that is no act: say who gets what, agree, disagree, or end it; /help lists commands")
            return Action(kind, act.text, None if split is None else list(SPLIT_OF[split]))
        if act.kind == SELECT and not act.text and facts.meant is None:
            raise LineError(f"nothing was agreed on: say how many you take, as /{TAKE} 1 0 2 ({SPLIT.lower()})")
        if act.kind == SELECT and not act.text and facts.meant is not None:
            return Action(SELECT, "", list(SPLIT_OF[facts.meant]))
        return Action(act.kind, "", _numbers(act.text, facts)) if act.kind in ("propose", "insist", SELECT) else act

    def _part(self, view: Observation) -> Part:
        facts = _facts(view)
        return Part(facts.seat, self.names, facts.counts, facts.values, facts.most_acts)


def _numbers(words: str, facts: PrivateInformation) -> list[int]:
    numbers = words.replace(",", " ").split()
    if len(numbers) != len(ITEMS) or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise LineError(f"{len(ITEMS)} whole numbers are needed: how many {SPLIT.lower().replace(' ', ', ')} are yours")
    kept = [int(number[:4]) for number in numbers]
    if any(one > count for one, count in zip(kept, facts.counts, strict=True)):
        raise LineError(f"there are {in_words(facts.counts)}: no item more than there is can be yours")
    return kept


def _facts(view: Observation) -> PrivateInformation:
    facts: PrivateInformation = view.facts
    return facts
