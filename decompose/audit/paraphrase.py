"""The same prompt in other words; its text is in `decompose/prompts/paraphrase/`."""

from __future__ import annotations

from dataclasses import replace

from decompose.audit.case import Case
from decompose.prompt import paraphrase_of


def paraphrase(case: Case, seed: int) -> Case:
    """Ask by the other wording."""
    settings = case.settings
    llm = settings.llm.model_copy(update={"prompt": paraphrase_of(settings.llm.prompt) or settings.llm.prompt})
    return replace(case, settings=settings.model_copy(update={"llm": llm}))
