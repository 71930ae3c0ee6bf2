"""A person at a terminal, who acts when it is their turn and sees what their view holds, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.console import LineError, Screen, is_shown
from apportion.foundation.did_you_mean import did_you_mean


class Rendered(NamedTuple):
    """Something shown: our label, and words of whomever behind it; nothing is shown where both are empty.

    A label holds others' words (names) only as `printable`. ``own`` marks what the person has done, who need not
    read it again right after typing it.
    """

    label: str
    text: str = ""
    own: bool = False


class Renderer(Protocol):
    """How one environment is told to a person; reads nothing but the person's view."""

    def opening(self, view: Observation) -> Sequence[Rendered]:
        """What the person knows from before the first act."""

    def events(self, view: Observation) -> Sequence[Rendered]:
        """What was done so far and this person may know; only grows from step to step."""

    def prompt(self, view: Observation) -> str:
        """What stands before the line that the person types."""

    def commands(self, view: Observation) -> Mapping[str, Command]:
        """By name, what the person may do now."""

    def plain(self, view: Observation) -> str | None:
        """The command that a line without a name means; None: there is none."""

    def understood(self, view: Observation, act: Action) -> Action:
        """The act that a command and its words mean here; raises LineError where they mean none."""


HELP, AGAIN, STOP = "help", "again", "stop"
WISHES = {
    HELP: "this list",
    AGAIN: "everything that you know, from the beginning",
    STOP: "stop here; the same command goes on from here another time",
}
"""By name, what a person can ask for besides acting."""


@dataclass(frozen=True)
class Command:
    """A kind of act that a person chooses by ``/NAME``.

    ``kind`` is the act's, ``meaning`` says what it does, ``words`` stands for the words behind it in the list of
    commands: empty where it takes none, in brackets where it need not have any.
    """

    kind: str
    meaning: str
    words: str = ""


def listed(commands: Mapping[str, Command], plain: str | None) -> list[tuple[str, str]]:
    """What a person can type, each with what it does; ``plain`` is the command that a line without a name means."""
    rows = [(f"/{name} {one.words}".rstrip(), one.meaning) for name, one in commands.items()]
    if plain is not None:
        rows.insert(0, ("any words", f"the same as /{plain}; words that begin with / are written with //"))
    return [*rows, *((f"/{name}", meaning) for name, meaning in WISHES.items())]


def read_line(line: str, commands: Mapping[str, Command], plain: str | None) -> Action | str:
    """The act that a line means, or the name of a wish.

    ``line``: As it was typed. ``commands``: By name, what may be done now. ``plain``: The command that a line without a
    name means; None: every line has to name one. Raises LineError: It is empty, holds what no keyboard should type, or
    names no command; the text says what to do.
    """
    # A paste can hold line breaks and tabulators.
    words = " ".join(line.split())
    if not words:
        raise LineError(f"nothing was typed, and nothing done; /{HELP} lists what you can do")
    for letter in words:
        if not is_shown(letter):
            raise LineError(f"that line holds a character that is no text ({letter!a}); type it again without")
    if not words.startswith("/") or words.startswith("//"):
        if plain is None:
            raise LineError(f"say which of {_names(commands)} it is, as /{next(iter(commands))} …")
        return Action(commands[plain].kind, words[1:] if words.startswith("//") else words)
    name, _, rest = words[1:].partition(" ")
    name = name.casefold()
    if name in WISHES and name not in commands:
        return name
    if name not in commands:
        known = [*commands, *WISHES]
        raise LineError(f"no command /{name}: {did_you_mean(name, known, f'there are {_names(known)}')}")
    command = commands[name]
    if rest and not command.words:
        raise LineError(f"/{name} takes no words; {_or_say(plain)}")
    if command.words and not command.words.startswith("[") and not rest:
        raise LineError(f"/{name} needs words: /{name} {command.words}")
    return Action(command.kind, rest)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"/{name}" for name in names)


def _or_say(plain: str | None) -> str:
    return "say them in a line of their own" if plain is not None else "leave them out"


WAITING = "(the others act …)"


class HumanAgent:
    """An agent of any environment; its acts are on the disk before they are used, and are never asked for twice.

    Between steps it keeps what is on the screen, and nothing that an act depends on: started anew, it shows again all
    that the person may know.

    ``screen``: Where the person reads and types. ``telling``: How the environment is told. ``called``: What the person
    is called in logs and corpora.
    """

    paid = True

    def __init__(self, screen: Screen, telling: Renderer, called: str = "person") -> None:
        self.called = called
        self._screen, self._telling = screen, telling
        self._opened = self._typed = False
        self._shown = 0

    def act(self, view: Observation) -> Action:
        """What the person does: shows what is new, and asks until a line means something that is allowed.

        Raises EOFError: the person stops here, or the input has ended.
        """
        self._tell(view)
        while True:
            commands, plain = self._telling.commands(view), self._telling.plain(view)
            try:
                meant = read_line(self._screen.ask(self._telling.prompt(view)), commands, plain)
                if isinstance(meant, Action):
                    meant = self._telling.understood(view, meant)
            except LineError as error:
                self._screen.show("! ", str(error))
                continue
            if isinstance(meant, Action):
                problem = view.problem(meant)
                if problem is None:
                    self._typed = True
                    self._screen.wait(WAITING)
                    return meant
                self._screen.show("! ", problem)
            elif meant == HELP:
                for name, meaning in listed(commands, plain):
                    self._screen.show(f"  {name}: ", meaning)
            elif meant == AGAIN:
                self._opened, self._typed, self._shown = False, False, 0
                self._tell(view)
            else:
                raise EOFError("the person stops")

    def see_the_beginning(self, view: Observation) -> None:
        """Show what is known from before the first act, so that the person reads while others act."""
        self._open(view)
        self._screen.wait(WAITING)

    def see_the_end(self, view: Observation) -> None:
        """Show what was done after the person's last act."""
        self._tell(view)
        self._screen.done_waiting()

    def _open(self, view: Observation) -> None:
        if not self._opened:
            for told in self._telling.opening(view):
                self._screen.show(told.label, told.text)
            self._screen.show("")
            self._opened = True

    def _tell(self, view: Observation) -> None:
        self._open(view)
        events = self._telling.events(view)
        for told in events[self._shown :]:
            if told.own and self._typed:
                self._typed = False
            elif told.label or told.text:
                self._screen.show(told.label, told.text)
        self._shown = len(events)
