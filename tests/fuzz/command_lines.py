"""Command lines of every command, with arguments good, odd, missing and too many."""

from collections.abc import Iterator
from functools import cache
from random import Random

import click

from apportion.cli import cli
from apportion.corpus.importers.registry import KINDS
from tests.fuzz.mutations import ODD_NUMBERS, ODD_TEXTS

LONG = ("demo", "doctor", "serve", "view", "run")
"""Commands that serve until they are stopped, or whose work takes longer than a case may."""
GOOD = ("corpus", "run.toml", "out", "score=stars", "low=1", "high=5", "speakers=corpus", "language=de", "1", *KINDS)
ODD = (
    *(text for text in ODD_TEXTS if "\0" not in text and "\ud800" not in text and not text.startswith(("/", ".."))),
    *(f"{key}={text}" for key in ("low", "score", "speakers", "scale", "=") for text in ("", "nan", "1e9", "a.b", "=")),
    *(str(number) for number in ODD_NUMBERS if not isinstance(number, int) or number < 10**30),
    "--", "-o", "--help", "~nobody/x", "corpus/sessions.parquet",
)  # fmt: skip


def command_line(chance: Random) -> list[str]:
    """Words after `apportion`: a command and, mostly, what it takes."""
    words, command = chance.choice(_commands())
    given = list(words)
    for known in command.params:
        if chance.random() < (0.95 if isinstance(known, click.Argument) else 0.25):
            given += [chance.choice(known.opts)] if isinstance(known, click.Option) else []
            given += [] if getattr(known, "is_flag", False) else [_value(known, chance)]
    return given + [chance.choice(ODD)] * (chance.random() < 0.05)


def _value(known: click.Parameter, chance: Random) -> str:
    choices = list(getattr(known.type, "choices", ()))
    if choices and chance.random() < 0.7:
        return str(chance.choice(choices))
    return chance.choice(GOOD if chance.random() < 0.8 else ODD)


@cache
def _commands() -> list[tuple[tuple[str, ...], click.Command]]:
    return [(words, command) for words, command in _below(cli, ()) if not {*words} & {*LONG}]


def _below(group: click.Group, before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _below(command, (*before, name))
        yield (*before, name), command
