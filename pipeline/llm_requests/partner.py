"""What a partner that is asked would take: the most requests of a whole alignment, and the first of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apportion.llm_client.cache.recorded import kept_replies
from apportion.llm_client.cost.estimate import RUN_PRICES, CostUpperBound
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.cost.tokens import estimated_input_tokens
from apportion.llm_client.errors import prefixed
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatRequest
from apportion.pipeline.stages.align import align_episodes
from apportion.pipeline.stages.plugins import asking_other, asking_partner
from apportion.rlhf.policy.prompts import read_prompts

if TYPE_CHECKING:
    from apportion.llm_client.settings import LLMSettings
    from apportion.pipeline.engine.engine import Engine

MEASURED = 200
"""Dialogues, at most, whose first request is measured; the rest are taken to be as long."""
CALLED, OTHER_CALLED = "align.partner_settings", "align.environment_settings.llm"
SAID = (
    "the partner of align is asked while the policy trains: in place of what the policy will say stands what was said "
    "in the session"
)
PLAYED = (
    "the other side of align is asked while the policy trains: where the policy begins, nothing stands in the place of "
    "what it will say"
)


@dataclass(frozen=True)
class _Asked:
    """The model of the other side: its first requests, how often it speaks in a dialogue at most, what it is called."""

    settings: LLMSettings
    first: list[ChatRequest]
    between: int
    called: str
    note: str


def price_partner(engine: Engine, stages: Collection[str]) -> CostUpperBound | None:
    """Count and price what the partner of ``align`` is asked; None where none is, or the alignment is finished.

    Equal dialogues are asked about once. What the policy will say is not known: the session's own turn stands for it.

    Raises InputError: A price table or the prompt cannot be read.
    """
    asked = _first_requests(engine, stages)
    if asked is None:
        return None
    from apportion.rlhf.sampling.language_model_partner import TOKENS_AN_ANSWER

    settings, requests, between = asked.settings, asked.first, asked.between
    align = engine.config.align
    count = align.steps * align.batch_size * between
    measured = requests[:: max(1, len(requests) // MEASURED)]
    first = sum(map(estimated_input_tokens, measured)) / max(1, len(measured))
    answer = min(settings.max_tokens or TOKENS_AN_ANSWER, TOKENS_AN_ANSWER)
    # Each further turn of the partner reads one more reply and one more answer.
    grown = (between - 1) / 2 * (align.max_new_tokens + answer)
    input_tokens, output_tokens = round(count * (first + grown)), count * answer
    with prefixed(asked.called):
        price = find_price(settings.model, engine.config.run.prices)
    usd = None if price is None else price.usd(input_tokens, output_tokens)
    return CostUpperBound(settings.model, count, input_tokens, output_tokens, usd, settings.provider == "recorded")


def partner_text(priced: CostUpperBound) -> str:
    """What `price_partner` gives, as two lines for a person."""
    return f"partner         {priced.text(' while align trains', RUN_PRICES)}"


def preview_partner(engine: Engine, stages: Collection[str], count: int) -> Preview | None:
    """The partner's first ``count`` requests, the session's own turn in the policy's place; None as `price_partner`.

    Raises InputError: The prompt or a file of replies cannot be read.
    """
    asked = _first_requests(engine, stages)
    if asked is None:
        return None
    settings, requests = asked.settings, asked.first
    config = engine.config
    with prefixed(asked.called), kept_replies(settings, config.llm_cache, config.run.recorded) as kept:
        waiting = [request for request in requests if kept(request) is None]
    return Preview(
        settings,
        tuple(waiting[:count]),
        len(waiting),
        consent=f"--allow-host {settings.consent_host or settings.host} or {asked.called}.allow_host",
        asked_for="--preview",
        notes=(asked.note,),
    )


def _first_requests(engine: Engine, stages: Collection[str]) -> _Asked | None:
    settings, played = asking_partner(engine.config), asking_other(engine.config)
    if (settings is None and played is None) or "align" not in stages or "align" in engine.plan.left_out:
        return None
    if all(engine.artifact("align", unit) is not None for unit in engine.plan.units["align"]):
        return None
    if settings is None:
        return _in_environment(engine)
    from apportion.rlhf.sampling.language_model_partner import request_of
    from apportion.rlhf.sampling.partner import opening_dialogues

    config = engine.config
    if config.align.prompts is not None:
        episodes = read_prompts(config.align.prompts)
    else:
        episodes = align_episodes(tuple(engine.sessions.values()), config, config.rating)
    first = [request_of(dialogue, settings) for dialogue in opening_dialogues(episodes)]
    return _Asked(settings, first, config.align.max_turns - 1, CALLED, SAID)


def _in_environment(engine: Engine) -> _Asked | None:
    """The same of who has the other seat of what is played."""
    align, settings = engine.config.align, asking_other(engine.config)
    if align.environment_by is None or settings is None:
        return None
    played: Any = align.environment_by.checked(align.environment_settings)
    return _Asked(settings, played.first_requests(), played.most_requests, OTHER_CALLED, PLAYED)
