"""What a line that a person typed means: an act, or a wish to see something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion.environments.actions import Action
from apportion.environments.terminal.console import LineError
from apportion.environments.terminal.sanitize import is_shown
from apportion.foundation.did_you_mean import did_you_mean

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

    Parameters
    ----------
    line : str
        As it was typed.
    commands : mapping of str to Command
        By name, what may be done now.
    plain : str, optional
        The command that a line without a name means; None: every line has to name one.

    Raises
    ------
    LineError
        It is empty, holds what no keyboard should type, or names no command; the text says what to do.
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
