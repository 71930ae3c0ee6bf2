"""The same prompt in other words; its text is in `decompose/prompts/paraphrase/`, under the prompt's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from decompose.prompting.prompt import FOLDER, prompt_for

if TYPE_CHECKING:
    from decompose.audit.case import Case


def paraphrase_of(prompt: str, rating_name: str) -> str | None:
    """The path of the prompt that asks the same as ``prompt`` does for this rating; None where there is none.

    Raises
    ------
    InputError
        ``prompt`` cannot be used.
    """
    path = FOLDER / "paraphrase" / f"{prompt_for(prompt, rating_name).path.stem}.txt"
    ours = prompt_for(prompt, rating_name).path.parent == FOLDER
    return str(path) if ours and path.is_file() else None


def paraphrase(case: Case, seed: int) -> Case:
    """Ask by the other wording."""
    settings = case.settings
    other = paraphrase_of(settings.llm.prompt, case.episode.rating.name)
    llm = settings.llm.model_copy(update={"prompt": other or settings.llm.prompt})
    return replace(case, settings=settings.model_copy(update={"llm": llm}))
