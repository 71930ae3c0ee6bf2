"""The language model of a decomposition: an asker whose errors name the keys of its settings."""

from __future__ import annotations

from pathlib import Path

from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.asker import Asker

TOO_LONG = "Long dialogues are asked in parts where decompose.llm.context_tokens says what the model takes."


def asker_of(
    settings: DecomposeSettings,
    *,
    cache: Path | None = None,
    recorded: Path | None = None,
    record: Path | None = None,
    prices: Path | None = None,
    budget_usd: float | None = None,
) -> Asker:
    """Lends the language model of ``settings.llm``; the files and the budget are `apportion.llm_client.asker.Asker`'s."""
    return Asker(
        settings.llm,
        cache=cache,
        recorded=recorded,
        record=record,
        prices=prices,
        budget_usd=budget_usd,
        called="decompose.llm",
        too_long=TOO_LONG,
    )
