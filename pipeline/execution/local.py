"""One run on this machine, from the check of the input to the summary that the command prints."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.features.face.choice import chosen_detector, missing_mesh
from apportion.foundation.errors import InputError
from apportion.foundation.files import locked
from apportion.foundation.truncate import listed, shortened
from apportion.pipeline.assembly import decided, open_engine
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import disk_error
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.engine.provenance import has_video, recorded_people
from apportion.pipeline.execution.cluster import opened
from apportion.pipeline.execution.runner import RunResult, run_stages
from apportion.pipeline.execution.summary import RunSummary, left_out_lines
from apportion.pipeline.preflight import check, check_output
from apportion.pipeline.results.publish import publish
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from apportion.evaluation.figures.consistency import Consistency
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.llm_requests.batching import BatchStatus
    from apportion.pipeline.llm_requests.spend import Spending

SHOWN_REPLIES = 2
"""Contexts whose replies are said at the end; the report has all."""


def run_locally(config: Config, stages: Sequence[str], quiet: bool = False, *, batch: bool = False) -> RunSummary:
    """Check the input, run ``stages`` and what they need, publish the run folder.

    With ``batch`` the language model's first requests go through the Batch API; while one is to be waited for, the
    judgements and what builds on them are left alone.

    Raises InputError: The input cannot be used, a run of other settings holds the folder, the disk is full or
    read-only, the cluster cannot be used. Raises UnitError: A server failed that batches are handed in to or collected
    from; the disk failed.
    """
    if batch or config.run.record is not None:
        _check_requests(config, batch=batch)
    check_output(config)  # before the lock, which makes the folder
    config = decided(config)
    with output_lock(config.output, config.settings), StageProgress(quiet=quiet) as progress, _disk_told(config.store):
        warnings = check(config, stages)
        for warning in warnings:
            progress.warn(warning)
        mark = _newest_reply(config)
        status = None
        with opened(config, progress) as (config, executor):
            if batch:
                described, status = _batched(config, stages, progress, executor)
                if not status.report.finished:
                    return _summary(config, stages, described, warnings, _spent(config, mark), status)
            result = run_stages(config, stages, progress, executor)
        publish(open_engine(config))
        recording = _recorded(config, stages, progress)
        return _summary(config, stages, result, warnings, _spent(config, mark), status, recording)


def _check_requests(config: Config, *, batch: bool) -> None:
    from apportion.pipeline.llm_requests.batching import check_batch
    from apportion.pipeline.llm_requests.recording import check_record

    if batch:
        check_batch(config)
    check_record(config)


def _newest_reply(config: Config) -> int:
    if not config.may_have_replies:
        return 0
    from apportion.pipeline.llm_requests.spend import newest_reply

    return newest_reply(config)


def _spent(config: Config, mark: int) -> Spending | None:
    if not config.may_have_replies:
        return None
    from apportion.pipeline.llm_requests.spend import spending_since

    return spending_since(config, mark)


def _batched(
    config: Config, stages: Sequence[str], progress: StageProgress, executor: Executor | None
) -> tuple[RunResult, BatchStatus]:
    from apportion.pipeline.llm_requests.batching import advance_batches

    plan = open_engine(config).plan
    # A rubric is one request, without which the others are not known: it is asked for at once.
    asking = [name for name in _names(config, stages) if STAGES[name].asks and STAGES[name].per == "session"]
    before = [name for stage in asking for name in plan.upstream(stage) if name not in asking]
    described = run_stages(config, before, progress, executor) if before else RunResult(())
    return described, advance_batches(open_engine(config), asking)


def _names(config: Config, stages: Sequence[str]) -> list[str]:
    """``stages`` and everything that they need, in the order of the declaration."""
    return open_engine(config).plan.leading_to(stages)


def _left_out(config: Config, stages: Sequence[str]) -> dict[str, str]:
    """Those of ``stages``, and of what they could read, that are left out, and why."""
    plan = open_engine(config).plan
    read = set(stages)
    for name in reversed(list(plan.stages)):
        if name in read:
            read.update(plan.stages[name].needs)
    return {name: why for name, why in plan.left_out.items() if name in read}


def _recorded(config: Config, stages: Sequence[str], progress: StageProgress) -> str | None:
    if config.run.record is None:
        return None
    from apportion.pipeline.llm_requests.recording import complete_recording

    covered, missing = complete_recording(open_engine(config), _names(config, stages))
    if missing:
        progress.warn(
            f"{len(missing)} units rest on replies that are not in {config.llm_cache} any more and are not in the "
            f"recording ({listed(missing, separator='; ')})."
        )
    return f"{config.run.record}: the replies of {covered:,} units; use it with provider = 'recorded' and run.recorded"


def dry_run_text(config: Config, stages: Sequence[str], as_json: bool, *, batch: bool = False) -> str:
    """What a run would do: units of each stage, how many are finished already, and what the language model would cost.

    No key and no consent is needed for that; what the run itself would lack is among the warnings.
    """
    from apportion.pipeline.llm_requests.partner import partner_text, price_partner
    from apportion.pipeline.llm_requests.pricing import price_requests
    from apportion.pipeline.llm_requests.rollouts import price_plays

    warnings = check(config, stages, sends=False)
    engine = replace(open_engine(config), looks_only=True)
    names = _names(config, stages)
    rows = [(name, len(engine.plan.units[name]), len(engine.finished(name))) for name in names]
    left_out = _left_out(config, stages)
    pricing = price_requests(engine, names, batch=batch)
    partner = price_partner(engine, stages)
    played = price_plays(engine, names)
    if as_json:
        plan = [{"stage": name, "units": units, "finished": finished} for name, units, finished in rows]
        priced = pricing.to_json() if pricing else None
        document = {"stages": plan, "left_out": left_out, "language_model": priced, "warnings": list(warnings)}
        if partner is not None:
            document["partner"] = partner.to_json()
        if played is not None:
            document["played_on"] = played.to_json()
        return json.dumps(document, indent=1)
    lines = [f"{'stage':<14}{'units':>8}{'finished':>10}"]
    lines += [f"{name:<14}{units:>8}{finished:>10}" for name, units, finished in rows]
    lines += left_out_lines(left_out)
    lines += [pricing.text()] if pricing else []
    lines += [partner_text(partner)] if partner else []
    lines += [played.text()] if played else []
    return "\n".join([*lines, *(f"warning: {warning}" for warning in warnings), "nothing was done (--dry-run)"])


def preview_text(config: Config, stages: Sequence[str], count: int, as_json: bool) -> str:
    """The first ``count`` requests that a run would send to the language model, word for word; nothing is sent.

    Raises InputError: See ``apportion.pipeline.llm_requests.preview.preview``.
    """
    from apportion.pipeline.llm_requests.partner import preview_partner
    from apportion.pipeline.llm_requests.preview import preview
    from apportion.pipeline.llm_requests.pricing import asking_units
    from apportion.pipeline.llm_requests.rollouts import playing_units

    engine = replace(open_engine(config), looks_only=True)
    partner = preview_partner(engine, stages, count)
    leading = set(engine.plan.leading_to(stages))
    if partner is not None:
        asked = asking_units(engine, leading) or playing_units(engine, leading)
        both = {"language_model": preview(engine, leading, count)} if asked else {}
        both["partner"] = partner
        if as_json:
            return json.dumps({name: one.to_json() for name, one in both.items()}, indent=1, ensure_ascii=False)
        return "\n\n".join(one.text() for one in both.values())
    shown = preview(engine, leading, count)
    return json.dumps(shown.to_json(), indent=1, ensure_ascii=False) if as_json else shown.text()


def _summary(
    config: Config,
    stages: Sequence[str],
    result: RunResult,
    warnings: Sequence[str],
    spending: Spending | None,
    batch: BatchStatus | None = None,
    recording: str | None = None,
) -> RunSummary:
    engine = open_engine(config)
    broken = tuple(row["cause"] for row in engine.facts["quarantine"](engine) if row["stage"] == "check")
    table: str | None = None
    spreads: tuple[Consistency, ...] = ()
    if (config.output / "samples.parquet").is_file():
        import pyarrow.parquet as pq

        from apportion.evaluation.figures.consistency import consistency

        spreads = consistency(pq.read_table(config.output / "samples.parquet"))
    if any(outcome.stage == "evaluate" for outcome in result.outcomes):
        from apportion.evaluation.table import render

        for artifact in engine.finished("evaluate").values():
            table = render(artifact.document("evaluation"))
    audit = None
    if any(outcome.stage == "stability" for outcome in result.outcomes):
        audit = "".join(artifact.text("audit.md") for artifact in engine.finished("stability").values()) or None
    left_out = _left_out(config, stages)
    unjudged = _unjudged(engine) if any(outcome.stage == "rewards" for outcome in result.outcomes) else {}
    parts = (table, spreads, audit, spending, batch, recording, left_out, unjudged)
    chosen = (*engine.facts["recordings"](engine), *_of_policy(engine, result))
    replies = _replies(engine) if _is_aligned(result) else ()
    recorded = tuple(recorded_people(engine)) if "features" in result.counts() else ()
    return RunSummary(
        config,
        result,
        broken,
        tuple(warnings),
        *parts,
        detector=_detector(engine, result),
        chosen=chosen,
        replies=replies,
        recorded=recorded,
    )


def _detector(engine: Engine, result: RunResult) -> str | None:
    """What found and read the faces of this run, in words; None where no face was to be measured."""
    if "features" not in result.counts() or not has_video(engine.sessions.values()):
        return None
    settings = engine.config.features
    chosen = chosen_detector(settings)
    return chosen if missing_mesh(settings) is None else f"{chosen} (no face mesh: apportion models fetch mesh)"


def _is_aligned(result: RunResult) -> bool:
    return bool(result.counts().get("align", {}).keys() & {"done", "reused"})


def _replies(engine: Engine) -> tuple[str, ...]:
    """What the policy said before and after, to the first of the contexts that the report shows."""
    lines: list[str] = []
    for artifact in engine.finished("align").values():
        for row in artifact.table("samples").slice(0, SHOWN_REPLIES).to_pylist():
            lines += [f"{name:<14} {shortened(row[name], 240)!r}" for name in ("before", "after")]
    return tuple(lines)


def _of_policy(engine: Engine, result: RunResult) -> tuple[str, ...]:
    """What is to be known of a policy's reward model, where a policy was trained."""
    if not _is_aligned(result):
        return ()
    from apportion.pipeline.stages.align import worth_note

    note = worth_note(engine.config, engine.finished("evaluate").values())
    return () if note is None else (note,)


