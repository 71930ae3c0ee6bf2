"""`apportion status`: how far a run is, what its files were made from, which finished work is no longer used."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from apportion.commands.shared.options import PATH, json_option
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import check_path

EVERY_S = 2.0
IDLE = 30
"""Looks at nothing at work after which a run counts as stopped."""


@click.command("status")
@click.argument("source", metavar="RUN_OR_CONFIG", type=PATH)
@click.option("--watch", is_flag=True, help="Look again every two seconds, until the run has ended.")
@click.option("--provenance", type=PATH, metavar="FILE", help="Tell what FILE was made from.")
@click.option("--gc", is_flag=True, help="List finished work that CONFIG no longer uses.")
@click.option("--delete", is_flag=True, help="With --gc: delete it.")
@json_option("the status")
def status_command(source: Path, watch: bool, provenance: Path | None, gc: bool, delete: bool, as_json: bool) -> None:
    """Tell how far a run is: done, at work and where, failed, time and cost.

    RUN_OR_CONFIG is a run folder or a configuration; --provenance and --gc take a configuration. Any machine that sees
    the folder may ask, while the run goes on or later, whatever carries it out.
    """
    if delete and not gc:
        raise click.UsageError("--delete goes with --gc.")
    if as_json and (gc or provenance is not None):
        raise click.UsageError("--json goes with the status alone; what --provenance prints is JSON.")
    if sum((watch, gc, provenance is not None)) > 1:
        raise click.UsageError("take one of --watch, --provenance and --gc.")
    check_path(source)
    if not source.exists():
        raise InputError(f"{source}: no such run folder or configuration. Name what `apportion run` was given or made.")
    if gc or provenance is not None:
        _ask_store(source, provenance, delete)
    else:
        _tell(source, watch, as_json)


def _tell(source: Path, watch: bool, as_json: bool) -> None:
    from apportion.pipeline.config import load_config
    from apportion.pipeline.execution.status import run_status

    config = None if source.is_dir() else load_config(source, checked=())
    output = config.output if config else source
    idle = 0
    while True:
        cache = config.llm_cache if config else output / "llm_cache.sqlite"
        status = run_status(output, cache, config.run.store if config else None)
        if watch and not as_json:
            click.clear()  # only on a terminal
        click.echo(json.dumps(status.to_json()) if as_json else status.text())
        idle = 0 if status.running else idle + 1
        if not watch or status.ended:
            return
        if idle > IDLE:
            raise UnitError(f"{output}: nothing has been at work for {IDLE * EVERY_S:.0f} s, and not all is done.")
        time.sleep(EVERY_S)


def _ask_store(source: Path, made: Path | None, delete: bool) -> None:
    from dataclasses import replace

    from apportion.pipeline.assembly import open_engine
    from apportion.pipeline.config import load_config
    from apportion.pipeline.execution.local import output_lock
    from apportion.pipeline.execution.orchestrator_state import as_decided
    from apportion.pipeline.results.artifacts import leftovers, provenance_text

    if source.is_dir():
        raise InputError(f"{source} is a folder: --provenance and --gc take the configuration (TOML) of the run.")
    config = as_decided(load_config(source))
    if config.run.store is None and not config.store.is_dir():
        raise InputError(f"{config.output}: nothing has been run into this folder. Run `apportion run {source}` first.")
    engine = replace(open_engine(config), looks_only=True)
    if made is not None:
        click.echo(provenance_text(engine, made))
        return
    with output_lock(config.output):
        found = list(leftovers(engine))
        for leftover in found:
            click.echo(
                f"{leftover.stage:<16}{leftover.size:>14,} bytes  {engine.store.folder(leftover.stage, leftover.key)}"
            )
        told = f"{len(found):,} artifacts, {sum(each.size for each in found):,} bytes, no longer used"
        if delete:
            for leftover in found:
                engine.store.remove(leftover.stage, leftover.key)
        click.echo(f"{told}: {'deleted' if delete else 'nothing was done; --delete removes them'}")
