"""From the pictures of one recording to what everybody's face showed in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apportion.corpus.session import Media
from apportion.features.face.choice import picture_rate_hz
from apportion.features.face.face_features import FaceMeasures, FaceMeter
from apportion.features.media_io.channel import parse_channel
from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import read_pictures
from apportion.features.settings import FeatureSettings
from apportion.foundation.errors import UnitError

if TYPE_CHECKING:
    from apportion.features.emotion_model.expression_pair import ExpressionPair
    from apportion.features.emotion_model.network import EmotionModel

GoOn = Callable[[float], bool]


def watch(
    root: Path,
    rows: Sequence[Media],
    settings: FeatureSettings,
    emotions: Mapping[str, EmotionModel | ExpressionPair],
    go_on: GoOn | None,
    tell: Callable[[str], None],
) -> dict[str, FaceMeasures]:
    """The face of the person of each of ``rows``, which name one file; it is decoded once for all of them.

    A file with several videos (a camera and a shared screen, say) is decoded once for each, and the one counts in which
    faces are seen for the longest; ``tell`` hears which.

    Raises ``UnitError`` for a recording that cannot be used.
    """
    path = rows[0].path
    films = [_measure(root, rows, settings, emotions, go_on, 0)]
    for number in range(1, _count(root, path, settings)):
        films.append(_measure(root, rows, settings, emotions, go_on, number))
    if len(films) == 1:
        return films[0]
    seen_s = [sum(_seen_s(face) for face in film.values()) for film in films]
    taken = max(range(len(films)), key=lambda number: (seen_s[number], -number))
    others = ", ".join(f"{s:.1f} s in {number}" for number, s in enumerate(seen_s) if number != taken)
    tell(
        f"{path}: {len(films)} videos in one file: {taken} is taken, a face is seen in it for {seen_s[taken]:.1f} s "
        f"({others}). Where another is meant, give it a file of its own."
    )
    return films[taken]


def _count(root: Path, path: str, settings: FeatureSettings) -> int:
    with open_recording(root, path, settings.missing_tolerance_s) as recording:
        return len(recording.streams("video"))


def _measure(
    root: Path,
    rows: Sequence[Media],
    settings: FeatureSettings,
    emotions: Mapping[str, EmotionModel | ExpressionPair],
    go_on: GoOn | None,
    number: int,
) -> dict[str, FaceMeasures]:
    """What the video of that ``number`` shows."""
    path = rows[0].path
    meters = {
        row.speaker: FaceMeter(settings, row.offset_s, parse_channel(row).half, emotions.get(row.speaker))
        for row in rows
    }
    with open_recording(root, path, settings.missing_tolerance_s) as recording:
        streams = recording.streams("video")
        if not streams:
            raise UnitError(
                f"{path}: no picture in the file that the media table gives as video "
                f"(it holds {recording.holds()}). Name a video, or change the row's kind to audio."
            )
        for picture in read_pictures(
            recording, streams[number], picture_rate_hz(settings), settings.skip_unused_frames
        ):
            if go_on is not None and not go_on(picture.time_s):
                break
            for meter in meters.values():
                meter.add(picture.half(meter.half))
    return {person: meter.measures() for person, meter in meters.items()}


def _seen_s(face: FaceMeasures) -> float:
    seen = np.isfinite(face.seen.values)
    return float((face.seen.ends_s - face.seen.starts_s)[seen].sum())
