"""The same dialogue between people of other names."""

from __future__ import annotations

from dataclasses import replace

from decompose.audit.case import Case
from decompose.audit.draw import number
from decompose.pseudonyms import renaming


def change_names(case: Case, seed: int) -> Case:
    """Rename all speakers, also where one is called by a role, and the names where they occur in the texts."""
    changed = renaming(case.session, roles=True, first=number(seed, "names", case.session.session_id))
    return replace(
        case,
        session=changed.session(case.session),
        descriptors=changed.descriptors(case.descriptors),
        renamed=changed,
    )
