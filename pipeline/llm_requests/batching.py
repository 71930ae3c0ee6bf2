"""`--batch`: a run's requests to the language model through the Batch API, before the stages run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from apportion.decompose.method import LogprobMethod
from apportion.decompose.methods import METHODS
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.errors import LLMError, prefixed
from apportion.llm_client.request import ChatRequest
from apportion.pipeline.llm_requests.pricing import asking_units, unit_requests
from apportion.pipeline.stages.rubric import is_unwritten
from apportion.pipeline.stages.shared import method_of

if TYPE_CHECKING:
    from apportion.llm_client.batch.batches import Batches, BatchReport
    from apportion.pipeline.config import Config
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.stage import Unit


@dataclass(frozen=True)
class BatchStatus:
    """What became of a run's batches; ``waiting`` says that the judgements have to wait for them."""

    report: BatchReport

    @property
    def waiting(self) -> bool:
        """Whether the run ends here, to be gone on with later."""
        return bool(self.report.waiting)

    @property
    def failed(self) -> bool:
        """Whether a person has to look at something."""
        return bool(self.report.problems)

    def text(self) -> str:
        """A few lines for a person."""
        report = self.report
        counts = [(report.collected, "replies collected"), (report.submitted, "requests handed in"),
                  (report.refused, "refused, to be asked directly"), (report.unanswered, "not reached before the end"),
                  (report.left_out, "left out by the budget"),
                  (report.asked_elsewhere, "being asked by another run")]  # fmt: skip
        done = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "nothing new"
        lines = [f"{'batch':<14} {report.host}: {done}"]
        if report.stopped:
            lines.append(f"  {report.stopped}")
        lines += [
            f"  {batch.batch_id}: {batch.status}" + (f", {batch.done:,} of {batch.total:,} done" if batch.total else "")
            for batch in report.waiting
        ]
        return "\n".join([*lines, *(f"  problem: {problem}." for problem in report.problems)])

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {**asdict(self.report), "finished": self.report.finished}


def check_batch(config: Config) -> None:
    """Raise InputError where a run has nothing that a batch could ask."""
    methods = (METHODS[name] for name in config.decompose.judging)
    if not any(method.asks and not isinstance(method, LogprobMethod) for method in methods):
        raise InputError(
            f"--batch: none of the methods ({', '.join(config.decompose.methods)}) asks a language model for "
            "words. Leave --batch out, or add llm or llm-multimodal."
        )
    if config.decompose.llm.provider != "openai":
        raise InputError("--batch: recorded replies are asked of no server. Leave --batch out.")


def advance_batches(engine: Engine, stages: Collection[str]) -> BatchStatus:
    """Collect what is ready, and hand in the first requests of ``stages`` that have no reply yet.

    Raises InputError: The server, the key, the files or the budget do not allow it. Raises UnitError: The server failed
    after all retries; what was collected is kept.
    """
    requests: dict[str, ChatRequest] = {}
    for stage, unit in asking_units(engine, stages):
        if engine.artifact(stage, unit) is None and not is_unwritten(engine, method_of(unit)):
            requests.update((request.key(), request) for request in _first_requests(engine, stage, unit))
    with _batches(engine.config) as batches:
        return BatchStatus(batches.advance(list(requests.values())))


def _first_requests(engine: Engine, stage: str, unit: Unit) -> list[ChatRequest]:
    try:
        return [request for request, _ in unit_requests(engine, stage, unit)[0]]
    except UnitError:
        return []  # It cannot be asked at all; its judgement says why.


def forget_batch(config: Config, batch_id: str) -> int:
    """Give up a batch that cannot be collected any more; returns how many requests may be asked again."""
    with _batches(config) as batches:
        return batches.forget(batch_id)


@contextmanager
def _batches(config: Config) -> Iterator[Batches]:
    from apportion.llm_client.batch.batches import Batches

    llm, run = config.decompose.llm, config.run
    with (
        prefixed("decompose.llm", LLMError),
        Batches(llm, config.llm_cache, prices=run.prices, budget_usd=run.budget_usd) as batches,
    ):
        yield batches
