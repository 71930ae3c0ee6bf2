"""What a person who plays a character reads, and can type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Facts, Rules
from apportion.environments.sotopia.goal_checks import PHYSICAL
from apportion.environments.sotopia.observation import LEAVE, NON_VERBAL, NONE, SPEAK, RoleInformation
from apportion.environments.sotopia.tasks import field_words
from apportion.environments.terminal.console import printable
from apportion.environments.terminal.human_agent import Command, Rendered

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
class SotopiaRenderer:
    """A `Telling` of what `Sotopia.facts` gives a character; ``rules`` say when it ends."""

    rules: Rules

    def opening(self, view: Observation) -> list[Rendered]:
        """The scenario, who one is, what one knows of the others, the goal, and the rules."""
        return list(self._opening(_facts(view).part))

    def events(self, view: Observation) -> list[Rendered]:
        """The acts, an entry each."""
        facts = _facts(view)
        return [_event(number, seat, act, facts.part) for number, (seat, act) in enumerate(facts.acts, 1)]

    def prompt(self, view: Observation) -> str:
        """The act's number, and who speaks."""
        return f"{len(_facts(view).acts) + 1}. You: "

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """Those whose acts are allowed."""
        return {name: command for name, command in COMMANDS.items() if command.kind in view.legal}

    def plain(self, view: Observation) -> str | None:
        """Words are said."""
        return SAY

    def understood(self, view: Observation, act: Action) -> Action:
        """The act as it is: words are free."""
        return act

    def _opening(self, part: RoleInformation) -> Iterator[Rendered]:
        yield Rendered("Scenario: ", part.context)
        yield Rendered(f"You are {printable(part.called[part.seat])}.")
        yield from _profile(part.profiles[part.seat], own=True)
        for seat, profile in enumerate(part.profiles):
            if seat != part.seat:
                nothing = "" if profile else "; you know nothing else of this person"
                yield Rendered(
                    f"You meet {printable(part.called[seat])} (to you: {part.relationships[seat]}{nothing})."
                )
                yield from _profile(profile, own=False)
        yield Rendered("Your goal: ", part.goal)
        yield Rendered("The others do not know your goal, nor you theirs.")
        if part.terms is not None and part.terms.deal is not None:
            offer = part.terms.deal.binds()
            yield Rendered(
                f"An offer is made by /physical {offer}; /physical accept accepts the last one. "
                "Words alone bind nobody; the first agreement stands."
            )
        silent = f", or after {self.rules.most_silent} times nothing in a row" if self.rules.most_silent else ""
        yield Rendered(f"It ends after {self.rules.most_acts} acts of all together, when somebody leaves{silent}.")
        yield Rendered("What you type is said aloud; /help lists what else you can do.")


def _profile(profile: Mapping[str, object], own: bool) -> Iterator[Rendered]:
    short = ", ".join(field_words(profile[field]) for field in _SHORT if field in profile)
    if short:
        yield Rendered("    ", short)
    for field, value in profile.items():
        if field not in (*_SHORT, "name"):
            note = " (nobody else knows it)" if own and field == "secret" else ""
            yield Rendered(f"    {field.replace('_', ' ')}{note}: ", field_words(value))


def _event(number: int, seat: int, act: Action, part: RoleInformation) -> Rendered:
    own = seat == part.seat
    who = "You" if own else printable(part.called[seat])
    if act.kind == SPEAK:
        return Rendered(f"{number}. {who}: ", act.text, own)
    if act.kind == NONE:
        return Rendered(f"{number}. {who} did nothing", "", own)
    if act.kind == LEAVE:
        return Rendered(f"{number}. {who} left the conversation", "", own)
    return Rendered(f"{number}. {who} ({act.kind}): ", act.text, own)


def _facts(view: Observation) -> Facts:
    facts: Facts = view.facts
    return facts
