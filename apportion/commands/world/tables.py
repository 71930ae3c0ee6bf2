"""`apportion world tables`: the tables and figures of a paper from simulated dialogues with ratings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, option_names, with_options

if TYPE_CHECKING:
    from apportion.environments.report_tables.report import Report
    from apportion.environments.sotopia.reports.episode_scores import TaskId

RATED_OPTIONS = (
    click.option("--judge", metavar="NAME", help="The annotator whose scores count.  [default: who gave the most]"),
    click.option("--human", "humans", multiple=True, metavar="AGENT", help="An agent that is a person, too."),
)
"""Whose ratings are read, and who played."""


@click.group("tables")
def tables_group() -> None:
    """Tables and figures of a paper, made from simulated dialogues with ratings."""


@tables_group.command("sotopia")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, type=CORPUS)
@click.option(
    "--people",
    multiple=True,
    metavar="CORPUS_OR_ANNOTATOR",
    help="An annotator that is a person, or a corpus with ratings by people; may be repeated.",
)
@click.option("--hard", type=PATH, metavar="FILE", help="Tasks that are hard, for Figure G.5.")
@click.option("--out", "-o", type=PATH, metavar="FOLDER", help="Write text, Markdown, JSON, SVG.")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@json_option("the tables")
def tables_sotopia_command(
    corpora: tuple[Path, ...],
    people: tuple[str, ...],
    hard: Path | None,
    out: Path | None,
    bootstrap: int,
    seed: int,
    as_json: bool,
    judge: str | None,
    humans: tuple[str, ...],
) -> None:
    """Compare judges with people, and models with each other, as SOTOPIA does: Tables 1 to 3, E.1, G.1 to G.4, Figures
    2, 3, G.1 to G.5.

    Every CORPUS is simulated episodes with ratings. What is missing is not there, and says why and what fills it.
    """
    from apportion.environments.sotopia.reports.raters import RatedEpisodes, ReportChoice, read_rated
    from apportion.environments.sotopia.reports.report import report
    from apportion.foundation.intervals.resampling import Sampling

    chosen = ReportChoice(corpora, judge, people, humans, option_names())
    rated = RatedEpisodes.none() if chosen.is_empty else read_rated(chosen)
    made = report(rated, Sampling(bootstrap, seed), None if hard is None else hard_tasks_in(hard))
    tell_tables(made, out, as_json)


def tell_tables(made: Report, out: Path | None, as_json: bool) -> None:
    """Write a report's tables to the folder ``out``, if there is one, and print them."""
    written = made.write(out) if out is not None else []
    click.echo(json.dumps(made.to_json(), indent=1, ensure_ascii=False) if as_json else made.text())
    if written and not as_json:
        click.echo(f"\nwrote {len(written)} files: {out}/report.md holds all tables")


def hard_tasks_in(path: Path) -> frozenset[TaskId]:
    """The tasks that a file states; raises InputError where it states none."""
    from apportion.environments.sotopia.reports.episode_scores import TaskId
    from apportion.environments.sotopia.sources.task_sets import open_space
    from apportion.foundation.errors import InputError

    space = open_space(path)
    if not space.exact or not space.tasks:
        raise InputError(f"--hard {path}: states no tasks. Write one with `apportion world tasks sotopia hard`.")
    return frozenset(TaskId.of(task) for task in space.tasks)


def by_agent(option: str, given: Iterable[str], of: Callable[[str], Any]) -> dict[str, Any]:
    """What ``AGENT=VALUE`` says, by agent; ``of`` makes a value. Raises InputError: it says none, or one twice."""
    from apportion.foundation.errors import InputError

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            if not (name and equals and value):
                raise ValueError
            made = of(value)
        except ValueError:
            what = "a whole number above 0" if of is whole else "what it is"
            raise InputError(f"--{option} {text!r}: give an agent and {what}, with = between") from None
        if name in found:
            raise InputError(f"--{option} {text!r}: {name!r} is there twice; give it once")
        found[name] = made
    return found


def whole(text: str) -> int:
    """A whole number above 0; ValueError where it is none."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError
    return int(text)


with_options(RATED_OPTIONS, tables_sotopia_command)
