"""`apportion simulate`: episodes of simulated environments as a corpus."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import get_args

import click


@click.group("simulate")
def simulate_group() -> None:
    """Play simulated dialogues; what was played becomes a corpus like any other.

    Nobody spoke in it: sessions are marked as simulated wherever they show.
    """


@simulate_group.command("sotopia")
@click.argument("out", metavar="CORPUS", type=click.Path(path_type=Path))
@click.option("--agents", default="conceding", show_default=True, help="Who plays, by name, with commas between.")
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="A bundled scenario; all without it.")
@click.option("--pairs", type=click.IntRange(1), default=5, show_default=True, help="Pairs of characters a scenario.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Episodes of every task.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
@click.option("--visibility", type=click.Choice(["paper", "released"]), default="released", show_default=True,
              help="What is known of others: section 2.1, or what the released code shows.")  # fmt: skip
@click.option("--most-acts", type=click.IntRange(1), default=20, show_default=True, help="Acts in all, at most.")
@click.option("--overwrite", is_flag=True, help="Replace a corpus, with its log, that is already there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def simulate_sotopia_command(
    out: Path,
    agents: str,
    scenarios: tuple[str, ...],
    pairs: int,
    repeats: int,
    seed: int,
    visibility: str,
    most_acts: int,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Play social episodes (SOTOPIA) by scripted agents, scored by the judge `rules`.

    Every ordered pair of --agents plays every task. GOAL, FIN and SEC are scored where a scenario's rules can tell;
    that is not SOTOPIA-EVAL. The log lies beside the tables (episodes.jsonl): the same command goes on after a kill.
    """
    from apportion.commands.progress import shown_progress
    from environments.sotopia.game import Rules
    from environments.sotopia.simulation import Choice, plans_of, simulate_sotopia
    from environments.sotopia.visibility import Visibility

    assert visibility in get_args(Visibility)
    names = tuple(name.strip() for name in agents.split(",") if name.strip())
    rules = Rules(visibility, most_acts)  # type: ignore[arg-type]
    choice = Choice(names, scenarios, pairs, repeats, seed, rules)
    total = len(plans_of(choice))
    with shown_progress("simulate", "episodes", as_json) as progress:
        played = 0

        def ended(count: int) -> None:
            nonlocal played
            played += count
            progress(played, total)

        report = simulate_sotopia(choice, out, overwrite=overwrite, progress=ended)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1, sort_keys=True))
    else:
        click.echo(str(report))
        click.echo(f"next: apportion inspect {out}")
    if report.left_out or report.problems:
        sys.exit(1)
