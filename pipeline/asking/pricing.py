"""What the language model's part of a run would take: requests answered and left, tokens, and their price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decompose.audit.ask import audit_requests
from decompose.judging.llm import requests_for
from decompose.methods import METHODS
from decompose.prompting.reply import TOKENS_A_REPLY, TOKENS_A_TURN
from foundation.errors import InputError, UnitError
from llm_client.cost.estimate import Estimate, estimate
from llm_client.cost.prices import find_price
from llm_client.errors import SetupError
from llm_client.request import ChatReply, ChatRequest
from pipeline.stages.declared import ASKING

if TYPE_CHECKING:
    from pipeline.config import Config
    from pipeline.engine.engine import Engine
    from pipeline.engine.stage import Unit


@dataclass(frozen=True)
class Pricing:
    """The estimate, how many of its sessions lack the descriptors that their question will hold, and what is left out.

    ``unaskable`` sessions do not fit into the model's context in parts either.
    """

    estimate: Estimate
    recorded: bool
    without_descriptors: int
    unaskable: int = 0
    batch: bool = False

    def text(self) -> str:
        """A few lines for a person."""
        lines = [f"language model  {self.estimate.text()}"]
        if self.recorded:
            lines = [
                f"language model  {self.estimate.requests:,} requests, {self.estimate.answered:,} of them recorded"
            ]
        if self.batch:
            lines.append("  at the prices of the Batch API; what is asked again after a bad reply costs the full price")
        if self.without_descriptors:
            lines.append(
                f"  {self.without_descriptors:,} multimodal sessions lack descriptors and are counted by their text "
                "alone; run `apportion describe` first to count them whole"
            )
        if self.unaskable:
            lines.append(f"  {self.unaskable:,} sessions do not fit into decompose.llm.context_tokens and are left out")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            **self.estimate.to_json(),
            "recorded": self.recorded,
            "batch": self.batch,
            "sessions_without_descriptors": self.without_descriptors,
            "unaskable_sessions": self.unaskable,
        }


def asking_units(engine: Engine, stages: Collection[str]) -> list[tuple[str, Unit]]:
    """Every unit of ``stages`` that asks a language model, with its stage."""
    return [
        (stage, unit)
        for stage in ASKING
        if stage in stages
        for unit in engine.plan.units[stage]
        if METHODS[str(unit.method)].section == "llm"
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
    found: list[tuple[ChatRequest, int]] = []
    finished: set[str] = set()
    lacking: set[str] = set()
    unaskable: set[str] = set()
    for stage, unit in asking:
        try:
            requests, lacks = unit_requests(engine, stage, unit)
        except UnitError:
            unaskable.add(str(unit.session_id))
            continue
        lacking |= {str(unit.session_id)} if lacks else set()
        found += requests
        if engine.artifact(stage, unit) is not None:
            finished.update(request.key() for request, _ in requests)
    settings = config.decompose.llm
    try:
        price = find_price(settings.model, config.run.prices)
        if batch and price is not None:
            price = price.batched()
        with kept_replies(config) as kept:

            def find(request: ChatRequest) -> ChatReply | None:
                done = ChatReply("", "") if request.key() in finished else None
                return kept(request) or done

            counted = estimate(settings.model, found, find, price)
    except SetupError as error:
        raise InputError(f"decompose.llm: {error}") from None
    return Pricing(counted, settings.provider == "recorded", len(lacking), len(unaskable), batch)


def unit_requests(engine: Engine, stage: str, unit: Unit) -> tuple[list[tuple[ChatRequest, int]], bool]:
    """The unit's requests with the output to expect, and whether it will have descriptors that are not made yet."""
    config = engine.config
    session = engine.sessions[str(unit.session_id)]
    descriptors, lacks = None, False
    if METHODS[str(unit.method)].uses_descriptors:
        planned = engine.plan.needed(stage, unit).get("describe", [])
        artifacts = [engine.artifact("describe", other) for other in planned]
        lacks = None in artifacts
        made = [artifact for artifact in artifacts if artifact is not None]
        descriptors = made[0].table("descriptors") if made else None
    if unit.perturbation is None:
        labelled = requests_for(session, config.rating, descriptors, config.decompose)
        requests = [(request, len(meta.turns)) for request, meta in labelled]
    else:
        requests = audit_requests(unit.perturbation, session, config.rating, descriptors, config.decompose)
    return [(request, TOKENS_A_REPLY + TOKENS_A_TURN * turns) for request, turns in requests], lacks


@contextmanager
def kept_replies(config: Config) -> Iterator[Callable[[ChatRequest], ChatReply | None]]:
    """Looks up what is there already; makes no file."""
    from llm_client.kept.cache import ReplyCache
    from llm_client.kept.recorded import RecordedReplies

    if config.decompose.llm.provider == "recorded":
        yield RecordedReplies(config.run.recorded).find if config.run.recorded else lambda request: None
    elif not config.llm_cache.exists():
        yield lambda request: None
    else:
        cache = ReplyCache(config.llm_cache)
        try:
            yield lambda request: cache.get(request.key())
        finally:
            cache.close()