def _unjudged(engine: Engine) -> dict[str, int]:
    """Of how many sessions a method could say nothing at all, by its name."""
    sessions: dict[str, set[str]] = {}
    for unit, artifact in engine.finished("rewards").items():
        lacking = {row["session_id"] for row in artifact.document("projection").get("unjudged", ())}
        sessions.setdefault(str(unit.method), set()).update(lacking)
    return {method: len(lacking) for method, lacking in sessions.items() if lacking}


@contextmanager
def _disk_told(store: Path) -> Iterator[None]:
    """What the disk refuses outside of any unit (a published table) is told as a unit's is."""
    try:
        yield
    except OSError as error:
        # What is no disk's (a connection, a time limit) or lies elsewhere is not for `output` to mend.
        ours = str(error.filename or "").startswith(f"{store.parent}{os.sep}")
        if not (ours or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)):
            raise
        raise disk_error(error, store) from error


@contextmanager
def output_lock(output: Path, settings: str | None = None) -> Iterator[None]:
    """Only runs of the same ``settings`` (None: of nobody else's) are in a run folder; it ends with its process.

    Raises InputError: Another has it; the folder cannot be written.
    """
    other = "another run" if settings is None else "another run, of other settings"
    message = f"{output} is in use by {other}. Wait for it, or set another `output`."
    shared = None if settings is None else settings.encode()
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(output / ".lock", message, InputError, shared))
        except OSError as error:
            raise InputError(
                f"{output}: cannot be written ({error.strerror}). Set `output` to a folder of yours."
            ) from None
        yield
