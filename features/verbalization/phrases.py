"""Which phrases fit what was observed: one function a kind of words (`apportion.features.registry`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion.features.registry import (
    FEATURES,
    HALF,
    THROUGHOUT,
    Count,
    Emotion,
    Rate,
    Relative,
    Said,
    TimeFraction,
    Trust,
    is_voice,
)
from apportion.features.settings import DescriptorThresholds
from apportion.features.verbalization.zscore import NormalizedFeature, beside_usual

AS_USUAL = "as usual"
NOT_SEEN = "face not seen"
OTHERWISE = 1 / 3
"""Share of what lies near a border that another encoder or frame rate tells otherwise (docs/evidence/features.md)."""
TIMES = {1: "", 2: " twice"}


def in_words(observed: NormalizedFeature, thresholds: DescriptorThresholds, answers: Sequence[int] = ()) -> str | None:
    """Short English for one person in one window, such as ``pitch well above usual; nods twice; smiles throughout``.

    ``as usual`` when nothing stands out, ``face not seen`` where that is so; None when nothing can be said. ``answers``
    are the turns that a reply answers, where they are several: ``answers turns 3, 4; pitch above usual``.
    """
    said = [*filter(None, _phrases(observed, thresholds))] or _as_usual(observed, thresholds)
    said += [NOT_SEEN] if observed.hidden else []
    shared = [f"answers turns {', '.join(map(str, answers))}"] if answers else []
    return "; ".join([*shared, *said]) if said else None


def _phrases(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> Iterator[str | None]:
    """What is said of every feature, kind by kind."""
    words = {name: row.words for name, row in FEATURES.items()}
    yield from (_relative(n, w, observed, thresholds) for n, w in words.items() if isinstance(w, Relative))
    yield from (_count(n, w, observed, thresholds) for n, w in words.items() if isinstance(w, Count))
    yield from (_said(n, w, observed, thresholds) for n, w in words.items() if isinstance(w, Said))
    shares = [(n, w) for n, w in words.items() if isinstance(w, TimeFraction)]
    yield from (_share(n, w, observed, thresholds) for n, w in sorted(shares, key=lambda share: share[1].place))
    yield from (_rate(n, w, observed, thresholds) for n, w in words.items() if isinstance(w, Rate))
    yield from _emotions({n: w for n, w in words.items() if isinstance(w, Emotion)}, observed, thresholds)


def _as_usual(observed: NormalizedFeature, thresholds: DescriptorThresholds) -> list[str]:
    """That what was observed, and is told of anybody, is as usual.

    Of the voice alone where the face was not seen, or not looked at often enough: what no look shows may have been
    there all the same.
    """
    known = [n for n in observed.measures if observed.distance(n) is not None and _trust(n, observed) != "none"]
    voice = any(map(is_voice, known))
    face = not all(map(is_voice, known))
    if face and observed.looked_at_enough(thresholds):
        return [AS_USUAL]
    if not voice:
        return []
    return [f"voice {AS_USUAL}" if face or observed.hidden else AS_USUAL]


def _trust(name: str, observed: NormalizedFeature) -> Trust | None:
    words = FEATURES[name].words if name in FEATURES else None
    return words.trust.get(observed.detector or "") if isinstance(words, TimeFraction) else None


def _relative(name: str, words: Relative, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    distance = observed.distance(name)
    if distance is None or not observed.remarkable_change(name, words.smallest, thresholds.above_sd):
        return None
    if distance > 0:
        return words.well_above if distance >= thresholds.far_above_sd else words.above
    return words.well_below if -distance >= thresholds.far_above_sd else words.below


def _count(name: str, words: Count, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    count = round(observed.mean(name) or 0.0)
    doing = words.speaking if observed.speaks else words.listening
    return f"{doing}{TIMES.get(count, f' {count} times')}" if count >= thresholds.nod_count else None


def _said(name: str, words: Said, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    """Such as ``says mhm 3 times, yeah``: the most frequent first, what is not on our list last and unnamed."""
    if round(observed.mean(name) or 0.0) < thresholds.nod_count:
        return None
    counted = sorted(observed.said.items(), key=lambda item: (item[0] == "", -item[1], item[0]))
    parts = [f"{text or words.other}{TIMES.get(count, f' {count} times')}" for text, count in counted]
    return f"{words.plain} {', '.join(parts)}"


def _rate(name: str, words: Rate, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    change = observed.remarkable_change(name, getattr(thresholds, words.threshold), thresholds.far_above_sd)
    return f"{words.plain} {'more' if change > 0 else 'less'} than usual" if change else None


def _share(name: str, words: TimeFraction, observed: NormalizedFeature, thresholds: DescriptorThresholds) -> str | None:
    """How much of the time, whatever is usual, and beside it whether that is more or less than usual.

    Such as ``smiles throughout, as usual``; None where nothing is said.
    """
    mean, trust = observed.mean(name), _trust(name, observed)
    if mean is None or trust == "none":
        return None
    change = observed.remarkable_change(name, thresholds.fraction_change, thresholds.above_sd)
    if words.absent:
        mean, change = 1.0 - mean, change and -change
    if trust == "at least" and change is not None and change < 0:
        change = None
    plain = _plain(name, words, mean, observed, thresholds)
    either = OTHERWISE * (observed.mean(words.border[0]) or 0.0) if words.border else 0.0
    unknown = observed.unknown_share(thresholds)
    least, most = (
        None if trust == "relative" else _level(words, m, unknown, thresholds) for m in (mean - either, mean + either)
    )
    if words.border and most is not None and least is None:
        return words.border[1]
    if least is not None:
        least += " or more" if trust == "at least" and least == HALF else ""
        return f"{plain} {least}{observed.while_seen(name, thresholds)}{beside_usual(change)}"
    return f"{plain}{beside_usual(change).lstrip(',')}" if change else None


def _plain(
    name: str, words: TimeFraction, mean: float, observed: NormalizedFeature, thresholds: DescriptorThresholds
) -> str:
    """What somebody does ``mean`` of the time: in words for a weak one, or of the eyes alone, where these fit."""
    if words.weak is not None and (strength := observed.mean(f"{name}_strength")) is not None:
        return words.weak if strength < getattr(thresholds, f"weak_{name}") else words.plain
    if words.aside is not None and (observed.mean(words.aside[0]) or 0.0) > mean / 2:
        return words.aside[1]
    return words.plain


def _level(words: TimeFraction, mean: float, unknown: float, thresholds: DescriptorThresholds) -> str | None:
    """The highest level that is reached; throughout only where what is not known (`unknown`) counts against it."""
    held = {THROUGHOUT: mean - unknown}
    # A share that is computed as 1 - mean may miss its threshold by a rounding.
    reached = [told for name, told in words.levels if held.get(told, mean) + 1e-9 >= getattr(thresholds, name)]
    return reached[-1] if reached else None


def _emotions(emotions: dict[str, Emotion], observed: NormalizedFeature, thresholds: DescriptorThresholds) -> list[str]:
    """The emotion that is likely, in a window that is long enough for it to have lasted; never a mere change of one.

    Of stills to which the pair gives such a share 98 in 100 are rightly told, of all 89 (docs/evidence/features.md).
    """
    told: list[str] = []
    for name, words in emotions.items():
        mean = observed.mean(name)
        likely = mean is not None and mean >= thresholds.emotion_probability
        if words.plain is None or not likely or not observed.looked_at_enough(thresholds):
            continue
        change = observed.remarkable_change(name, thresholds.emotion_change, thresholds.above_sd)
        level = ""
        seen_enough = 1.0 - observed.unknown_share(thresholds) + 1e-9 >= thresholds.throughout_fraction
        if mean is not None and mean >= thresholds.emotion_throughout and seen_enough:
            level = f" throughout{observed.while_seen(name, thresholds)}"
        told.append(f"{words.plain}{level}{beside_usual(change)}")
    return told
