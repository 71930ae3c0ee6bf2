"""What the language model's part of a run would take: requests answered and left, tokens, and their price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from apportion.decompose.audit.query import audit_cases, case_requests
from apportion.decompose.method import Method, RolloutMethod, RubricMethod
from apportion.decompose.prompt_building.rubric import EXAMPLE, TOKENS_A_RUBRIC
from apportion.decompose.reply_parsing import TOKENS_A_REPLY, TOKENS_A_TURN
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.session_methods.rubric import TOKENS_A_TURN as TOKENS_A_RUBRIC_TURN
from apportion.foundation.errors import UnitError
from apportion.llm_client.cache.recorded import kept_replies
from apportion.llm_client.cost.estimate import RUN_PRICES, CostEstimate, cost_text, estimate
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.pipeline.llm_requests.spend import budget_so_far
from apportion.pipeline.stages.choose import chosen_sessions
from apportion.pipeline.stages.registry import STAGES
from apportion.pipeline.stages.rollout_context import played_session
from apportion.pipeline.stages.rubric import RUBRIC, rubric_request, with_rubric
from apportion.pipeline.stages.shared import method_of, session_method_of

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.pipeline.config import Config
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.stage import Unit

JUDGING = "judge"
"""The stage whose questions can be about some sessions for all."""


@dataclass(frozen=True)
class Pricing:
    """The estimate, how many of its sessions lack the descriptors that their question will hold, and what is left out.

    ``budget`` says how far the run's budget is used up. ``unaskable`` sessions do not fit into the model's context in
    parts either. Sessions that are ``played`` on ask more than their first requests, which nobody can know before.
    Where ``max_sessions`` are judged for all, ``estimate`` is of those, as ``chosen`` or of as many average ones, and
    ``whole`` what judging all would take.
    """

    estimate: CostEstimate
    recorded: bool
    without_descriptors: int
    unaskable: int = 0
    batch: bool = False
    budget: str | None = None
    played: int = 0
    whole: CostEstimate | None = None
    chosen: bool = False
    max_sessions: int | None = None

    def text(self) -> str:
        """A few lines for a person."""
        lines = [f"language model  {self.estimate.text(RUN_PRICES)}"]
        if self.recorded:
            lines = [
                f"language model  {self.estimate.requests:,} requests, {self.estimate.answered:,} of them recorded"
            ]
        lines += self._before()
        if self.batch:
            lines.append("  at the prices of the Batch API; what is asked again after a bad reply costs the full price")
        if self.budget is not None:
            lines.append(f"  {self.budget}")
        if self.without_descriptors:
            lines.append(
                f"  {self.without_descriptors:,} multimodal sessions lack descriptors and are counted by their text "
                "alone; run `apportion run --only verbalize` first to count them whole"
            )
        if self.unaskable:
            lines.append(f"  {self.unaskable:,} sessions do not fit into decompose.llm.context_tokens and are left out")
        if self.played:
            lines.append(
                f"  {self.played:,} sessions are played on; what is asked after a play's first act is not counted"
            )
        return "\n".join(lines)

    def _before(self) -> list[str]:
        """What judging all sessions would take instead."""
        if self.whole is None:
            return []
        told = f"{self.whole.requests:,} requests"
        if not self.recorded:
            told += f", {self.whole.remaining:,} to ask: {cost_text(self.whole.usd, 'about', RUN_PRICES)}"
        which = (
            "as chosen"
            if self.chosen
            else "of as many average ones; `apportion run --only select-sessions` says which, and counts them"
        )
        return [f"  decompose.llm.max_sessions = {self.max_sessions}, {which}; judging all sessions takes {told}"]

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        some = {"max_sessions": self.max_sessions, "chosen": self.chosen}
        return {
            **({**some, "all_sessions": self.whole.to_json()} if self.whole is not None else {}),
            **self.estimate.to_json(),
            "recorded": self.recorded,
            "batch": self.batch,
            "budget": self.budget,
            "sessions_without_descriptors": self.without_descriptors,
            "unaskable_sessions": self.unaskable,
            **({"played_sessions": self.played} if self.played else {}),
        }


def asking_units(engine: Engine, stages: Collection[str]) -> list[tuple[str, Unit]]:
    """Every unit of ``stages`` whose method lists what it asks a language model, with its stage.

    Where some sessions are to be judged for all, those that were chosen; all while none are.
    """
    chosen = chosen_sessions(engine)
    return [
        (stage, unit)
        for stage, unit in _all_asking(engine, stages)
        if chosen is None or not is_limited(engine, stage, unit) or unit.session_id in chosen
    ]


def is_limited(engine: Engine, stage: str, unit: Unit) -> bool:
    """Whether a unit asks about its session only if that is among those that are judged for all."""
    return stage == JUDGING and str(unit.method) in engine.config.decompose.some_judge


def _all_asking(engine: Engine, stages: Collection[str]) -> list[tuple[str, Unit]]:
    return [
        (stage, unit)
        for stage in STAGES
        if stage in stages and STAGES[stage].asks
        for unit in engine.plan.units[stage]
        if method_of(unit).asks
    ]


def price_requests(engine: Engine, stages: Collection[str], *, batch: bool = False) -> Pricing | None:
    """Count and price the first requests of every unit of ``stages`` that asks a language model; None where none does.

    What is sent again after a mistake is not foreseen. ``batch`` takes the Batch API's prices.

    Raises InputError: A price table or the file of recorded replies cannot be read.
    """
    asking = _all_asking(engine, stages)
    if not asking:
        return None
    config = engine.config
    seen = _Seen.of(engine, asking)
    settings, some = config.decompose.llm, any(is_limited(engine, *one) for one in asking)
    with prefixed("decompose.llm"):
        price = find_price(settings.model, config.run.prices)
        if batch and price is not None:
            price = price.batched()
        with kept_of(config) as kept:

            def find(request: ChatRequest) -> ChatReply | None:
                done = ChatReply("", "") if request.key() in seen.finished else None
                return kept(request) or done

            def counted(units: Collection[tuple[str, Unit]]) -> CostEstimate:
                return estimate(settings.model, [r for unit in units for r in seen.requests[unit]], find, price)

            taken = _taken(engine, asking, counted)
            whole = counted(asking) if some else None
    return Pricing(
        estimate=taken,
        recorded=settings.provider == "recorded",
        without_descriptors=len(seen.lacking),
        unaskable=len(seen.unaskable),
        batch=batch,
        budget=budget_so_far(config),
        played=len({str(unit.session_id) for _, unit in asking if isinstance(method_of(unit), RolloutMethod)}),
        whole=whole,
        chosen=chosen_sessions(engine) is not None,
        max_sessions=settings.max_sessions if some else None,
    )


@dataclass(frozen=True)
class _Seen:
    """What was found of the units that may ask: their requests, those of finished ones, and the sessions of which
    something is missing or that cannot be asked about."""

    requests: Mapping[tuple[str, Unit], list[tuple[ChatRequest, int]]]
    finished: frozenset[str]
    lacking: frozenset[str]
    unaskable: frozenset[str]

    @classmethod
    def of(cls, engine: Engine, asking: Collection[tuple[str, Unit]]) -> _Seen:
        requests: dict[tuple[str, Unit], list[tuple[ChatRequest, int]]] = {}
        finished: set[str] = set()
        lacking: set[str] = set()
        unaskable: set[str] = set()
        chosen = chosen_sessions(engine)
        for stage, unit in asking:
            listed: list[tuple[ChatRequest, int]] = []
            try:
                listed, lacks = unit_requests(engine, stage, unit)
            except UnitError:
                unaskable.add(str(unit.session_id))
            else:
                lacking |= {str(unit.session_id)} if lacks else set()
            requests[stage, unit] = listed
            is_asked = chosen is None or not is_limited(engine, stage, unit) or unit.session_id in chosen
            if is_asked and engine.artifact(stage, unit) is not None:
                finished.update(request.key() for request, _ in listed)
        return cls(requests, frozenset(finished), frozenset(lacking), frozenset(unaskable))


def _taken(
    engine: Engine,
    asking: Collection[tuple[str, Unit]],
    counted: Callable[[Collection[tuple[str, Unit]]], CostEstimate],
) -> CostEstimate:
    """What is asked: about the chosen sessions or, where none are yet, about as many of the average one."""
    limited = [one for one in asking if is_limited(engine, *one)]
    chosen = chosen_sessions(engine)
    if not limited or chosen is not None:
        return counted([one for one in asking if one not in set(limited) or one[1].session_id in (chosen or ())])
    sessions = {unit.session_id for _, unit in limited}
    share = min(1.0, (engine.config.decompose.llm.max_sessions or 0) / len(sessions))
    others, some = counted([one for one in asking if one not in set(limited)]), counted(limited)
    usd = None if some.usd is None or others.usd is None else others.usd + share * some.usd
    added = {
        name: getattr(others, name) + round(share * getattr(some, name))
        for name in ("requests", "answered", "input_tokens", "output_tokens")
    }
    return replace(some, **added, usd=usd)


def unit_requests(engine: Engine, stage: str, unit: Unit) -> tuple[list[tuple[ChatRequest, int]], bool]:
    """The unit's requests with the output to expect, and whether it will have behaviour that is not made yet.

    Raises UnitError: Nothing can be asked about its session.
    """
    config = engine.config
    if stage == RUBRIC.name:
        return [(rubric_request(engine), TOKENS_A_RUBRIC)], False
    method, settings = session_method_of(unit), config.decompose
    if isinstance(method, RubricMethod):
        settings = with_rubric(settings, engine.finished(RUBRIC.name).values(), EXAMPLE)  # To be priced before it is.
    session = engine.sessions[str(unit.session_id)]
    behaviour, lacks = _behaviour(engine, stage, unit, method)
    if unit.perturbation is None:
        played = played_session(method, session, engine.corpus.root, config.decompose, _nobody)
        listed = session_requests(method, session, config.rating, behaviour, settings, played)
        requests = [(request, len(meta.turns)) for request, meta in listed]
        if isinstance(method, RubricMethod):
            return [(request, TOKENS_A_REPLY + TOKENS_A_RUBRIC_TURN * turns) for request, turns in requests], lacks
    else:
        given = unit.perturbation, method, session, config.rating, behaviour, config.decompose
        requests = case_requests(audit_cases(*given))
    return [(request, TOKENS_A_REPLY + TOKENS_A_TURN * turns) for request, turns in requests], lacks


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("a look before the work asks nobody")


def _behaviour(engine: Engine, stage: str, unit: Unit, method: Method) -> tuple[pa.Table | None, bool]:
    """What the method reads of the rater, as far as it is there, and whether something is missing."""
    if not method.inputs:
        return None, False
    need, table = ("verbalize", "descriptors") if method.reads_descriptors else ("features", "utterance_features")
    artifacts = [engine.artifact(need, other) for other in engine.plan.needed(stage, unit).get(need, [])]
    made = [artifact for artifact in artifacts if artifact is not None]
    return made[0].table(table) if made else None, None in artifacts


def kept_of(config: Config) -> AbstractContextManager[Callable[[ChatRequest], ChatReply | None]]:
    """Looks up the replies of a run that are there already."""
    return kept_replies(config.decompose.llm, config.llm_cache, config.run.recorded)
