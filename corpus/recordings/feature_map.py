"""Which columns of a file that another program wrote are features of ours: ready maps by name, and single columns.

A map is the ``channel`` of a media row of kind ``features``: ``openface``, ``py-feat@25`` (pictures a second),
``pitch:f0_hz,loud:intensity_db``, or several of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from apportion.corpus.files.csvfile import parsed
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import UnitError

EMOTIONS = ("anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise")
SHARES = frozenset(
    {"gaze_on_screen", "gaze_border", "smile", "frown", "brow_raise", "mouth_open", "pause_fraction", *EMOTIONS}
    | {"eyes_aside", "eyes_lowered", "eyes_closed", "eyes_down_or_closed"}
)
"""Features that are 0 to 1 at every moment."""
LEVELS = frozenset({"intensity_db", "log_energy_db"})
"""Decibels whose means are of energies."""
FIGURES = LEVELS | {
    *("f0_hz", "jitter_local", "jitter_disvoice", "shimmer_local", "hnr_db", "spectral_tilt_db", "articulation_rate"),
}
TIME = "time"
TIMES = ("time_s", "timestamp", "time", "frameTime", "start", "timedelta")
"""Columns that are times where a map names none, in seconds or as a clock."""
NAME = "candor"
"""The map of a row without any."""


@dataclass(frozen=True)
class Column:
    """A column called ``name`` that is ``feature``; ``read`` makes the feature's value of its figure, NaN of none."""

    name: str
    feature: str
    read: Callable[[float], float] = float


@dataclass(frozen=True)
class FeatureMap:
    """How a file is read. ``columns``: what becomes a feature.

    ``times``: columns that may hold the time. ``rate_hz``: of the pictures, where that is a picture's number.
    ``counted``: it is one. ``person``: the column that says whose a row is. ``seen``: a column that is 0 where nothing
    was seen. ``absent``: features of which the program knows nothing. ``rest``: other columns are kept as they are.
    """

    columns: tuple[Column, ...]
    times: tuple[str, ...] = TIMES
    rate_hz: float | None = None
    counted: bool = False
    person: str | None = None
    seen: str | None = None
    absent: tuple[str, ...] = ()
    rest: bool = False


def _at_least_half(value: float) -> float:
    return float(value >= 0.5)


def _to_the_front(radians: float) -> float:
    """Within 15 degrees to the side, as by `features.gaze_angle_deg`."""
    return float(abs(radians) <= math.radians(15.0))


def _of_semitones(value: float) -> float:
    return 27.5 * 2.0 ** (value / 12.0) if value > 0 else math.nan


def _voiced(value: float) -> float:
    """openSMILE and mexca write 0 where there is no voice."""
    return value if value != 0 else math.nan


READY: Mapping[str, FeatureMap] = {
    # Reece et al. (2023): of the columns' names these alone are public.
    NAME: FeatureMap(
        (*(Column(f"prob_face_{name}", name) for name in EMOTIONS), Column("gaze_on", "gaze_on_screen")),
        times=("timedelta",),
        person="user_id",
        rest=True,
    ),
    # Baltrusaitis et al. (2018); AU*_c are presences, gaze_angle_x is in radians, 0 into the camera.
    "openface": FeatureMap(
        (
            Column("AU12_c", "smile"),
            Column("AU04_c", "frown"),
            Column("AU02_c", "brow_raise"),
            Column("AU26_c", "mouth_open"),
            Column("gaze_angle_x", "gaze_on_screen", _to_the_front),
        ),
        times=("timestamp",),
        seen="success",
    ),
    # Cheong et al. (2023); AU* are probabilities, and there are seven emotions.
    "py-feat": FeatureMap(
        (
            *(Column(name, name) for name in EMOTIONS if name != "contempt"),
            Column("AU12", "smile", _at_least_half),
            Column("AU04", "frown", _at_least_half),
            Column("AU02", "brow_raise", _at_least_half),
            Column("AU26", "mouth_open", _at_least_half),
        ),
        times=("frame",),
        counted=True,
        absent=("contempt",),
    ),
    # Eyben et al. (2016), low-level descriptors of openSMILE's eGeMAPSv02.
    "egemaps": FeatureMap(
        (
            Column("F0semitoneFrom27.5Hz_sma3nz", "f0_hz", _of_semitones),
            Column("jitterLocal_sma3nz", "jitter_local", _voiced),
            Column("HNRdBACF_sma3nz", "hnr_db", _voiced),
        ),
        times=("frameTime", "start"),
    ),
    # Lueken et al. (2024).
    "mexca": FeatureMap(
        (
            Column("pitch_f0_hz", "f0_hz", _voiced),
            Column("jitter_local_rel_f0", "jitter_local", _voiced),
            Column("shimmer_local_rel_f0", "shimmer_local", _voiced),
            Column("hnr_db", "hnr_db", _voiced),
        ),
        times=("time",),
    ),
}
KNOWN = (*TIMES, *(column.name for one in READY.values() for column in one.columns))
"""Columns that tell which sign stands between the cells."""


