"""The phrases for behaviour, and which of them fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from features.emotions import EMOTIONS
from features.settings import DescriptorThresholds
from features.words.baseline import Baseline, Measure


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
LOOKS = {emotion.feature: emotion.look for emotion in EMOTIONS if emotion.look is not None}
"""A neutral face is never told: it is what is left when nothing else is seen."""
AS_USUAL = "as usual"
TIMES = {1: "", 2: " twice"}


def in_words(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], thresholds: DescriptorThresholds
) -> str | None:
    """Short English for one person in one window, such as ``pitch well above usual; nods twice; smiling``.

    ``measures`` holds only what was observed well enough. ``as usual`` when nothing stands out, None when nothing
    can be said.
    """
    phrases = [_voice_phrase(name, measures, usual, thresholds) for name in VOICE_SCALES]
    phrases += [_count_phrase(name, measures, thresholds) for name in COUNTED]
    phrases += [_gaze_phrase(measures, usual, thresholds), _smile_phrase(measures, usual, thresholds)]
    phrases += _look_phrases(measures, usual, thresholds)
    worth_saying = [phrase for phrase in phrases if phrase]
    if worth_saying:
        return "; ".join(worth_saying)
    return AS_USUAL if any(_distance(name, measures, usual) is not None for name in measures) else None


def _distance(name: str, measures: Mapping[str, Measure], usual: Mapping[str, Baseline]) -> float | None:
    measure = measures.get(name)
    if measure is None or measure.mean is None or name not in usual:
        return None
    return usual[name].distance(measure.mean)


def _voice_phrase(
    name: str, measures: Mapping[str, Measure], usual: Mapping[str, Baseline], thresholds: DescriptorThresholds
) -> str | None:
    distance, scale = _distance(name, measures, usual), VOICE_SCALES[name]
    if distance is None or abs(distance) < thresholds.above_sd:
        return None
    if distance > 0:
        return scale.well_above if distance >= thresholds.far_above_sd else scale.above
    return scale.well_below if -distance >= thresholds.far_above_sd else scale.below


def _count_phrase(name: str, measures: Mapping[str, Measure], thresholds: DescriptorThresholds) -> str | None:
    measure = measures.get(name)
    count = 0 if measure is None or measure.mean is None else round(measure.mean)
    return f"{COUNTED[name]}{TIMES.get(count, f' {count} times')}" if count >= thresholds.nod_count else None


def _gaze_phrase(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], thresholds: DescriptorThresholds
) -> str | None:
    change = _remarkable_change("gaze_on_screen", measures, usual, thresholds.fraction_change)
    away = 1.0 - (measures["gaze_on_screen"].mean or 0.0) if change else 0.0
    if change < 0 and away >= thresholds.away_most_fraction:
        return "looks away most of the time"
    if change < 0 and away >= thresholds.away_half_fraction:
        return "looks away half the time"
    if abs(_distance("gaze_on_screen", measures, usual) or 0.0) < thresholds.above_sd or not change:
        return None
    return "looks away more than usual" if change < 0 else "looks away less than usual"


def _smile_phrase(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], thresholds: DescriptorThresholds
) -> str | None:
    change = _remarkable_change("smile", measures, usual, thresholds.fraction_change)
    if change > 0 and (measures["smile"].mean or 0.0) >= thresholds.smile_fraction:
        return "smiling"
    if abs(_distance("smile", measures, usual) or 0.0) < thresholds.above_sd or not change:
        return None
    return "smiles more than usual" if change > 0 else "smiles less than usual"


def _look_phrases(
    measures: Mapping[str, Measure], usual: Mapping[str, Baseline], thresholds: DescriptorThresholds
) -> list[str]:
    """Every emotion that rose; those that fell only where none rose.

    The eight probabilities make one together: where one rises others fall, and to tell both says it twice.
    """
    rose: list[str] = []
    fell: list[str] = []
    for name, look in LOOKS.items():
        change = _remarkable_change(name, measures, usual, thresholds.emotion_change)
        if change > 0 and (measures[name].mean or 0.0) >= thresholds.emotion_probability:
            rose.append(look.plain)
        elif change and abs(_distance(name, measures, usual) or 0.0) >= thresholds.above_sd:
            (rose if change > 0 else fell).append(look.more if change > 0 else look.less)
    return rose or fell


def _remarkable_change(
    name: str, measures: Mapping[str, Measure], usual: Mapping[str, Baseline], smallest: float
) -> float:
    """Difference of a fraction from usual; 0 where it is unknown or too small to tell.

    Detectors are biased for each face, so that even ``smiling`` needs a difference from the person's own mean; and
    with a tiny spread a single picture is many standard deviations, so that distance alone is not enough.
    """
    measure = measures.get(name)
    if measure is None or measure.mean is None or name not in usual:
        return 0.0
    change = measure.mean - usual[name].mean
    return change if abs(change) >= smallest else 0.0
