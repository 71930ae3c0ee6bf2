"""What a model is shown of an episode: as it is, or under other names where the settings ask for pseudonyms."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.prompt_building.pseudonymize import PseudonymMap, renaming
from apportion.decompose.settings import LLMMethodSettings


@dataclass(frozen=True)
class AnonymizedEpisode:
    """An episode, its descriptors and the question as the model gets them, and the way back to the real names.

    The real names are kept in memory alone: they are found anew from the corpus at every run.
    """

    episode: Episode
    descriptors: pa.Table | None
    question: str | None
    renaming: PseudonymMap | None = None

    def reveal(self, text: str) -> str:
        """What the model wrote, or an error that quotes it, with the real names."""
        return text if self.renaming is None else self.renaming.back(text)


def disguise(episode: Episode, descriptors: pa.Table | None, settings: LLMMethodSettings) -> AnonymizedEpisode:
    """What the settings let the model see of ``episode``."""
    if not settings.pseudonyms:
        return AnonymizedEpisode(episode, descriptors, settings.question)
    names = renaming(episode, settings.speaker_names)
    question = None if settings.question is None else names.template(settings.question)
    return AnonymizedEpisode(names.episode(episode), names.descriptors(descriptors), question, names)
