"""`--preview` and `--dry-run`: what a language model would be asked, and what that would cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from apportion.llm_client.many_requests import PlannedRequests

LOOK_OPTIONS = (
    click.option("--preview", type=click.IntRange(1), metavar="N", help="Show the first N requests and stop."),
    click.option("--dry-run", is_flag=True, help="Say how many requests there are and what they would cost, and stop."),
)
"""Options by which a person looks at what a language model would be asked."""


def looked_at(
    planned: Callable[[], PlannedRequests],
    preview: int | None,
    dry_run: bool,
    as_json: bool = False,
    *,
    whole: bool = False,
    head: str = "",
    **facts: Any,
) -> bool:
    """Show what is ``planned`` to be asked, or what it would cost, where `LOOK_OPTIONS` want it; whether they do.

    ``whole`` as `PlannedRequests.preview` has it. ``head`` stands above the price, ``facts`` beside it in JSON.
    """
    if preview is not None:
        shown = planned().preview(preview, whole=whole)
        click.echo(json.dumps(shown.to_json(), indent=1, ensure_ascii=False) if as_json else shown.text())
    elif dry_run:
        priced = planned().price()
        text = f"{head}{priced.text()}\nnothing was sent (--dry-run)"
        click.echo(json.dumps({**facts, **priced.to_json()}, indent=1) if as_json else text)
    return preview is not None or dry_run
