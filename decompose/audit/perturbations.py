"""The registry of the audit: every way in which the same question is asked, the unchanged one first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from apportion.decompose.prompt_building.prompt import FOLDER, prompt_for

if TYPE_CHECKING:
    from apportion.decompose.audit.case import PerturbedEpisode
    from apportion.decompose.settings import DecomposeSettings


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


CLEAN = "clean"


@dataclass(frozen=True)
class Perturbation:
    """One change that should leave the order of the turns as it is.

    ``load`` names its code as ``module:attribute``, imported on first use: a function of a clean case and a seed, and
    of ``kind`` where that is given. A case that it cannot change comes back as it was.
    """

    name: str
    title: str
    load: str
    kind: str | None = None
    needs_descriptors: bool = False
    needs_paraphrase: bool = False

    @property
    def plants(self) -> bool:
        """Whether it puts words into an utterance."""
        return self.kind is not None

    def apply(self, case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
        """``case`` with the change made."""
        module, _, attribute = self.load.partition(":")
        change = getattr(import_module(module), attribute)
        changed: PerturbedEpisode = change(case, seed) if self.kind is None else change(case, seed, self.kind)
        return changed

    def applies(self, settings: DecomposeSettings, rating_name: str) -> bool:
        """Whether there is anything to ask under these settings about ratings of this name."""
        return not self.needs_paraphrase or paraphrase_of(settings.llm.prompt, rating_name) is not None


_PLANT = "apportion.decompose.audit.case:plant"
_ALL = (
    Perturbation(CLEAN, "as the method asks it", "apportion.decompose.audit.case:unchanged"),
    Perturbation("repeat", "the same question once more", "apportion.decompose.audit.case:asked_again"),
    Perturbation(
        "paraphrase",
        "the prompt in other words",
        "apportion.decompose.audit.perturbations:paraphrase",
        needs_paraphrase=True,
    ),
    Perturbation(
        "descriptor-order",
        "descriptors in another order",
        "apportion.decompose.audit.case:shuffle_descriptors",
        needs_descriptors=True,
    ),
    Perturbation("names", "other names", "apportion.decompose.audit.case:change_names"),
    Perturbation("planted-order", "planted: an order to ignore the above", _PLANT, "order"),
    Perturbation("planted-tags", "planted: closing tags and a new system message", _PLANT, "tags"),
    Perturbation("planted-json", "planted: fake JSON", _PLANT, "json"),
    Perturbation("planted-reply", "planted: a whole reply", _PLANT, "reply"),
)

PERTURBATIONS: Mapping[str, Perturbation] = {perturbation.name: perturbation for perturbation in _ALL}
