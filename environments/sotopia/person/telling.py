"""What a person who plays a character reads, and can type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion.environments.core import Act, View
from apportion.environments.sotopia.characters import field_words
from apportion.environments.sotopia.game import Facts, Rules
from apportion.environments.sotopia.observation import LEAVE, NON_VERBAL, NONE, SPEAK, Part
from apportion.environments.sotopia.terms import PHYSICAL
from apportion.environments.terminal.commands import Command
from apportion.environments.terminal.printable import printable
from apportion.environments.terminal.telling import Told

SAY = "say"
COMMANDS: Mapping[str, Command] = {
    SAY: Command(SPEAK, "say it aloud", "TEXT"),
    "do": Command(NON_VERBAL, "show it without words: a look, a gesture, a smile", "TEXT"),
    "physical": Command(
        PHYSICAL, "do it with your hands; where something is dealt with, also offer and accept", "TEXT"
    ),
    "nothing": Command(NONE, "do nothing this time"),
    "leave": Command(LEAVE, "leave, which ends the conversation for everybody"),
}
"""The five acts of section 2.2."""
_SHORT = ("age", "gender", "pronouns", "occupation")


@dataclass(frozen=True)
class SotopiaTelling:
    """A `Telling` of what `Sotopia.facts` gives a character; ``rules`` say when it ends."""

    rules: Rules

    def opening(self, view: View) -> list[Told]:
        """The scenario, who one is, what one knows of the others, the goal, and the rules."""
        return list(self._opening(_facts(view).part))

    def events(self, view: View) -> list[Told]:
        """The acts, an entry each."""
        facts = _facts(view)
        return [_event(number, seat, act, facts.part) for number, (seat, act) in enumerate(facts.acts, 1)]

    def prompt(self, view: View) -> str:
        """The act's number, and who speaks."""
        return f"{len(_facts(view).acts) + 1}. You: "

    def commands(self, view: View) -> Mapping[str, Command]:
        """Those whose acts are allowed."""
        return {name: command for name, command in COMMANDS.items() if command.kind in view.legal}

    def plain(self, view: View) -> str | None:
        """Words are said."""
        return SAY

    def understood(self, view: View, act: Act) -> Act:
        """The act as it is: words are free."""
        return act

    def _opening(self, part: Part) -> Iterator[Told]:
        yield Told("Scenario: ", part.context)
        yield Told(f"You are {printable(part.called[part.seat])}.")
        yield from _profile(part.profiles[part.seat], own=True)
        for seat, profile in enumerate(part.profiles):
            if seat != part.seat:
                nothing = "" if profile else "; you know nothing else of this person"
                yield Told(f"You meet {printable(part.called[seat])} (to you: {part.relationships[seat]}{nothing}).")
                yield from _profile(profile, own=False)
        yield Told("Your goal: ", part.goal)
        yield Told("The others do not know your goal, nor you theirs.")
        if part.terms is not None and part.terms.deal is not None:
            offer = part.terms.deal.binds()
            yield Told(
                f"An offer is made by /physical {offer}; /physical accept accepts the last one. "
                "Words alone bind nobody; the first agreement stands."
            )
        silent = f", or after {self.rules.most_silent} times nothing in a row" if self.rules.most_silent else ""
        yield Told(f"It ends after {self.rules.most_acts} acts of all together, when somebody leaves{silent}.")
        yield Told("What you type is said aloud; /help lists what else you can do.")


def _profile(profile: Mapping[str, object], own: bool) -> Iterator[Told]:
    short = ", ".join(field_words(profile[field]) for field in _SHORT if field in profile)
    if short:
        yield Told("    ", short)
    for field, value in profile.items():
        if field not in (*_SHORT, "name"):
            note = " (nobody else knows it)" if own and field == "secret" else ""
            yield Told(f"    {field.replace('_', ' ')}{note}: ", field_words(value))


def _event(number: int, seat: int, act: Act, part: Part) -> Told:
    own = seat == part.seat
    who = "You" if own else printable(part.called[seat])
    if act.kind == SPEAK:
        return Told(f"{number}. {who}: ", act.text, own)
    if act.kind == NONE:
        return Told(f"{number}. {who} did nothing", "", own)
    if act.kind == LEAVE:
        return Told(f"{number}. {who} left the conversation", "", own)
    return Told(f"{number}. {who} ({act.kind}): ", act.text, own)


def _facts(view: View) -> Facts:
    facts: Facts = view.facts
    return facts
