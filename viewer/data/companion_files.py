"""What stands beside a run and is no part of it: labels by people, another run, responses of policies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.pipeline.results.run_folder import UTTERANCE_TABLES, read_record
from apportion.viewer.data.run_location import RunPlace
from apportion.viewer.labels.label_store import Overlay, overlay_beside


@dataclass(frozen=True, eq=False)
class CompanionFiles:
    """What is looked at together with a run.

    Parameters
    ----------
    overlay : Overlay
        Where labels are kept.
    other : RunPlace or None
        Another run of the same utterances.
    responses : Path or None
        A table of policies' responses (docs/compare.md).
    """

    overlay: Overlay
    other: RunPlace | None = None
    responses: Path | None = None


def beside(
    place: RunPlace, overlay: Path | None = None, other: RunPlace | None = None, responses: Path | None = None
) -> CompanionFiles:
    """What stands beside the run at ``place``; the overlay is the file beside its folder unless another is named.

    Raises
    ------
    InputError
        The other run was made of other utterances; no such table of responses; a place where no labels can be kept.
    """
    if other is not None:
        mine, theirs = (read_record(one.folder)["inputs"] for one in (place, other))
        if [mine.get(name) for name in UTTERANCE_TABLES] != [theirs.get(name) for name in UTTERANCE_TABLES]:
            raise InputError(
                f"{other.folder}: a run of other utterances than {place.folder}: their turns are not the same. Name a "
                "run of the same corpus."
            )
    if responses is not None and not responses.is_file():
        raise InputError(f"{responses}: no such file. Make one with `apportion policy generate`.")
    return CompanionFiles(Overlay(overlay or overlay_beside(place.folder)), other, responses)
