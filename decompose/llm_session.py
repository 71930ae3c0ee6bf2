"""The language model of a decomposition: an asker whose errors name the keys of its settings."""

from __future__ import annotations

from pathlib import Path

from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession

TOO_LONG = "Long dialogues are asked in parts where decompose.llm.context_tokens says what the model takes."


def asker_of(
    settings: DecomposeSettings,
    *,
    cache: Path | None = None,
    recorded: Path | None = None,
    record: Path | None = None,
    prices: Path | None = None,
    budget_usd: float | None = None,
) -> LLMSession:
    """Lends the language model of ``settings.llm``; the files and the budget are `llm_client.session.LLMSession`'s."""
    return LLMSession(
        settings.llm,
        cache=cache,
        recorded=recorded,
        record=record,
        prices=prices,
        budget_usd=budget_usd,
        called="decompose.llm",
        too_long=TOO_LONG,
    )
