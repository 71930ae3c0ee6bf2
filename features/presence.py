"""How much there is of a person in what was measured: the share in which a face is seen, and a sound is heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion.corpus.recordings.people import NEAR_ZERO, PersonLine, Recorded, person_line, share, silent
from apportion.corpus.recordings.presentation import SILENT_DB
from apportion.features.time_series import Series, Span

if TYPE_CHECKING:
    from apportion.corpus.session import Media, Session
    from apportion.features.face.face_features import FaceMeasures
    from apportion.features.voice.voice_features import Voice


def shares(face: FaceMeasures | None, voice: Voice | None) -> dict[str, float]:
    """``face`` and ``sound``, 0 to 1, of whichever was measured."""
    found: dict[str, float] = {}
    if face is not None:
        found["face"] = _share(face.seen, -np.inf)
    if voice is not None:
        found["sound"] = _share(voice.series["log_energy_db"], SILENT_DB)
    return found


def lacking(found: Mapping[str, float], paths: Mapping[str, str]) -> Iterator[str]:
    """What to say where a share is nearly nothing; ``paths`` names the recording of each."""
    for name, value in found.items():
        if value >= NEAR_ZERO:
            continue
        if name == "sound":
            yield silent(paths[name], f"silent but for {share('', value).strip()} of it" if value else "silent")
        else:
            yield (
                f"{paths[name]}: a {share('face is seen in', value)} of the film, so that what is measured of it says "
                "little. Look at the film with `apportion probe`: it may be another person's, a shared screen, or dark"
            )


def measured_line(
    session: Session, person: str, found: Mapping[str, float], measured: Sequence[tuple[Media, list[Series]]]
) -> PersonLine:
    """The line of ``person``; ``found``: of `shares`; ``measured``: the media table's rows, and what was in each.

    A recording is all that was measured in one file at one ``offset_s``: its sound may begin after its picture.
    """
    mine = [(media, series) for media, series in measured if media.speaker == person and media.kind != "features"]
    heard = [media.path for media, _ in mine]
    seen = [media.path for media, _ in mine if media.kind == "video"]
    paths = {"face": next(iter(seen), ""), "sound": next(iter(heard), "")}
    spans: dict[tuple[str, float], list[Span]] = {}
    for media, series in mine:
        ends = [(float(one.starts_s[0]), float(one.ends_s[-1])) for one in series if len(one.values)]
        spans.setdefault((media.path, media.offset_s), []).extend(ends)
    recorded = [
        Recorded(path, (min(start_s for start_s, _ in ends), max(end_s for _, end_s in ends)))
        for (path, _), ends in spans.items()
        if ends
    ]
    parts = [share(name, value) for name, value in found.items()]
    return person_line(session, person, parts, recorded, lacking(found, paths))


def _share(series: Series, above: float) -> float:
    lengths_s = series.ends_s - series.starts_s
    known = np.isfinite(series.values)
    known[known] = series.values[known] > above
    return float(lengths_s[known].sum() / lengths_s.sum()) if len(lengths_s) else 0.0
