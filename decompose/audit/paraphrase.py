"""The same prompt in other words; its text is in `decompose/prompts/paraphrase/`, under the prompt's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apportion.decompose.prompt_building.prompt import FOLDER, prompt_for

if TYPE_CHECKING:
    from apportion.decompose.audit.case import PerturbedEpisode


def paraphrase_of(prompt: str, rating_name: str, *, has_rater: bool = True) -> str | None:
    """The path of the prompt that asks the same as ``prompt`` does for this rating; None where there is none.

    ``has_rater`` as `apportion.decompose.prompt_building.prompt.prompt_for` takes it.

    Raises InputError: ``prompt`` cannot be used.
    """
    asked = prompt_for(prompt, rating_name, has_rater=has_rater).path
    path = FOLDER / "paraphrase" / f"{asked.stem}.txt"
    return str(path) if asked.parent == FOLDER and path.is_file() else None


def paraphrase(case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
    """Ask by the other wording."""
    settings, episode = case.settings, case.episode
    other = paraphrase_of(settings.llm.prompt, episode.rating.name, has_rater=episode.has_rater)
    llm = settings.llm.model_copy(update={"prompt": other or settings.llm.prompt})
    return replace(case, settings=settings.model_copy(update={"llm": llm}))
