"""Claim: `apportion --help` and every command's `--help` answer in under a second. Run: python -m benchmarks.startup"""

from __future__ import annotations

import statistics

import click

from benchmarks.measure import tell, timed

RUNS = 5


def every_command() -> list[list[str]]:
    """The words of each command, those below another one among them."""
    from apportion.cli import cli

    words: list[list[str]] = [[]]
    for name, command in cli.commands.items():
        below = command.commands if isinstance(command, click.Group) else getattr(command, "more", {})
        words += [[name], *([name, other] for other in below)]
    return words


def slowest_first() -> list[tuple[float, list[str]]]:
    """The median seconds of each command's help."""
    medians = [
        (statistics.median(timed([*words, "--help"])[0] for _ in range(RUNS)), words) for words in every_command()
    ]
    return sorted(medians, reverse=True)


if __name__ == "__main__":
    measured = slowest_first()
    of_all = next(seconds for seconds, words in measured if not words)
    tell("help", of_all, "s", runs=RUNS)
    slowest, words = measured[0]
    tell("slowest help", slowest, "s", runs=RUNS, command=" ".join(words), commands=len(measured))
