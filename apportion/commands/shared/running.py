"""What every command has that runs stages: its options, and the run that they describe."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.presets import PRESET_OPTION
from apportion.commands.shared.options import json_option, with_options
from apportion.commands.shared.session_choice import SESSIONS_OPTION, SessionChoice
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.pipeline.config import Config

RUN_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Say what would be done and stop."),
    PRESET_OPTION,
    click.option("--limit", type=click.IntRange(min=1), help="Use only the first N sessions."),
    SESSIONS_OPTION,
    click.option("--workers", type=click.IntRange(min=1), help="Worker processes; by default one a core."),
    click.option("--emotion-model", metavar="FILE", help="ONNX file of the eight emotions, or `auto` or `none`."),
    click.option("--samples", type=click.IntRange(1, 100), metavar="K", help="Ask the language model K times."),
    click.option("--allow-quarantine", is_flag=True, help="Exit with 0 though some sessions could not be processed."),
    json_option(quiet=True),
)
LLM_OPTIONS = (
    click.option("--preview", type=click.IntRange(min=1), metavar="N", help="Show the first N requests and stop."),
    click.option("--allow-host", metavar="HOST", help="Your consent to send conversation text to HOST."),
    click.option("--pseudonyms", is_flag=True, help="Show the language model other names than the speakers'."),
    click.option(
        "--budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Stop before all ever paid into the reply cache passes USD.",
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write the language model's replies to FILE.",
    ),
    click.option("--batch", is_flag=True, help="Ask by the Batch API: hand in, or collect; exit code 3: wait."),
    click.option("--forget-batch", metavar="ID", help="Give up a batch that cannot be collected any more, and stop."),
)
with_run_options = partial(with_options, RUN_OPTIONS)
with_llm_options = partial(with_options, LLM_OPTIONS)


def run(
    config: Config,
    stages: Sequence[str],
    source: str,
    *,
    only: str | None = None,
    dry_run: bool,
    limit: int | None,
    workers: int | None,
    emotion_model: str | None,
    samples: int | None,
    allow_quarantine: bool,
    as_json: bool,
    sessions: SessionChoice | None = None,
    budget: float | None = None,
    batch: bool = False,
    forget_batch: str | None = None,
    record: Path | None = None,
    preview: int | None = None,
    allow_host: str | None = None,
    pseudonyms: bool = False,
    given: Mapping[str, Any] | None = None,
) -> None:
    """Run ``stages`` as the options ask, or say what that would be, and end the process with the exit code.

    ``source`` and ``only`` are what the person gave, for the next command; ``given`` keys of [align] from options.
    """
    from apportion.pipeline.execution.local import dry_run_text, preview_text, run_locally

    if budget is not None and not math.isfinite(budget):
        raise InputError(f"--budget {budget}: give a number of US dollars.")
    config = config.with_run(limit=limit, workers=workers, budget_usd=budget, record=record and record.absolute())
    if emotion_model is not None:
        config = config.with_emotion_model(emotion_model, Path.cwd())
        source = f"{source} --emotion-model {shlex.quote(emotion_model)}"
    config = config.with_llm(allow_host=allow_host, pseudonyms=pseudonyms or None, samples=samples)
    config = config.with_run(sessions=sessions and sessions.ids)
    source += f" --sessions {shlex.quote(sessions.text)}" if sessions and sessions.ids else ""
    source += f" --allow-host {shlex.quote(allow_host)}" if allow_host else ""
    source += " --pseudonyms" if pseudonyms else ""
    source += f" --samples {samples}" if samples is not None else ""
    if preview is not None:
        click.echo(preview_text(config, stages, preview, as_json=as_json))
        return
    if forget_batch is not None:
        _forget_batch(config, forget_batch, f"apportion run {source}{f' --only {only}' if only else ''} --batch")
        return
    if dry_run:
        click.echo(dry_run_text(config, stages, as_json=as_json, batch=batch))
        return
    summary = run_locally(config, stages, quiet=as_json, batch=batch)
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=1, sort_keys=True))
    else:
        click.echo(f"{summary.text()}\n{summary.next_step(source, only, given or {})}")
    sys.exit(summary.exit_code(allow_quarantine=allow_quarantine))


def _forget_batch(config: Config, batch_id: str, again: str) -> None:
    from apportion.pipeline.llm_requests.batching import forget_batch

    click.echo(f"gave up {batch_id}: {forget_batch(config, batch_id):,} requests may be asked again")
    click.echo(f"next: {again}")
