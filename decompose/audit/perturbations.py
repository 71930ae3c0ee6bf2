"""The registry of the audit: every way in which the same question is asked, the unchanged one first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from apportion.decompose.audit.paraphrase import paraphrase_of

if TYPE_CHECKING:
    from apportion.decompose.audit.case import PerturbedEpisode
    from apportion.decompose.settings import DecomposeSettings

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


_PLANT = "apportion.decompose.audit.prompt_injection:plant"
_ALL = (
    Perturbation(CLEAN, "as the method asks it", "apportion.decompose.audit.case:unchanged"),
    Perturbation("repeat", "the same question once more", "apportion.decompose.audit.case:asked_again"),
    Perturbation(
        "paraphrase",
        "the prompt in other words",
        "apportion.decompose.audit.paraphrase:paraphrase",
        needs_paraphrase=True,
    ),
    Perturbation(
        "descriptor-order",
        "descriptors in another order",
        "apportion.decompose.audit.descriptor_order:shuffle_descriptors",
        needs_descriptors=True,
    ),
    Perturbation("names", "other names", "apportion.decompose.audit.name_swap:change_names"),
    Perturbation("planted-order", "planted: an order to ignore the above", _PLANT, "order"),
    Perturbation("planted-tags", "planted: closing tags and a new system message", _PLANT, "tags"),
    Perturbation("planted-json", "planted: fake JSON", _PLANT, "json"),
    Perturbation("planted-reply", "planted: a whole reply", _PLANT, "reply"),
)

PERTURBATIONS: Mapping[str, Perturbation] = {perturbation.name: perturbation for perturbation in _ALL}
