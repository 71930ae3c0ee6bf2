"""The phrases for behaviour, and which of them fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.features.names import VOICE_FEATURES
from apportion.features.settings import DescriptorThresholds
from apportion.features.verbalization.expression_phrases import look_phrases
from apportion.features.verbalization.time_fraction import SHARES, UNTOLD, share_phrase
from apportion.features.verbalization.zscore import NormalizedFeature


@dataclass(frozen=True)
class Scale:
    """Phrases for a feature relative to what is usual for the person."""

    well_below: str
    below: str
    above: str
    well_above: str


ROUGHNESS = Scale(
    "voice much steadier than usual",
    "voice steadier than usual",
    "voice shakier than usual",
    "voice much shakier than usual",
)
VOICE_SCALES = {
    "f0_hz": Scale("pitch well below usual", "pitch below usual", "pitch above usual", "pitch well above usual"),
    "intensity_db": Scale(
        "voice much quieter than usual",
        "voice quieter than usual",
        "voice louder than usual",
        "voice much louder than usual",
    ),
    "jitter_local": ROUGHNESS,
    "jitter_disvoice": ROUGHNESS,
}
"""Log energy has no phrase: it says again what intensity says. Of the two jitters a table holds only one."""
COUNTED = {"nod_yes": "nods", "nod_no": "shakes head"}
SPEAKING = {"nod_yes": "moves head up and down", "nod_no": "moves head from side to side"}
"""The same of who speaks: heads go with the own words (Hadar et al., 1983; McClave, 2000), so that only the movement is
told and not what it means. Of six told in speech in other films one viewer took none for a gesture
(docs/described_clips.md)."""
AS_USUAL = "as usual"
NOT_SEEN = "face not seen"
TIMES = {1: "", 2: " twice"}


def in_words(observed: NormalizedFeature, thresholds: DescriptorThresholds, answers: Sequence[int] = ()) -> str | None:
    """Short English for one person in one window, such as ``pitch well above usual; nods twice; smiles throughout``.

    ``as usual`` when nothing stands out, ``face not seen`` where that is so; None when nothing can be said. ``answers``
    are the turns that a reply answers, where they are several: ``answers turns 3, 4; pitch above usual``.
    """
    phrases = [_voice_phrase(name, observed, thresholds) for name in VOICE_SCALES]
    phrases += [_against_others(observed, thresholds)]
    phrases += [_count_phrase(name, observed, thresholds) for name in COUNTED]
    phrases += [share_phrase(share, observed, thresholds) for share in SHARES]
    phrases += [_blink_phrase(observed, thresholds), *look_phrases(observed, thresholds)]
    said = [phrase for phrase in phrases if phrase] or _as_usual(observed, thresholds)
    said += [NOT_SEEN] if observed.hidden else []
    shared = [f"answers turns {', '.join(map(str, answers))}"] if answers else []
    return "; ".join([*shared, *said]) if said else None


def _as_usual(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> list[str]:
    """That what was observed, and is told of anybody, is as usual; of the voice alone where the face was not seen, or
    not looked at often enough for that: what no look shows may have been there all the same."""
    untold = UNTOLD.get(observed.detector or "", frozenset())
    known = {name for name in observed.measures if observed.distance(name) is not None and name not in untold}
    voice = known & set(VOICE_FEATURES)
    face = known - voice
    if face and observed.looked_at_enough(thresholds):
        return [AS_USUAL]
    if not voice:
        return []
    return [f"voice {AS_USUAL}" if face or observed.hidden else AS_USUAL]


def _voice_phrase(name: str, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    distance, scale = observed.distance(name), VOICE_SCALES[name]
    if distance is None or abs(distance) < thresholds.above_sd:
        return None
    if distance > 0:
        return scale.well_above if distance >= thresholds.far_above_sd else scale.above
    return scale.well_below if -distance >= thresholds.far_above_sd else scale.below


def _against_others(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    """Loudness against everybody else in the session: a level in dB means nothing without the microphone's place.

    Ten decibels are about twice as loud (Stevens, 1955). ``as recorded``, because microphones may differ.
    """
    mean = observed.mean("intensity_db")
    if mean is None or observed.others_db is None or abs(mean - observed.others_db) < thresholds.louder_db:
        return None
    return f"voice {'louder' if mean > observed.others_db else 'quieter'} than the others', as recorded"


def _count_phrase(name: str, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    count = round(observed.mean(name) or 0.0)
    words = (SPEAKING if observed.speaks else COUNTED)[name]
    return f"{words}{TIMES.get(count, f' {count} times')}" if count >= thresholds.nod_count else None


def _blink_phrase(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    """Only against usual, and well: in a window of seconds a single blink makes a high rate."""
    change = observed.remarkable_change("blinks_per_min", thresholds.blink_change, thresholds.far_above_sd)
    return f"blinks {'more' if change > 0 else 'less'} than usual" if change else None
