"""`apportion world tables stackelberg`: leagues, social episodes and bargains, as Stackelberg Speaker reports them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, option_names, with_options
from apportion.commands.world.tables import RATED_OPTIONS, by_agent, hard_tasks_in, tell_tables, whole

VARIANT_OPTIONS = (
    click.option(
        "--against", multiple=True, metavar="AGENT", help="Whom agents are held against; one of each language model."
    ),
    click.option(
        "--reward", "rewards", multiple=True, metavar="AGENT=NAME", help="full, positive-only, negative-only (Table 2)."
    ),
    click.option("--intents", multiple=True, metavar="AGENT=K", help="Desired responses, and undesired (Figure 4)."),
    click.option("--instances", multiple=True, metavar="AGENT=N", help="What its Refiner was trained on (Figure 10)."),
    click.option("--backend", "models", multiple=True, metavar="AGENT=MODEL", help="Its language model (Figure 5)."),
)
"""Which agent is what; each may be repeated."""


@click.command("stackelberg")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, type=CORPUS)
@click.option("--hard", type=PATH, metavar="FILE", help="Social tasks that are hard, for Table 3.")
@click.option("--persuasion", type=PATH, metavar="FILE", help="What `train refiner-eval` has written, for Table 6.")
@click.option("--out", "-o", type=PATH, metavar="FOLDER", help="Write text, Markdown, JSON and SVG.")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@json_option("the tables")
def tables_stackelberg_command(
    corpora: tuple[Path, ...],
    hard: Path | None,
    persuasion: Path | None,
    out: Path | None,
    bootstrap: int,
    seed: int,
    as_json: bool,
    judge: str | None,
    humans: tuple[str, ...],
    **variants: tuple[str, ...],
) -> None:
    """Win rates of leagues (Tables 1, 2, 4, 5, Figures 4, 5, 10), SOTOPIA (Table 3), persuasion by cosine (Table 6)
    and bargains (Table 7).

    Every CORPUS is a league, games that a person played, rated social episodes or bargains, in any order. What they
    do not allow is not there, and says why; rows that nobody has played say which commands fill them.
    """
    from apportion.environments.stackelberg.curves import read_nearness
    from apportion.environments.stackelberg.report import StackelbergChoice, stackelberg_report
    from apportion.foundation.intervals.resampling import Sampling

    choice = StackelbergChoice(
        corpora,
        _variants(**variants),
        judge,
        humans,
        None if hard is None else hard_tasks_in(hard),
        () if persuasion is None else read_nearness(persuasion),
        option_names(),
    )
    made = stackelberg_report(choice, Sampling(bootstrap, seed))
    tell_tables(made, out, as_json)


def _variants(against: tuple[str, ...], **given: tuple[str, ...]) -> Any:
    from apportion.environments.stackelberg.games import Variants

    numbers = {name: by_agent(name, given[name], whole) for name in ("intents", "instances")}
    names = {"rewards": by_agent("reward", given["rewards"], str), "models": by_agent("backend", given["models"], str)}
    return Variants(against, **names, **numbers)


with_options((*VARIANT_OPTIONS, *RATED_OPTIONS), tables_stackelberg_command)
