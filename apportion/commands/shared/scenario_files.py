"""Kinds of `apportion import` that make a file of scenarios to be played, and no corpus."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click

AMAZON = "amazonhistoryprice"
SCENARIO_KINDS: Mapping[str, Mapping[str, str]] = {
    AMAZON: {"budget": "the buyer's budget in parts of the list price; 0.8 as published"}
}
"""By kind, the options that it takes, with what each means."""


def import_scenarios(source: Path, out: Path, options: Mapping[str, str], overwrite: bool, as_json: bool) -> None:
    """Write the products of AmazonHistoryPrice as bargains; exit code 1 where some are damaged."""
    from apportion.environments.negotiation.bargaining.published import BUDGET, LICENCE, import_products
    from apportion.foundation.errors import InputError

    for name in options:
        if name not in SCENARIO_KINDS[AMAZON]:
            raise InputError(f"import {AMAZON}: no option {name!r}; there is {', '.join(SCENARIO_KINDS[AMAZON])}")
    if out.exists() and not overwrite:
        raise InputError(f"{out} is there; name another file, or give --overwrite")
    try:
        budget = float(options.get("budget", BUDGET))
    except ValueError:
        raise InputError(f"budget = {options['budget']!r}: a number such as {BUDGET}") from None
    made = import_products(source, out, budget)
    if as_json:
        document = {
            "products": made.products, "bargains": len(made.bargains), "left_out": made.left_out,
            "damaged": list(made.damaged), "licence": LICENCE,
        }  # fmt: skip
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(f"wrote {out}: {len(made.bargains):,} bargains of {made.products:,} products")
        for why, count in made.left_out.items():
            click.echo(f"left out: {count:,} ({why})")
        click.echo(LICENCE)
        click.echo(f"next: apportion world simulate bargaining play --scenarios {out} --games {len(made.bargains)}")
    for what in made.damaged:
        click.echo(f"damaged: {what}", err=True)
    if made.damaged:
        sys.exit(1)
