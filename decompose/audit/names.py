"""The same dialogue between people of other names."""

from __future__ import annotations

from dataclasses import replace

from apportion.decompose.audit.case import Case
from apportion.decompose.audit.draw import number
from apportion.decompose.prompting.pseudonyms import renaming


def change_names(case: Case, seed: int) -> Case:
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
