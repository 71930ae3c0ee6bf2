"""What a run paid to a language model, read from its reply cache."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any

from apportion.decompose.methods import METHODS
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cost.estimate import RUN_PRICES
from apportion.llm_client.usage import Usage, budget_text, usd_text
from apportion.pipeline.config import Config
from apportion.pipeline.stages.plugins import asking_other, asking_partner


@dataclass(frozen=True)
class Spending:
    """Replies received by one run, and what the cache holds in all; ``model`` is the one that was asked.

    ``budget_usd`` is the run's ceiling, where it has one.
    """

    model: str
    run: Usage
    total: Usage
    budget_usd: float | None = None

    def text(self) -> str:
        """One line for a person."""
        line = f"{self.model}: {self.run.text()}; {usd_text(self.total.usd)} in all in this reply cache"
        if self.run.unpriced:
            line += f". No price known for {self.model!r}, or no count by its server: name a table with {RUN_PRICES}"
        if self.budget_usd is not None:
            line += f"; {budget_text(self.budget_usd, self.total)}"
        return line

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            "model": self.model,
            "run": asdict(self.run),
            "total": asdict(self.total),
            "budget_usd": self.budget_usd,
        }


def newest_reply(config: Config) -> int:
    """A mark for ``spending_since``: the newest reply in the run's cache."""
    cache = _cache(config)
    if cache is None:
        return 0
    try:
        return cache.last()
    finally:
        cache.close()


def spending_since(config: Config, mark: int) -> Spending | None:
    """What was received since the mark; None where the run has no reply cache, or recorded replies."""
    cache = _cache(config)
    if cache is None:
        return None
    try:
        return Spending(
            _asked_models(config, cache.asked(mark)), cache.usage(mark), cache.usage(), config.run.budget_usd
        )
    finally:
        cache.close()


def _asked_models(config: Config, played: Set[str]) -> str:
    """The names of the models that a run asks: the methods', and the partner's where `align` has one that asks.

    Where others were asked (by who plays sessions on, and who scores them) those that ``played``.
    """
    partner = asking_partner(config) or asking_other(config)
    asking = partner is None or any(METHODS[name].asks for name in config.decompose.judging)
    models = [config.decompose.llm.model] if asking else []
    named = dict.fromkeys([*models, *([partner.model] if partner else [])])
    if played and not played <= named.keys():
        named = dict.fromkeys([*(name for name in named if name in played), *sorted(played - named.keys())])
    return " and ".join(named)


def budget_so_far(config: Config) -> str | None:
    """How far the run's budget is used up by what its cache holds, in words; None where it has no budget."""
    if config.run.budget_usd is None:
        return None
    cache = _cache(config)
    if cache is None:
        return budget_text(config.run.budget_usd, Usage())
    try:
        return budget_text(config.run.budget_usd, cache.usage())
    finally:
        cache.close()


def _cache(config: Config) -> ReplyCache | None:
    if config.decompose.llm.provider == "recorded" or not config.may_have_replies:
        return None
    return ReplyCache(config.llm_cache)
