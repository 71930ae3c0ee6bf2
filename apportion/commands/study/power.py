"""`apportion study power`: how many items and annotators tell a difference of so many points apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import PATH, json_option
from apportion.foundation.errors import InputError


@click.command("power")
@click.argument("study", required=False, metavar="[STUDY]", type=PATH)
@click.option("--items", type=click.IntRange(2, 100_000), help="Items that count.  [default: STUDY's, else 100]")
@click.option("--annotators-per-item", "per_item", type=click.IntRange(1, 1_000), help="[default: STUDY's, else 3]")
@click.option("--annotators", type=click.IntRange(2, 100_000), help="[default: as many as STUDY's items need, else 30]")
@click.option("--systems", type=click.IntRange(2, 26), help="With the base.  [default: STUDY's, else 8]")
@click.option("--criteria", "criteria", type=click.IntRange(1, 50), help="[default: STUDY's, else 9]")
@click.option("--base-share", type=float, default=0.2, show_default=True, help="How often the base is marked (0 to 1).")
@click.option(
    "--difference", "differences", type=float, multiple=True, help="In points, below 0: worse. Again for more."
)
@click.option("--ratings", "sd", type=float, metavar="SD", help="Ratings with this standard deviation, not marks.")
@click.option("--independent", is_flag=True, help="Assume that answers have nothing in common: the best there can be.")
@click.option("--pilot", is_flag=True, help="STUDY has answers: take from them how much they have in common.")
@click.option("--wanted", type=click.FloatRange(0.05, 0.999), default=0.8, show_default=True, help="The power wanted.")
@click.option("--simulate", type=click.IntRange(1), metavar="STUDIES", help="Count on simulated studies, too (marks).")
@click.option("--page", type=PATH, metavar="FILE", help="Write a page of it, too (.html).")
@json_option(quiet=True)
def power_command(study: Path | None, as_json: bool, page: Path | None, **asked: Any) -> None:
    """Tell which true differences a study of some size finds, and how many items a difference needs.

    Without STUDY the size is that of LLM-GELI's Table 1: 100 items, 3 of 30 annotators an item, 8 systems, 9 criteria.
    Differences are points of a share of marks (5 is 20 % to 25 %), or of a rating's mean with --ratings.
    """
    from apportion.foundation.files import write_atomically
    from apportion.study.planning import Plan, as_page, plan_of, planned

    if page is not None and page.suffix.lower() != ".html":
        raise InputError(f"--page {page}: a page's name ends in .html.")
    plan = Plan(**{name: value for name, value in asked.items() if value is not None and value != ()})
    found = planned(plan if study is None else plan_of(study, plan))
    click.echo(json.dumps(found.to_json(), indent=1) if as_json else found.text())
    if page is not None:
        write_atomically(page, as_page(found))
        if not as_json:
            click.echo(f"wrote {page}")
