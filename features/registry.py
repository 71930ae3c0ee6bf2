"""Every behaviour feature, declared once: what measures it, its unit, its words, and how it is shown and exported.

A new feature is a row of `FEATURES` and the file that measures it. The order of the rows is that of
``utterance_features``; docs/explanations/measurement.md says what each one is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from apportion.features.time_series import Span, count_events

Track = Literal["voice", "face", "talk", "laughter"]
Measured = tuple[float | None, float]
"""Mean in the feature's unit, None where unobserved, and coverage 0 to 1."""
Measure = Callable[[str, Any, Sequence[Span], float], Measured | None]
"""Called with a feature's name, what one person's track showed (``Voice``, ``FaceMeasures`` or ``Talk``), spans and
their length in seconds. None says that the feature has no row."""


APART_S = 0.3
"""Times of turns are no better than this."""


def series_mean(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """The mean of the track's series of that name, weighted by time; unobserved where there is none."""
    series = track.series.get(name)
    return (None, 0.0) if series is None else series.mean(spans, length_s)


def named_jitter(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured | None:
    """The jitter that the settings name, with the coverage of pitch: both need a sounding voice."""
    if track.jitter.feature != name:
        return None
    jitter = track.jitter.over(spans)
    return jitter, track.series["f0_hz"].mean(spans, length_s)[1] if jitter is not None else 0.0


def strength(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """The mean of ``NAME_strength`` where there is something of the feature ``NAME``, with that one's coverage."""
    mean, _ = series_mean(name, track, spans, length_s)
    return mean, 0.0 if mean is None else series_mean(name.removesuffix("_strength"), track, spans, length_s)[1]


def shimmer(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """The shimmer, with the coverage of pitch."""
    value = track.periods.shimmer(spans)
    return value, track.series["f0_hz"].mean(spans, length_s)[1] if value is not None else 0.0


def spectral_tilt(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """How much weaker the voice is above 1 kHz than below."""
    tilt: Measured = track.bands.tilt_db(spans, length_s)
    return tilt


def syllable_rate(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """Syllables a second of the time that is no pause, with the coverage of the recording."""
    rate: float | None = track.syllable_rate(spans, length_s)
    return rate, track.series["pause_fraction"].mean(spans, length_s)[1] if rate is not None else 0.0


def event_count(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """How many nods or shakes have their middle in the window, while the face was seen and such are told."""
    if name not in track.head_events:
        return None, 0.0
    coverage = track.seen.mean(spans, length_s)[1]
    return float(count_events(track.head_events[name], spans)) if coverage > 0 else None, coverage


def listener_count(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """`event_count` of those that lie `APART_S` apart from what the person says: heads dip with the own words, too."""
    count, coverage = event_count(name, track, spans, length_s)
    if count is None:
        return count, coverage
    said = [(a - APART_S, b + APART_S) for a, b in track.speech]
    apart = [(a, b) for a, b in track.head_events[name] if not any(a < end and start < b for start, end in said)]
    return float(count_events(apart, spans)), coverage


def onset_count(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """How many smiles begin in the window, while it was told whether the face smiles."""
    coverage = series_mean("smile", track, spans, length_s)[1]
    onsets = [(start_s, start_s) for start_s, _ in track.smiles]
    return float(count_events(onsets, spans)) if coverage > 0 else None, coverage


def talk_count(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured | None:
    """How many backchannels or overlaps have their middle in the window; none are known of other languages' words."""
    if name == "backchannels" and not track.hears:
        return None
    return sum(track.within(name.removesuffix("s"), spans)), 1.0


def laugh_count(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """How many bouts of laughter have their middle in the window, with the coverage of the recording."""
    coverage = track.series["pause_fraction"].mean(spans, length_s)[1]
    return float(count_events(track.laughter, spans)) if coverage > 0 else None, coverage


def event_rate(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """The same a minute of the time in which the face was seen."""
    coverage = track.seen.mean(spans, length_s)[1]
    return _per_minute(track.head_events[name.removesuffix("_per_min")], spans, length_s, coverage)


def blink_rate(name: str, track: Any, spans: Sequence[Span], length_s: float) -> Measured:
    """Blinks a minute of the time in which the lids were seen."""
    return _per_minute(track.blinks, spans, length_s, series_mean("eyes_closed", track, spans, length_s)[1])


def _per_minute(events: Sequence[Span], spans: Sequence[Span], length_s: float, coverage: float) -> Measured:
    seen_min = coverage * length_s / 60.0
    return (count_events(events, spans) / seen_min if seen_min > 0 else None), coverage


@dataclass(frozen=True)
class Relative:
    """Phrases for a feature relative to what is usual for the person; a change below ``smallest`` (unit) has none."""

    well_below: str
    below: str
    above: str
    well_above: str
    smallest: float = 0.0


@dataclass(frozen=True)
class Count:
    """Words for events that are counted, of a listener and of who is ``speaking``.

    Heads go with the own words (Hadar et al., 1983; McClave, 2000), so that of a speaker only the movement is told: of
    six told in speech in other films one viewer took none for a gesture (docs/evidence/described-clips.md).
    """

    listening: str
    speaking: str


@dataclass(frozen=True)
class Said:
    """Words for backchannels, which are told by what was said: ``plain`` goes before it, ``other`` is anything else."""

    plain: str
    other: str


Trust = Literal["none", "relative", "at least"]
"""How far one back-end is believed: ``none``: nothing is said; ``relative``: only the comparison with what is usual;
``at least``: its share of the time is a lower bound, and never called less than usual."""


@dataclass(frozen=True)
class TimeFraction:
    """Words for a feature that is a fraction of the seen time.

    ``levels`` are pairs of a threshold's name and what is added to ``plain`` from there on, the least first. ``weak``
    stands for ``plain`` where the feature ``NAME_strength`` has a mean below the threshold ``weak_NAME``. ``absent``
    says that the words are about the rest of the time (gaze is measured on the screen, told off it). ``aside`` is a
    feature and the words for ``plain`` where it takes the larger part of that; ``border`` a feature, the share that may
    be otherwise, and what is said where that decides. Lower ``place`` is said first. ``trust`` is by back-end.
    """

    plain: str
    levels: tuple[tuple[str, str], ...]
    weak: str | None = None
    absent: bool = False
    aside: tuple[str, str] | None = None
    border: tuple[str, str] | None = None
    place: int = 1
    trust: Mapping[str, Trust] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """Words for a rate that is told only against usual: in seconds a single event makes a high rate.

    ``threshold`` is the setting with the smallest change that is told.
    """

    plain: str
    threshold: str


@dataclass(frozen=True)
class Emotion:
    """``signs`` tell an emotion in a face; ``plain``: the phrase for it, None where it is never told."""

    signs: str
    plain: str | None


Words = Relative | Count | Said | TimeFraction | Rate | Emotion | None


@dataclass(frozen=True)
class Feature:
    """One row of the table of features.

    ``unit`` is of the mean; ``label`` names it to readers; ``digits`` are its decimal places among figures.
    ``states``: exported as intervals where it is on (else as means of utterances). ``repeats`` names the feature that
    says the same: this one is told only where that is unknown. ``common``: also worth telling where it is 0.
    ``of_listener``: told only of who listens. ``while_on`` says what somebody does who does it. ``drawn``: in the
    viewer's tracks.
    """

    name: str
    track: Track
    unit: str
    label: str
    words: Words = None
    measure: Measure = series_mean
    digits: int = 2
    states: bool = False
    repeats: str | None = None
    common: bool = True
    of_listener: bool = False
    while_on: str = ""
    drawn: bool = False

    @property
    def title(self) -> str:
        """The label without its unit, as a heading."""
        return self.label.partition(",")[0].capitalize()


HALF, MOST, THROUGHOUT = "half the time", "most of the time", "throughout"
_ALL = ("throughout_fraction", THROUGHOUT)
_EXPRESSION = (("expression_half_fraction", HALF), ("expression_most_fraction", MOST), _ALL)
_LIDS = (("eyes_closed_part_fraction", "part of the time"), ("eyes_closed_most_fraction", MOST), _ALL)
_ROUGHNESS = Relative(
    "voice much steadier than usual",
    "voice steadier than usual",
    "voice shakier than usual",
    "voice much shakier than usual",
)


def _voice(name: str, unit: str, label: str, words: Words = None, **more: Any) -> Feature:
    return Feature(name, "voice", unit, label, words, **more)


def _share(name: str, label: str, words: TimeFraction, **more: Any) -> Feature:
    return Feature(name, "face", "of the time", f"{label}, share", words, states=True, **more)


def _nods(name: str, unit: str, label: str, words: Words = None, **more: Any) -> Feature:
    counted: dict[str, Any] = {"measure": event_count, "digits": 0, "states": True, "common": False, "drawn": True}
    return Feature(name, "face", unit, label, words, **(counted | more))


def _talk(name: str, label: str, words: Words = None) -> Feature:
    return Feature(name, "talk", name, label, words, measure=talk_count, digits=0, common=False, of_listener=True)


def _rate(name: str, label: str, **more: Any) -> Feature:
    rate: dict[str, Any] = {"measure": event_rate, "digits": 1}
    return Feature(name, "face", "a minute", label, **(rate | more))


def _emotion(name: str, signs: str, looks: str | None) -> Feature:
    return Feature(name, "face", "probability", name, Emotion(signs, looks and f"looks {looks}"), drawn=True)


_ROWS = (
    _voice(
        "f0_hz",
        "Hz",
        "pitch, Hz",
        Relative("pitch well below usual", "pitch below usual", "pitch above usual", "pitch well above usual"),
        digits=1,
        drawn=True,
    ),
    _voice(
        "intensity_db",
        "dB",
        "loudness, dB",
        Relative(
            "voice much quieter than usual",
            "voice quieter than usual",
            "voice louder than usual",
            "voice much louder than usual",
        ),
        digits=1,
        drawn=True,
    ),
    # A table holds one of the two jitters: the one that the settings name.
    _voice("jitter_local", "fraction", "jitter", _ROUGHNESS, measure=named_jitter, digits=4),
    _voice("jitter_disvoice", "%", "jitter", _ROUGHNESS, measure=named_jitter),
    # It says again what intensity says, and has no words.
    _voice("log_energy_db", "dB", "energy, dB", digits=1, repeats="intensity_db"),
    # Rough voices have both; what is usual for them differs too much from phrase to phrase for words.
    _voice("shimmer_local", "fraction", "shimmer", measure=shimmer, digits=4),
    _voice("hnr_db", "dB", "harmonics to noise, dB", digits=1),
    _voice("spectral_tilt_db", "dB", "spectral tilt, dB", measure=spectral_tilt, digits=1),
    # No voice by its track: a listener laughs who has no voice otherwise.
    Feature("laughs", "laughter", "laughs", "laughs", Count("laughs", "laughs"), laugh_count, digits=0, common=False),
    # Counted, and not told: nobody has measured whether words for them help a reader of the turn.
    _voice("articulation_rate", "syllables a second", "syllables a second of speech", measure=syllable_rate, digits=1),
    _voice("pause_fraction", "of the time", "pauses, share"),
    # In the moments of docs/explanations/measurement.md ("Real people") `haar` was never right where it called a gaze
    # away. The others miss much and are seldom wrong: of 14 moments in which somebody looks away `mesh` calls five so.
    _share(
        "gaze_on_screen",
        "looks at the screen",
        TimeFraction(
            "looks away",
            (("away_half_fraction", HALF), ("away_most_fraction", MOST), _ALL),
            absent=True,
            aside=("eyes_aside", "looks aside"),
            border=("gaze_border", "about the border of looking away"),
            place=0,
            trust={"haar": "none", "mesh": "at least", "yunet": "at least"},
        ),
        while_on="on screen",
        drawn=True,
    ),
    _nods("nod_yes", "nods", "nods", Count("nods", "moves head up and down")),
    _nods("nod_no", "shakes", "shakes head", Count("shakes head", "moves head from side to side")),
    _nods(
        "nod_single",
        "single nods",
        "single nods",
        Count("gives a short nod", "dips head"),
        measure=listener_count,
        of_listener=True,
    ),
    # Half of the smiles that `yunet` tells in those moments are none.
    _share(
        "smile",
        "smile",
        TimeFraction(
            "smiles",
            (("smile_fraction", HALF), ("smile_most_fraction", MOST), _ALL),
            weak="slight smile",
            trust={"yunet": "relative"},
        ),
        while_on="smiling",
        drawn=True,
    ),
    Feature("smile_strength", "face", "probability", "strength of smiles", measure=strength, common=False),
    Feature("smile_onsets", "face", "smiles", "smiles begun", measure=onset_count, digits=0, common=False),
    _rate("nod_yes_per_min", "nods a minute", repeats="nod_yes"),
    _rate("nod_no_per_min", "shakes a minute", repeats="nod_no"),
    # Lids, brows and mouth are unobserved where the back-end does not tell them.
    Feature("gaze_border", "face", "of the time", "about the border of looking away, share", common=False),
    # One state of the eyes: open where none of these is.
    Feature("eyes_aside", "face", "of the time", "eyes aside under a head to the front, share", common=False),
    _share("eyes_lowered", "looks down", TimeFraction("looks down", _LIDS, place=0), common=False, drawn=True),
    _share("eyes_closed", "eyes closed", TimeFraction("eyes closed", _LIDS, place=0), common=False, drawn=True),
    _share(
        "eyes_down_or_closed",
        "eyes down or closed",
        TimeFraction("eyes down or closed", _LIDS, place=0),
        common=False,
        drawn=True,
    ),
    _rate("blinks_per_min", "blinks a minute", words=Rate("blinks", "blink_change"), measure=blink_rate, common=False),
    _share("frown", "frown", TimeFraction("brows lowered", _EXPRESSION), common=False),
    _share("brow_raise", "brows raised", TimeFraction("brows raised", _EXPRESSION), common=False),
    # An open mouth that speaks says nothing.
    _share("mouth_open", "mouth open", TimeFraction("mouth open", _EXPRESSION), common=False, of_listener=True),
    # AffectNet's eight (Mollahosseini, Hasani and Mahoor, 2017), together 1; signs: Ekman and Friesen, Facial Action
    # Coding System, 1978. They say what a face looks like to people who annotated pictures, not what its owner feels.
    _emotion("anger", "brows drawn together, hard eyes, lips pressed or teeth shown", "angry"),
    _emotion("contempt", "one corner of the mouth tightened or raised", "contemptuous"),
    # Of the pair's disgust and fear 7 of 34 were right.
    _emotion("disgust", "wrinkled nose, raised upper lip", None),
    _emotion("fear", "raised and drawn brows, wide eyes, lips stretched", None),
    # The happy face of LLM-GELI's Eq. 7.
    _emotion("happiness", "raised cheeks and corners of the mouth", "happy"),
    _emotion("neutral", "none of the others", "neutral"),
    _emotion("sadness", "inner brows raised, corners of the mouth down", "sad"),
    _emotion("surprise", "raised brows, wide eyes, open mouth", "surprised"),
    _talk("backchannels", "backchannels", Said("says", "another short word")),
    _talk("overlaps", "overlaps"),
)
FEATURES: dict[str, Feature] = {row.name: row for row in _ROWS}
"""All features by name, in the order of their rows."""
EMOTIONS = tuple(row.name for row in _ROWS if isinstance(row.words, Emotion))
"""AffectNet's eight categories, in the order of their columns. Source: LLM-GELI section 5.1."""


def is_voice(name: str) -> bool:
    """Whether a feature is measured in the voice; False for columns that are not ours."""
    return name in FEATURES and FEATURES[name].track == "voice"


def has_events(name: str) -> bool:
    """Whether a feature counts events that are told by themselves, whatever is usual; False for columns not ours."""
    return name in FEATURES and FEATURES[name].track in ("talk", "laughter")


def is_face(name: str) -> bool:
    """Whether a feature is measured in the face; False for columns that are not ours."""
    return name in FEATURES and FEATURES[name].track == "face"


def measure_track(track: Track, shown: Any, spans: Sequence[Span], length_s: float) -> dict[str, Measured]:
    """Mean and coverage of every feature of ``track`` over ``spans``, a window of ``length_s`` seconds."""
    rows = [row for row in FEATURES.values() if row.track == track]
    measured = {row.name: row.measure(row.name, shown, spans, length_s) for row in rows}
    return {name: value for name, value in measured.items() if value is not None}