def parse_map(text: str) -> FeatureMap:
    """The map that ``text`` says: parts between commas, each a ready one's name or ``COLUMN:FEATURE``.

    ``COLUMN:time`` names the time; ``@RATE`` after a part says that its time is a picture's number, and how many there
    are a second. Raises ``UnitError``: an unknown name or feature, a feature twice, no rate where one is needed.
    """
    whole = FeatureMap(())
    for part in (part.strip() for part in text.split(",")):
        body, at, rate = part.partition("@")
        one = _ready(body, text) if ":" not in body else _single(body, text)
        if at:
            one = replace(one, rate_hz=_rate(rate, text), counted=True)
        whole = _together(whole, one)
    features = [column.feature for column in whole.columns]
    twice = next((name for name in features if features.count(name) > 1), None)
    if twice is not None or not features:
        raise _fault(text, f"{twice} has two columns" if twice else "no column is a feature")
    if whole.counted and whole.rate_hz is None:
        raise _fault(text, f"its times are numbers of pictures. Say how many there are a second, as in {text}@25")
    return whole


def recognised(header: Collection[str]) -> str | None:
    """The ready map most of whose columns, and at least two, are in ``header``; None: no such map."""
    found = {name: sum(column.name in header for column in one.columns) for name, one in READY.items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > 1 else None


def _ready(name: str, text: str) -> FeatureMap:
    if name not in READY:
        hint = did_you_mean(name.lower(), READY, "say COLUMN:FEATURE.")
        raise _fault(text, f"{name!r} is no ready map; {hint} There are {', '.join(READY)}")
    return READY[name]


def _single(body: str, text: str) -> FeatureMap:
    column, _, feature = (part.strip() for part in body.rpartition(":"))
    if feature == TIME and column:
        return FeatureMap((), times=(column,))
    if feature not in SHARES | FIGURES or not column:
        hint = did_you_mean(feature, [*SHARES, *FIGURES], "check the name.")
        raise _fault(text, f"{feature!r} is no feature that has a value at every moment; {hint}")
    return FeatureMap((Column(column, feature),))


def _together(one: FeatureMap, other: FeatureMap) -> FeatureMap:
    return FeatureMap(
        (*one.columns, *other.columns),
        one.times if other.times == TIMES else other.times,
        one.rate_hz or other.rate_hz,
        one.counted or other.counted,
        one.person or other.person,
        one.seen or other.seen,
        (*one.absent, *other.absent),
        one.rest or other.rest,
    )


def _rate(text: str, whole: str) -> float:
    rate = parsed(text)
    if rate is None or not 0.1 <= rate <= 1000.0:
        raise _fault(whole, f"{text!r} after @; pictures a second, 0.1 to 1000, are needed")
    return rate


def _fault(text: str, what: str) -> UnitError:
    return UnitError(f"map={text}: {what}.")
