"""What the language model's part of a run would take: requests answered and left, tokens, and their price."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decompose.audit.ask import audit_requests
from decompose.judging.requests import session_requests
from decompose.methods import METHODS, Method
from decompose.prompting.reply import TOKENS_A_REPLY, TOKENS_A_TURN
from foundation.errors import UnitError
from llm_client.cost.estimate import CostEstimate, estimate
from llm_client.cost.prices import find_price
from llm_client.errors import prefixed
from llm_client.kept.lookup import kept_replies
from llm_client.request import ChatReply, ChatRequest
from pipeline.asking.spending import budget_so_far
from pipeline.stages.declared import ASKING
from pipeline.stages.simulated import played_session

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.config import Config
    from pipeline.engine.engine import Engine
    from pipeline.engine.stage import Unit


@dataclass(frozen=True)
class Pricing:
    """The estimate, how many of its sessions lack the descriptors that their question will hold, and what is left out.

    ``budget`` says how far the run's budget is used up. ``unaskable`` sessions do not fit into the model's context in
    parts either. Sessions that are ``played`` on ask more than their first requests, which nobody can know before.
    """

    estimate: CostEstimate
    recorded: bool
    without_descriptors: int
    unaskable: int = 0
    batch: bool = False
    budget: str | None = None
    played: int = 0

    def text(self) -> str:
        """A few lines for a person."""
        lines = [f"language model  {self.estimate.text()}"]
        if self.recorded:
            lines = [
                f"language model  {self.estimate.requests:,} requests, {self.estimate.answered:,} of them recorded"
            ]
        if self.batch:
            lines.append("  at the prices of the Batch API; what is asked again after a bad reply costs the full price")
        if self.budget is not None:
            lines.append(f"  {self.budget}")
        if self.without_descriptors:
            lines.append(
                f"  {self.without_descriptors:,} multimodal sessions lack descriptors and are counted by their text "
                "alone; run `apportion describe` first to count them whole"
            )
        if self.unaskable:
            lines.append(f"  {self.unaskable:,} sessions do not fit into decompose.llm.context_tokens and are left out")
        if self.played:
            lines.append(
                f"  {self.played:,} sessions are played on; what is asked after a play's first act is not counted"
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            **self.estimate.to_json(),
            "recorded": self.recorded,
            "batch": self.batch,
            "budget": self.budget,
            "sessions_without_descriptors": self.without_descriptors,
            "unaskable_sessions": self.unaskable,
            **({"played_sessions": self.played} if self.played else {}),
        }


def asking_units(engine: Engine, stages: Collection[str]) -> list[tuple[str, Unit]]:
    """Every unit of ``stages`` whose method lists what it asks a language model, with its stage."""
    return [
        (stage, unit)
        for stage in ASKING
        if stage in stages
        for unit in engine.plan.units[stage]
        if METHODS[str(unit.method)].asks
    ]


def price_requests(engine: Engine, stages: Collection[str], *, batch: bool = False) -> Pricing | None:
    """Count and price the first requests of every unit of ``stages`` that asks a language model; None where none does.

    What is sent again after a mistake is not foreseen. ``batch`` takes the Batch API's prices.

    Raises
    ------
    InputError
        A price table or the file of recorded replies cannot be read.
    """
    asking = asking_units(engine, stages)
    if not asking:
        return None
    config = engine.config
    requests: list[tuple[ChatRequest, int]] = []
    finished: set[str] = set()
    lacking: set[str] = set()
    unaskable: set[str] = set()
    played = {str(unit.session_id) for _, unit in asking if METHODS[str(unit.method)].simulates}
    for stage, unit in asking:
        try:
            listed, lacks = unit_requests(engine, stage, unit)
        except UnitError:
            unaskable.add(str(unit.session_id))
            continue
        lacking |= {str(unit.session_id)} if lacks else set()
        requests += listed
        if engine.artifact(stage, unit) is not None:
            finished.update(request.key() for request, _ in listed)
    settings = config.decompose.llm
    with prefixed("decompose.llm"):
        price = find_price(settings.model, config.run.prices)
        if batch and price is not None:
            price = price.batched()
        with kept_of(config) as kept:

            def find(request: ChatRequest) -> ChatReply | None:
                done = ChatReply("", "") if request.key() in finished else None
                return kept(request) or done

            counted = estimate(settings.model, requests, find, price)
    return Pricing(
        estimate=counted,
        recorded=settings.provider == "recorded",
        without_descriptors=len(lacking),
        unaskable=len(unaskable),
        batch=batch,
        budget=budget_so_far(config),
        played=len(played),
    )


def unit_requests(engine: Engine, stage: str, unit: Unit) -> tuple[list[tuple[ChatRequest, int]], bool]:
    """The unit's requests with the output to expect, and whether it will have behaviour that is not made yet.

    Raises
    ------
    UnitError
        Nothing can be asked about its session.
    """
    config = engine.config
    method = METHODS[str(unit.method)]
    session = engine.sessions[str(unit.session_id)]
    behaviour, lacks = _behaviour(engine, stage, unit, method)
    if unit.perturbation is None:
        played = played_session(method, session, engine.corpus.root, config.decompose, _nobody)
        listed = session_requests(method, session, config.rating, behaviour, config.decompose, played)
        requests = [(request, len(meta.turns)) for request, meta in listed]
    else:
        requests = audit_requests(unit.perturbation, method, session, config.rating, behaviour, config.decompose)
    return [(request, TOKENS_A_REPLY + TOKENS_A_TURN * turns) for request, turns in requests], lacks


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("a look before the work asks nobody")


def _behaviour(engine: Engine, stage: str, unit: Unit, method: Method) -> tuple[pa.Table | None, bool]:
    """What the method reads of the rater, as far as it is there, and whether something is missing."""
    if not (method.uses_descriptors or method.uses_features):
        return None, False
    need, table = ("describe", "descriptors") if method.uses_descriptors else ("features", "utterance_features")
    artifacts = [engine.artifact(need, other) for other in engine.plan.needed(stage, unit).get(need, [])]
    made = [artifact for artifact in artifacts if artifact is not None]
    return made[0].table(table) if made else None, None in artifacts


def kept_of(config: Config) -> AbstractContextManager[Callable[[ChatRequest], ChatReply | None]]:
    """Looks up the replies of a run that are there already."""
    return kept_replies(config.decompose.llm, config.llm_cache, config.run.recorded)
