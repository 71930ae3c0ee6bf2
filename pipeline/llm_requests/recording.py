"""`--record`: what a run's judgements rest on as a file of recorded replies, those of earlier runs among them."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.recorded import Recorder, live_header
from apportion.llm_client.errors import prefixed
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.pipeline.engine.stage import Work
from apportion.pipeline.llm_requests.pricing import asking_units
from apportion.pipeline.llm_requests.rollouts import JUDGING, playing_units

if TYPE_CHECKING:
    from apportion.pipeline.config import Config
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.stage import Unit


class ReplayAsker:
    """Answers judging from the reply cache alone and records each answer."""

    def __init__(self, cache: ReplyCache, recorder: Recorder) -> None:
        self._cache, self._recorder = cache, recorder

    def complete(self, request: ChatRequest) -> ChatReply:
        """The kept reply.

        Raises UnitError: There is none.
        """
        reply = self._cache.get(request.key())
        if reply is None:
            raise UnitError(f"{request.subject}: its reply is not in the cache.")
        self._recorder.add(request, reply)
        return reply


def check_record(config: Config) -> None:
    """Raise InputError where a run has nothing to record."""
    if config.run.record is not None and config.decompose.llm.provider == "recorded":
        raise InputError(
            "--record (run.record): this run's replies come from a recording already. Copy that file instead, or use "
            "provider = 'openai'."
        )


def complete_recording(engine: Engine, stages: Collection[str]) -> tuple[int, list[Unit]]:
    """Record every reply that the finished units of ``stages`` rest on; those received in this run are there already.

    Returns how many units are covered, and the units whose replies are not in the cache any more.

    Raises InputError: The recording or the cache cannot be used.
    """
    path, config = engine.config.run.record, engine.config
    units = [*asking_units(engine, stages), *((JUDGING, unit) for unit in playing_units(engine, stages))]
    if path is None or not units or not config.may_have_replies:
        return 0, []
    with prefixed("decompose.llm"):
        cache = ReplyCache(config.llm_cache)
        recorder = Recorder(path, live_header(config.decompose.llm))
        asker = ReplayAsker(cache, recorder)
        try:
            finished = [(stage, unit) for stage, unit in units if engine.artifact(stage, unit) is not None]
            missing = [unit for stage, unit in finished if not _replayed(engine, stage, unit, asker)]
        finally:
            recorder.close()
            cache.close()
    return len(finished) - len(missing), missing


def _replayed(engine: Engine, name: str, unit: Unit, asker: ReplayAsker) -> bool:
    stage = engine.plan.stages[name]
    with tempfile.TemporaryDirectory() as scratch:
        work = Work(Path(scratch), lambda done, total, text: None, lambda: asker)
        try:
            stage.fn(engine.inputs(stage, unit), engine.config, work)
        except UnitError:
            return False
    return True
