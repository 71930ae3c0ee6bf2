"""`apportion models cache`: whether a file of replies is sound, and how to save what a damaged one still holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.options import json_option
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.llm_client.cache.inspection import Contents

_DEFAULT = "llm_cache.sqlite"
_place = click.argument("place", metavar="FILE|RUN_FOLDER|URL")


@click.group("cache")
def cache_group() -> None:
    """Check and repair what keeps a language model's paid replies (run.llm_cache)."""


@cache_group.command("check")
@_place
@json_option()
def check_command(place: str, as_json: bool) -> int:
    """Count the replies that can be read and those that cannot. Changes nothing; others may use it.

    Exit code 0: all is sound; 1: it is damaged.
    """
    from apportion.llm_client.cache.inspection import inspect, inspect_server

    path = _place_of(place)
    contents = inspect_server(path) if isinstance(path, str) else inspect(path)
    if as_json:
        values = {"path": str(path), "sound": contents.sound, "readable": len(contents.replies), "lost": contents.lost}
        values |= {"lost_usd": contents.lost_usd, "only_by_pages": contents.by_pages, "problems": contents.problems}
        click.echo(json.dumps(values, indent=1, sort_keys=True))
        return 0 if contents.sound else 1
    click.echo(f"{path}: {len(contents.replies):,} replies can be read, {_lost(contents)}")
    if contents.sound:
        click.echo("the ledger is sound (the server's own files: pg_amcheck)" if path is place else "the file is sound")
        return 0
    if contents.by_pages:
        click.echo(f"{contents.by_pages:,} of them SQLite does not find any more; they are read page by page")
    for problem in contents.problems:
        click.echo(f"  SQLite: {problem}")
    if isinstance(path, str):
        click.echo("next: the run's own command again; it asks, and pays, for what cannot be read")
        return 1
    click.echo(f"the file is damaged; next: apportion models cache repair {place}")
    return 1


@cache_group.command("repair")
@_place
def repair_command(place: str) -> None:
    """Save what can be read of a damaged file into a new one.

    It gets the file's name, and the damaged one stays beside it as FILE.damaged-N. Refused while another process uses
    the file.
    """
    from apportion.llm_client.cache.repair import repair

    path = _place_of(place)
    if isinstance(path, str):
        raise InputError(f"{path}: a server mends its own files. Restore the database from a backup (pg_restore).")
    done = repair(path)
    if done.damaged is None:
        click.echo(f"{path}: nothing to repair, {len(done.contents.replies):,} replies can be read")
        return
    click.echo(f"{path}: saved {len(done.contents.replies):,} replies, {_lost(done.contents)}")
    if done.contents.lost_usd:
        click.echo("what was paid for lost replies stays counted against budgets")
    if done.contents.adrift:
        click.echo(f"{done.contents.adrift:,} requests were in a batch that is lost: they are asked, and paid, anew")
    click.echo(f"the damaged file is kept: {done.damaged}")
    click.echo("next: the run's own command again; it asks only for what is missing")


def _place_of(given: str) -> Path | str:
    from apportion.llm_client.cache.database import ledger_place

    try:
        place = ledger_place(given)
    except ValueError as error:
        raise InputError(f"this URL is no ledger's: {error}.") from None
    inside = isinstance(place, Path) and place.is_dir() and (place / _DEFAULT).exists()
    return place / _DEFAULT if isinstance(place, Path) and inside else place


def _lost(contents: Contents) -> str:
    from apportion.llm_client.usage import usd_text

    if not contents.lost and not contents.sound and contents.account is None:
        return "and how many are lost is not known"
    if not contents.lost:
        return "none is lost"
    cost = f", which cost {usd_text(contents.lost_usd)}" if contents.lost_usd else ""
    return f"{contents.lost:,} are lost{cost}"
