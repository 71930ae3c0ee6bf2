"""Words for what a face looks like to a network: the eight emotions."""

from __future__ import annotations

from apportion.features.emotions import EMOTIONS
from apportion.features.settings import DescriptorThresholds
from apportion.features.verbalization.zscore import NormalizedFeature, beside_usual


def look_phrases(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> list[str]:
    """Every emotion that is likely, whatever is usual, and those that rose; those that fell only where there are none.

    The eight probabilities make one together: where one rises others fall, and to tell both says it twice.
    """
    told: list[str] = []
    fell: list[str] = []
    for emotion in EMOTIONS:
        mean = observed.mean(emotion.feature)
        if mean is None:
            continue
        change = observed.remarkable_change(emotion.feature, thresholds.emotion_change, thresholds.above_sd)
        if mean >= thresholds.emotion_probability:
            level = ""
            seen_enough = 1.0 - observed.unknown_share(thresholds) + 1e-9 >= thresholds.throughout_fraction
            if mean >= thresholds.emotion_throughout and seen_enough:
                level = f" throughout{observed.while_seen(emotion.feature, thresholds)}"
            told.append(f"{emotion.look.plain}{level}{beside_usual(change)}")
        elif change:
            (told if change > 0 else fell).append(emotion.look.more if change > 0 else emotion.look.less)
    return told or fell
