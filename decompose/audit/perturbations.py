"""The registry of the audit: every way in which the same question is asked, the unchanged one first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from decompose.audit.case import Case
from decompose.audit.descriptor_order import shuffle_descriptors
from decompose.audit.names import change_names
from decompose.audit.paraphrase import has_paraphrase, paraphrase
from decompose.audit.planted import PLANTED, plant
from decompose.settings import DecomposeSettings

CLEAN = "clean"


@dataclass(frozen=True)
class Perturbation:
    """One change that should leave the order of the turns as it is.

    ``apply`` takes a clean case and a seed; a case that it cannot change comes back as it was. ``applies`` says whether
    there is anything to ask under these settings. ``plants`` is true where an instruction is put into an utterance.
    """

    name: str
    title: str
    apply: Callable[[Case, int], Case]
    applies: Callable[[DecomposeSettings], bool] = lambda settings: True
    needs_descriptors: bool = False
    plants: bool = False


def _unchanged(case: Case, seed: int) -> Case:
    return case


def _asked_again(case: Case, seed: int) -> Case:
    return replace(case, first_sample=case.settings.llm.samples)


def _planting(kind: str) -> Callable[[Case, int], Case]:
    return lambda case, seed: plant(case, kind, seed)


_ALL = (
    Perturbation(CLEAN, "as the method asks it", _unchanged),
    Perturbation("repeat", "the same question once more", _asked_again),
    Perturbation("paraphrase", "the prompt in other words", paraphrase, applies=has_paraphrase),
    Perturbation(
        "descriptor-order", "descriptors in another order", shuffle_descriptors, needs_descriptors=True
    ),
    Perturbation("names", "other names", change_names),
    *(
        Perturbation(f"planted-{kind}", f"planted: {title}", _planting(kind), plants=True)
        for kind, (title, _) in PLANTED.items()
    ),
)

PERTURBATIONS: Mapping[str, Perturbation] = {perturbation.name: perturbation for perturbation in _ALL}
