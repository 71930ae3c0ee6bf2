"""One run on this machine, from the check of the input to the summary that the command prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foundation.errors import InputError
from foundation.files import locked
from pipeline.asking.batching import BatchStatus, advance_batches, check_batch
from pipeline.asking.pricing import price_requests
from pipeline.asking.recording import check_record, complete_recording
from pipeline.asking.spending import Spending, newest_reply, spending_since
from pipeline.config import Config
from pipeline.engine.progress import StageProgress
from pipeline.engine.units import listed
from pipeline.preflight import check
from pipeline.results.publish import publish
from pipeline.running.runner import RunResult, run_stages
from pipeline.running.shards import open_engine
from pipeline.stages.declared import ASKING

if TYPE_CHECKING:
    from evaluation.consistency import Consistency

SHOWN_FAILURES = 10
STAGE_OF = {"report": "report", "evaluation": "evaluate", "policy": "align"}
"""The stage whose one artifact a file of the run folder is."""
EXIT_LEFT, EXIT_WAITING = 1, 3


@dataclass(frozen=True)
class RunSummary:
    """What a command says at its end."""

    config: Config
    result: RunResult
    broken_sessions: tuple[str, ...]
    warnings: tuple[str, ...]
    evaluation: str | None
    consistency: tuple[Consistency, ...] = ()
    audit: str | None = None
    spending: Spending | None = None
    batch: BatchStatus | None = None
    recording: str | None = None

    @property
    def quarantined(self) -> int:
        """Sessions and units that could not be processed."""
        return len(self.broken_sessions) + len(self.result.quarantined)

    def to_json(self) -> dict[str, Any]:
        """The summary for other programs."""
        return {
            "output": str(self.config.output),
            "files": {name: str(path) for name, path in self._files().items()},
            "units": self.result.counts(),
            "warnings": list(self.warnings),
            "language_model": self.spending.to_json() if self.spending else None,
            "batch": self.batch.to_json() if self.batch else None,
            "stopped": self.result.stopped,
            "consistency": [asdict(one) for one in self.consistency],
            "quarantined": [
                *({"stage": "check", "cause": cause} for cause in self.broken_sessions),
                *({"stage": o.stage, "unit": str(o.unit), "cause": o.cause} for o in self.result.quarantined),
            ],
        }

    def exit_code(self, *, allow_quarantine: bool = False) -> int:
        """0 for done, 1 where something was left out or stopped, 3 where a batch has to be waited for."""
        if self.result.stopped or (self.batch and self.batch.failed):
            return EXIT_LEFT
        if self.quarantined and not allow_quarantine:
            return EXIT_LEFT
        return EXIT_WAITING if self.batch and self.batch.waiting else 0

    def text(self, source: str, command: str = "run") -> str:
        """The summary for a person: the table, what was written, what failed, what to do next."""
        lines = [self.evaluation, ""] if self.evaluation else []
        lines += [self.audit] if self.audit else []
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += self._failures()
        if self.spending is not None:
            lines.append(f"{'language model':<14} {self.spending.text()}")
        if self.batch is not None:
            lines.append(self.batch.text())
        if self.recording is not None:
            lines.append(f"{'recording':<14} {self.recording}")
        lines += [f"{'consistency':<14} {one.text()}" for one in self.consistency]
        files = self._files()
        for name, path in files.items():
            stale = " (an earlier run's: this one made none)" if STAGE_OF.get(name) in self._without_result else ""
            lines.append(f"{name:<14} {path}{stale}")
        if self.batch is not None and not self.batch.report.finished:
            lines.append(f"next: apportion {command} {source} --batch (the same again, later; OpenAI takes up to 24 h)")
        elif self.result.stopped:
            lines.append(f"stopped: {self.result.stopped}")
            again = f"{source} --batch" if self.batch is not None else source
            lines.append(f"next: apportion {command} {again} --budget USD (more than before)")
        elif "report" in files and STAGE_OF["report"] not in self._without_result:
            lines.append(f"next: open {files['report']}")
        elif self.audit:
            lines.append(
                f"next: apportion report {source}, which shows this where decompose.audit.sessions is set in it"
            )
        elif command.startswith("align "):
            algorithm = command.removeprefix("align ")
            lines.append(f'next: apportion run {source}, which takes this policy where align.algorithm = "{algorithm}"')
        else:
            lines.append(f"next: apportion run {source}")
        return "\n".join(lines)

    @property
    def _without_result(self) -> set[str]:
        """The stages that were to be run and have finished nothing."""
        counts = self.result.counts()
        return {stage for stage, found in counts.items() if not found.keys() & {"done", "reused"}}

    def _failures(self) -> list[str]:
        causes = [f"check: {cause}" for cause in self.broken_sessions]
        causes += [f"{outcome.stage} ({outcome.unit}): {outcome.cause}" for outcome in self.result.quarantined]
        if not causes:
            return []
        lines = [f"quarantined: {len(causes)} (all of them in {self.config.output / 'quarantine.parquet'})"]
        lines += [f"  {cause}" for cause in causes[:SHOWN_FAILURES]]
        if len(causes) > SHOWN_FAILURES:
            lines.append(f"  (+{len(causes) - SHOWN_FAILURES} more)")
        return lines

    def _files(self) -> dict[str, Path]:
        output = self.config.output
        candidates = {
            "report": output / "report.html",
            "evaluation": output / "evaluation.json",
            "audit": output / "audit.md",
            "rewards": output / "rewards.parquet",
            "samples": output / "samples.parquet",
            "reward models": output / "reward_models",
            "policy": output / "policy",
            "descriptors": output / "descriptors.parquet",
            "features": output / "utterance_features.parquet",
            "splits": output / "splits.parquet",
        }
        return {name: path for name, path in candidates.items() if path.exists()}


def run_locally(config: Config, stages: Sequence[str], quiet: bool = False, *, batch: bool = False) -> RunSummary:
    """Check the input, run ``stages`` and what they need, publish the run folder.

    With ``batch`` the language model's first requests go through the Batch API; while one is to be waited for, the
    judgements and what builds on them are left alone.

    Raises
    ------
    InputError
        The input cannot be used, another run holds the folder, the disk is full or read-only.
    UnitError
        A server failed that batches are handed in to or collected from.
    """
    if batch:
        check_batch(config)
    check_record(config)
    with _output_lock(config.output), StageProgress(quiet=quiet) as progress:
        warnings = check(config, stages)
        for warning in warnings:
            progress.warn(warning)
        mark = newest_reply(config)
        status = None
        if batch:
            described, status = _batched(config, stages, progress)
            if not status.report.finished:
                return _summary(config, described, warnings, spending_since(config, mark), status)
        result = run_stages(config, stages, progress)
        publish(open_engine(config))
        recording = _recorded(config, stages, progress)
        return _summary(config, result, warnings, spending_since(config, mark), status, recording)


def _batched(config: Config, stages: Sequence[str], progress: StageProgress) -> tuple[RunResult, BatchStatus]:
    plan = open_engine(config).plan
    asking = [name for name in _names(config, stages) if name in ASKING]
    before = [name for stage in asking for name in plan.upstream(stage) if name not in ASKING]
    described = run_stages(config, before, progress) if before else RunResult(())
    return described, advance_batches(open_engine(config), asking)


def _names(config: Config, stages: Sequence[str]) -> list[str]:
    """``stages`` and everything that they need, in the order of the declaration."""
    plan = open_engine(config).plan
    return [name for name in plan.stages if any(name in plan.upstream(stage) for stage in stages)]


def _recorded(config: Config, stages: Sequence[str], progress: StageProgress) -> str | None:
    if config.run.record is None:
        return None
    covered, missing = complete_recording(open_engine(config), _names(config, stages))
    if missing:
        progress.warn(
            f"{len(missing)} units rest on replies that are not in {config.llm_cache} any more and are not in the "
            f"recording ({listed(missing)})."
        )
    return f"{config.run.record}: the replies of {covered:,} units; use it with provider = 'recorded' and run.recorded"


def dry_run_text(config: Config, stages: Sequence[str], as_json: bool, *, batch: bool = False) -> str:
    """What a run would do: units of each stage, how many are finished already, and what the language model would cost.

    No key and no consent is needed for that; what the run itself would lack is among the warnings.
    """
    warnings = check(config, stages, sends=False)
    engine = open_engine(config)
    names = _names(config, stages)
    rows = [(name, len(engine.plan.units[name]), len(engine.finished(name))) for name in names]
    pricing = price_requests(engine, names, batch=batch)
    if as_json:
        plan = [{"stage": name, "units": units, "finished": finished} for name, units, finished in rows]
        priced = pricing.to_json() if pricing else None
        return json.dumps({"stages": plan, "language_model": priced, "warnings": list(warnings)}, indent=1)
    lines = [f"{'stage':<14}{'units':>8}{'finished':>10}"]
    lines += [f"{name:<14}{units:>8}{finished:>10}" for name, units, finished in rows]
    lines += [pricing.text()] if pricing else []
    return "\n".join([*lines, *(f"warning: {warning}" for warning in warnings), "nothing was done (--dry-run)"])


def preview_text(config: Config, stages: Sequence[str], count: int, as_json: bool) -> str:
    """The first ``count`` requests that a run would send to the language model, word for word; nothing is sent.

    Raises
    ------
    InputError
        See ``pipeline.asking.preview.preview``.
    """
    from pipeline.asking.preview import preview

    engine = open_engine(config)
    names = {name for stage in stages for name in engine.plan.upstream(stage)}
    found = preview(engine, names, count)
    return json.dumps(found.to_json(), indent=1, ensure_ascii=False) if as_json else found.text()


def _summary(
    config: Config,
    result: RunResult,
    warnings: Sequence[str],
    spending: Spending | None,
    batch: BatchStatus | None = None,
    recording: str | None = None,
) -> RunSummary:
    engine = open_engine(config)
    broken = tuple(row["cause"] for row in engine.facts["quarantine"](engine) if row["stage"] == "check")
    table: str | None = None
    found: tuple[Consistency, ...] = ()
    if (config.output / "samples.parquet").is_file():
        import pyarrow.parquet as pq

        from evaluation.consistency import consistency

        found = consistency(pq.read_table(config.output / "samples.parquet"))
    if any(outcome.stage == "evaluate" for outcome in result.outcomes):
        from evaluation.table import render

        for artifact in engine.finished("evaluate").values():
            table = render(artifact.document("evaluation"))
    audit = None
    if any(outcome.stage == "stability" for outcome in result.outcomes):
        audit = "".join(artifact.text("audit.md") for artifact in engine.finished("stability").values()) or None
    return RunSummary(config, result, broken, tuple(warnings), table, found, audit, spending, batch, recording)


@contextmanager
def _output_lock(output: Path) -> Iterator[None]:
    """Only one run at a time writes a run folder; the lock ends with its process, however that ends."""
    message = f"{output} is in use by another run. Wait for it, or set another `output`."
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(output / ".lock", message, InputError))
        except OSError as error:
            raise InputError(
                f"{output}: cannot be written ({error.strerror}). Set `output` to a folder of yours."
            ) from None
        yield
