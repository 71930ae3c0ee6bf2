"""What a run has come to: for a person, for other programs, and as an exit code."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from apportion.foundation.truncate import indented
from apportion.pipeline.config import Config
from apportion.pipeline.execution.runner import RunResult

if TYPE_CHECKING:
    from apportion.evaluation.figures.consistency import Consistency
    from apportion.pipeline.engine.engine import Outcome
    from apportion.pipeline.engine.stage import Unit
    from apportion.pipeline.llm_requests.batching import BatchStatus
    from apportion.pipeline.llm_requests.spend import Spending

SHOWN_FAILURES = 10
STAGE_OF = {"report": "report", "evaluation": "evaluate", "policy": "align"}
"""The stage whose one artifact a file of the run folder is."""
EXIT_LEFT, EXIT_WAITING = 1, 3
EMPTY: Mapping[str, Any] = MappingProxyType({})


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
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Stages that were not run though the command has them, and why."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """Methods, and of how many sessions each could say nothing: no failure, and no rewards there."""
    detector: str | None = None
    """What found and read the faces; None where none is filmed."""
    chosen: tuple[str, ...] = ()
    """What had to be chosen in recordings, and what is not known of a policy's reward model: known at the end alone,
    unlike ``warnings``, which are told at the start."""
    replies: tuple[str, ...] = ()
    """What the policy replied before and after it was trained."""
    recorded: tuple[str, ...] = ()
    """How much there is of who was measured, a line a person."""

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
            "warnings": [*self.warnings, *self.chosen],
            "language_model": self.spending.to_json() if self.spending else None,
            "batch": self.batch.to_json() if self.batch else None,
            "detector": self.detector,
            "recorded": list(self.recorded),
            "replies": list(self.replies),
            "stopped": self.result.stopped,
            "left_out": dict(self.left_out),
            "nothing_to_judge_by": dict(self.unjudged),
            "consistency": [asdict(spread) for spread in self.consistency],
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

    def text(self) -> str:
        """The summary for a person: the table, what failed, what was paid, what was written.

        ``warnings`` are not said again: whoever reads this has heard them before the work began.
        """
        lines = []
        if self.evaluation:
            from apportion.pipeline.presets import preset_notes

            # A table says first whose settings it is made by, and what stands in for what.
            lines = [*preset_notes(self.config), self.evaluation, ""]
        lines += [self.audit] if self.audit else []
        lines += self.recorded
        lines += [f"warning: {text}" for text in self.chosen]
        lines += [f"{'faces':<14} by {self.detector}"] if self.detector is not None else []
        lines += left_out_lines(self.left_out)
        lines += [
            f"{'no rewards':<14} by {method} where it had nothing to judge by, in {count:,} of the sessions"
            for method, count in self.unjudged.items()
        ]
        lines += self._failures()
        if self.spending is not None:
            lines.append(f"{'language model':<14} {self.spending.text()}")
        if self.batch is not None:
            lines.append(self.batch.text())
        if self.recording is not None:
            lines.append(f"{'recording':<14} {self.recording}")
        lines += [f"{'consistency':<14} {spread.text()}" for spread in self.consistency]
        for name, path in self._files().items():
            stale = " (an earlier run's: this one made none)" if STAGE_OF.get(name) in self._without_result else ""
            lines.append(f"{name:<14} {path}{stale}")
        lines += self.replies
        if self.result.stopped and not self._waits:
            why = self.result.stopped
            lines.append(why if why.startswith("stopped ") else f"stopped: {why}")
        return "\n".join(lines)

    def next_step(self, source: str, only: str | None = None, given: Mapping[str, Any] = EMPTY) -> str:
        """One line that says what to do next, after `apportion run SOURCE` has led here, with `--only` where given.

        ``given`` are keys of [align] that the command's options went before.
        """
        report = self._files().get("report")
        options = (_option(key, value) for key, value in given.items())
        again = " ".join([source, *([f"--only {only}"] if only else []), *options])
        if self._waits:
            return f"next: apportion run {again} --batch (the same again, later; OpenAI takes up to 24 h)"
        if self.result.stopped:
            again = f"{again} --batch" if self.batch is not None else again
            if self.result.same_again:
                return f"next: apportion run {again} (the same again, once the server takes requests)"
            return f"next: apportion run {again} --budget USD (more than before)"
        if report is not None and self.result.counts().get(STAGE_OF["report"], {}).keys() & {"done", "reused"}:
            return f"next: open {report}"
        if only is None and STAGE_OF["report"] in self.left_out:
            return f"next: look into {self.config.output}; the report is left out"
        if self.audit:
            report_of = f"apportion run {source} --only report"
            return f"next: {report_of}, which shows this where decompose.audit.sessions is set in it"
        if given:
            keys = ", ".join(f"align.{key} = {json.dumps(value)}" for key, value in given.items())
            return f"next: apportion run {source}, which takes this policy where {keys}"
        return f"next: apportion run {source}"

    @property
    def _waits(self) -> bool:
        """Whether a batch is not finished."""
        return self.batch is not None and not self.batch.report.finished

    @property
    def _without_result(self) -> set[str]:
        """The stages that were to be run and have finished nothing, and those that were left out."""
        counts = self.result.counts()
        nothing = {stage for stage, statuses in counts.items() if not statuses.keys() & {"done", "reused"}}
        return nothing | self.left_out.keys()

    def _failures(self) -> list[str]:
        causes = [f"check: {cause}" for cause in self.broken_sessions]
        causes += _told_once(self.result.quarantined)
        if not causes:
            return []
        lines = [f"quarantined: {self.quarantined} (all of them in {self.config.output / 'quarantine.parquet'})"]
        return lines + indented(causes, SHOWN_FAILURES)

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


def _option(key: str, value: Any) -> str:
    name = f"--{key.replace('_', '-')}"
    return name if value is True else f"{name} {shlex.quote(str(value))}"


def _told_once(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each failure; what several methods lack of one session for the same cause is one."""
    alike: dict[tuple[str, str | None, str | None], list[Unit]] = {}
    for number, outcome in enumerate(outcomes):
        of = outcome.unit.session_id
        alike.setdefault((outcome.stage, of, outcome.cause if of else str(number)), []).append(outcome.unit)
    first = {(outcome.stage, outcome.unit): outcome.cause for outcome in outcomes}
    return [
        f"{stage} ({'; '.join(map(str, units))}): {first[stage, units[0]]}" for (stage, _, _), units in alike.items()
    ]


def left_out_lines(left_out: Mapping[str, str]) -> list[str]:
    """A line for each stage that is left out."""
    return [f"{'left out':<14} {stage} ({why})" for stage, why in left_out.items()]
