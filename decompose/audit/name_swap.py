"""The same dialogue between people of other names."""

from __future__ import annotations

from dataclasses import replace

from apportion.decompose.audit.case import PerturbedEpisode
from apportion.decompose.audit.sampling import number
from apportion.decompose.prompt_building.pseudonymize import renaming


def change_names(case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
    """Rename all speakers, also where one is called by a role, and the names where they occur in the texts."""
    episode = case.episode
    changed = renaming(episode, roles=True, first=number(seed, "names", episode.session_id))
    renamed = changed.episode(episode)
    return replace(
        case,
        session=replace(case.session, turns=renamed.turns, ratings=(renamed.rating,), backgrounds=renamed.backgrounds),
        descriptors=changed.descriptors(case.descriptors),
        renamed=changed,
    )
