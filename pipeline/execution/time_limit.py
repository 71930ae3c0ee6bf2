"""How long the questions of a run take at most, if nothing hangs: what an orchestrator gives their shards."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from apportion.decompose.method import RolloutMethod
from apportion.decompose.methods import METHODS
from apportion.pipeline.llm_requests.rollouts import most_played

if TYPE_CHECKING:
    from apportion.decompose.settings import LLMMethodSettings
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.stage import Stage, Unit

_CHARACTERS_A_TOKEN = 4
_PARTS_A_CONTEXT = 4
"""A part of a long dialogue has its prompt and its reply beside it, and shares turns with the next one."""


def asked_time_s(engine: Engine, stage: Stage) -> float | None:
    """Seconds after which a shard of ``stage`` begins no further unit; None where none of its units asks.

    All that the run asks shares the limits, whatever shard it is in, and each shard has ended when all of them have. So
    it is the time of all requests together, were each to take ``timeout_s``: as many at once as there may be, then the
    longest chain of those that wait for each other (Graham's bound for a list of jobs), but no faster than the limits a
    minute let them out; and once the time in which a server that takes nothing is given up.
    """
    config = engine.config
    if stage.name in engine.plan.left_out or not any(
        engine.at_once(stage.name, unit) for unit in engine.plan.units[stage.name]
    ):
        return None
    if config.run.llm_shard_timeout_s is not None:
        return config.run.llm_shard_timeout_s
    llm, requests = config.decompose.llm, _requests(engine)
    total, chain = sum(total for total, _ in requests), max(chain for _, chain in requests)
    return llm.total_timeout_s + max((ceil(total / llm.concurrency) + chain) * llm.timeout_s, _paced_s(llm, total))


def grace_s(engine: Engine) -> float:
    """Seconds that units which have begun take at most, until the client itself has given up.

    A request without an answer is tried again, and as many units as there may be requests at once wait for the limits a
    minute together.
    """
    llm = engine.config.decompose.llm
    tries = max((chain for _, chain in _requests(engine)), default=1) * (llm.max_retries + 1)
    return llm.total_timeout_s + tries * llm.timeout_s + _paced_s(llm, llm.concurrency * tries)


def _paced_s(llm: LLMMethodSettings, requests: int) -> float:
    """Seconds in which the limits a minute let out so many requests, each as long as it may be."""
    by_requests = requests / llm.requests_per_minute if llm.requests_per_minute else 0.0
    by_tokens = requests * llm.context_tokens / llm.tokens_per_minute if llm.tokens_per_minute else 0.0
    return 60 * max(by_requests, by_tokens)


def _requests(engine: Engine) -> list[tuple[int, int]]:
    """Of each unit that asks, how many requests it may make, and how many of them wait for each other."""
    return [
        _of_unit(engine, unit)
        for name, units in engine.plan.units.items()
        if engine.plan.stages[name].asks and name not in engine.plan.left_out
        for unit in units
        if engine.at_once(name, unit)
    ]


def _of_unit(engine: Engine, unit: Unit) -> tuple[int, int]:
    method, llm = METHODS[str(unit.method)], engine.config.decompose.llm
    if isinstance(method, RolloutMethod) and not method.asks:
        plays, chain = most_played(engine, unit)
        return plays * chain, chain
    count = _parts(engine, unit, llm) * llm.samples * llm.max_reply_attempts  # In parts, samples and attempts.
    return count, count


def _parts(engine: Engine, unit: Unit, llm: LLMMethodSettings) -> int:
    assert unit.session_id is not None, f"a unit that asks has no session: {unit}"
    tokens = sum(len(turn.text) for turn in engine.sessions[unit.session_id].turns) / _CHARACTERS_A_TOKEN
    return 1 + int(_PARTS_A_CONTEXT * tokens / llm.context_tokens)
