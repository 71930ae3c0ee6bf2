import math

import pytest

from apportion.features.registry import EMOTIONS, FEATURES, TimeFraction
from apportion.features.settings import DescriptorThresholds
from apportion.features.verbalization.phrases import in_words
from apportion.features.verbalization.zscore import Baseline, Measure, NormalizedFeature

THRESHOLDS = DescriptorThresholds()
USUAL = {
    "f0_hz": Baseline(200.0, 10.0),
    "intensity_db": Baseline(60.0, 2.0),
    "jitter_local": Baseline(0.02, 0.002),
    "gaze_on_screen": Baseline(0.9, 0.1),
    "smile": Baseline(0.3, 0.2),
    "happiness": Baseline(0.2, 0.1),
    "sadness": Baseline(0.3, 0.1),
    "neutral": Baseline(0.5, 0.1),
}


def _say(
    thresholds: DescriptorThresholds = THRESHOLDS,
    usual=USUAL,
    coverage=1.0,
    length_s: float = math.inf,
    **means: float | None,
) -> str | None:
    measures = {name: Measure(mean, coverage) for name, mean in means.items()}
    return in_words(NormalizedFeature(measures, usual, length_s=length_s), thresholds)


@pytest.mark.parametrize(
    ("name", "mean", "text"),
    [
        ("f0_hz", 225.0, "pitch well above usual"),
        ("f0_hz", 210.0, "pitch above usual"),
        ("f0_hz", 209.0, "as usual"),
        ("f0_hz", 190.0, "pitch below usual"),
        ("f0_hz", 150.0, "pitch well below usual"),
        ("intensity_db", 63.0, "voice louder than usual"),
        ("intensity_db", 55.0, "voice much quieter than usual"),
        ("jitter_local", 0.03, "voice much shakier than usual"),
        ("nod_yes", 1.0, "nods"),
        ("nod_yes", 2.0, "nods twice"),
        ("nod_single", 1.0, "gives a short nod"),
        ("nod_no", 3.0, "shakes head 3 times"),
        ("nod_no", 0.0, None),
        ("gaze_on_screen", 0.1, "looks away throughout, more than usual"),
        ("gaze_on_screen", 0.2, "looks away most of the time, more than usual"),
        ("gaze_on_screen", 0.5, "looks away half the time, more than usual"),
        ("gaze_on_screen", 0.7, "looks away more than usual"),
        ("gaze_on_screen", 0.79, "as usual"),  # 1.1 sd, but too small a change to tell
        ("smile", 0.9, "smiles throughout, more than usual"),
        ("smile", 0.8, "smiles most of the time, more than usual"),
        ("smile", 0.5, "smiles half the time, more than usual"),
        ("smile", 0.05, "smiles less than usual"),
        ("smile", 0.4, "as usual"),
        ("happiness", 0.79, "as usual"),  # a change alone is no emotion
        ("neutral", 0.8, "looks neutral, more than usual"),
    ],
)
def test_phrase(name, mean, text):
    assert _say(**{name: mean}) == text


def test_phrases_are_joined_in_a_fixed_order():
    text = _say(smile=0.9, gaze_on_screen=0.5, nod_yes=2.0, f0_hz=225.0)
    assert text == (
        "pitch well above usual; nods twice; looks away half the time, more than usual; "
        "smiles throughout, more than usual"
    )


def test_a_level_or_an_emotion_against_what_is_usual():
    assert _say(usual={"gaze_on_screen": Baseline(0.5, 0.2)}, gaze_on_screen=1.0) == "looks away less than usual"
    assert _say(usual={"smile": Baseline(0.95, 0.03)}, smile=0.6) == "smiles half the time, less than usual"
    assert _say(happiness=0.8, sadness=0.05) == "looks happy, more than usual"
    assert _say(happiness=0.0, sadness=0.05) == "as usual"


@pytest.mark.parametrize("detector", ["mesh", "yunet"])
def test_a_back_end_that_misses_looks_away_tells_how_many_there_are_at_least(detector):
    def say(usual: float, on_screen: float) -> str | None:
        measures = {"gaze_on_screen": Measure(on_screen, 1.0)}
        baseline = {"gaze_on_screen": Baseline(usual, 0.2)}
        return in_words(NormalizedFeature(measures, baseline, detector=detector), THRESHOLDS)

    assert say(0.8, 0.5) == "looks away half the time or more, more than usual"
    assert say(0.5, 0.5) == "looks away half the time or more, as usual"
    assert say(0.2, 0.5) == "looks away half the time or more"  # less than usual, or just not seen to look away
    assert say(0.8, 0.2) == "looks away most of the time, more than usual"
    assert say(0.5, 1.0) == "as usual"


def test_every_emotion_has_its_phrases():
    for emotion in EMOTIONS:
        look, usual = FEATURES[emotion].words, {emotion: Baseline(0.3, 0.1)}
        said = [_say(usual=usual, **{emotion: mean}) for mean in (0.9, 0.8, 0.79, 0.1)]
        if emotion in ("disgust", "fear"):
            assert said == ["as usual"] * 4
        else:
            assert said[:2] == [f"{look.plain} throughout, more than usual", f"{look.plain}, more than usual"]
            assert said[2:] == ["as usual"] * 2
        assert _say(usual={}, length_s=1.5, **{emotion: 1.0}) is None  # too short for it to have lasted
        assert (_say(usual={}, length_s=1.6, **{emotion: 1.0}) is None) == (look.plain is None)


def test_what_never_changes_is_told():
    assert _say(usual={"anger": Baseline(0.9, 0.05)}, anger=0.92) == "looks angry throughout, as usual"
    assert _say(usual={"sadness": Baseline(0.8, 0.05)}, sadness=0.85) == "looks sad, as usual"
    assert _say(usual={"smile": Baseline(0.95, 0.03)}, smile=0.97) == "smiles throughout, as usual"
    assert _say(usual={"eyes_closed": Baseline(0.6, 0.1)}, eyes_closed=0.6) == "eyes closed most of the time, as usual"
    # Without any change there is no baseline: what is usual is not known, the level is.
    assert _say(usual={}, smile=1.0, eyes_closed=1.0, anger=0.85) == (
        "eyes closed throughout; smiles throughout; looks angry"
    )


def test_about_the_border_of_looking_away_neither_is_told():
    def say(on_screen: float, border: float) -> str | None:
        return _say(usual={}, gaze_on_screen=on_screen, gaze_border=border)

    assert say(0.9, 0.3) is None and say(0.4, 0.3) == "looks away half the time"
    assert say(0.65, 0.3) == say(0.55, 0.3) == say(0.7, 1.0) == "about the border of looking away"
    # Of two levels the one that holds in any case.
    assert say(0.2, 0.3) == "looks away half the time" and say(0.0, 0.15) == "looks away throughout"


def test_eyes_that_look_away_under_a_head_to_the_front_look_aside():
    assert _say(usual={}, gaze_on_screen=0.2, eyes_aside=0.5) == "looks aside most of the time"
    assert _say(usual={}, gaze_on_screen=0.2, eyes_aside=0.4) == "looks away most of the time"


SHARES = [(name, row.words) for name, row in FEATURES.items() if isinstance(row.words, TimeFraction)]
LEVELS = [(feature, share, name, words) for feature, share in SHARES for name, words in share.levels]


@pytest.mark.parametrize(("feature", "share", "name", "words"), LEVELS)
def test_a_share_of_the_time_is_told_from_its_threshold_on(feature, share, name, words):
    level = getattr(THRESHOLDS, name)
    reached, missed = ((1 - level, 1 - level + 0.01) if share.absent else (level, level - 0.01)) if level else (0, 0)
    assert _say(usual={}, **{feature: reached}) == f"{share.plain} {words}"
    assert _say(usual={}, **{feature: missed}) != f"{share.plain} {words}"


@pytest.mark.parametrize(("feature", "share"), SHARES)
def test_below_its_levels_a_share_is_told_against_usual(feature, share):
    usual = {feature: Baseline(0.9 if share.absent else 0.0, 0.1)}
    mean = 0.7 if share.absent else 0.19
    assert _say(usual=usual, **{feature: mean}) == f"{share.plain} more than usual"
    usual = {feature: Baseline(0.7 if share.absent else 0.3, 0.05)}
    assert _say(usual=usual, **{feature: 0.95 if share.absent else 0.05}) == f"{share.plain} less than usual"


def test_a_face_seen_for_a_part_of_the_time_is_told_while_seen():
    assert _say(coverage=0.79, smile=0.9) == "smiles throughout while seen, more than usual"
    assert _say(coverage=0.8, smile=0.9) == "smiles throughout, more than usual"
    assert _say(coverage=0.6, happiness=0.9) == "looks happy throughout while seen, more than usual"
    assert _say(DescriptorThresholds(min_coverage=0.5), coverage=0.6, smile=0.05) == "smiles less than usual"


@pytest.mark.parametrize(
    ("length_s", "smile", "level"),
    [
        (2.0, 1.0, "most of the time"),  # two looks at its ends leave a fifth of it open
        (4.0, 1.0, "throughout"),
        (4.0, 0.99, "most of the time"),
        (10.0, 0.94, "throughout"),
        (10.0, 0.93, "most of the time"),
    ],
)
def test_throughout_leaves_room_for_what_happened_between_two_looks(length_s, smile, level):
    assert _say(length_s=length_s, smile=smile) == f"smiles {level}, more than usual"


@pytest.mark.parametrize(("length_s", "said"), [(1.59, None), (1.6, "as usual"), (math.inf, "as usual")])
def test_a_face_is_as_usual_only_where_four_looks_fit_in(length_s, said):
    assert _say(length_s=length_s, smile=0.3) == said
    assert _say(length_s=length_s, smile=0.3, f0_hz=200.0) == (said or "voice as usual")
    assert _say(length_s=length_s, f0_hz=200.0) == "as usual"  # nobody looked, and a voice is heard all the time
    assert _say(DescriptorThresholds(min_frames=0), length_s=0.1, smile=0.3) == "as usual"


def test_movements_of_a_head_that_speaks_are_no_gestures():
    def speaks(**counts: float) -> str | None:
        measures = {name: Measure(count, 1.0) for name, count in counts.items()}
        return in_words(NormalizedFeature(measures, USUAL, speaks=True), THRESHOLDS)

    assert speaks(nod_yes=1.0) == "moves head up and down"
    assert speaks(nod_no=3.0) == "moves head from side to side 3 times"
    assert speaks(nod_yes=0.0, nod_no=0.0) is None


def test_blinks_are_told_only_where_they_are_far_from_usual():
    usual = {"blinks_per_min": Baseline(15.0, 8.0)}
    assert _say(usual=usual, blinks_per_min=32.0) == "blinks more than usual"
    assert _say(usual=usual, blinks_per_min=30.0) == "as usual"
    assert _say(usual={"blinks_per_min": Baseline(15.0, 2.0)}, blinks_per_min=20.0) == "as usual"
    assert _say(usual={"blinks_per_min": Baseline(15.0, 2.0)}, blinks_per_min=1.0) == "blinks less than usual"
    assert _say(
        DescriptorThresholds(blink_change=4.0), {"blinks_per_min": Baseline(15.0, 2.0)}, blinks_per_min=20.0
    ) == ("blinks more than usual")


@pytest.mark.parametrize(
    ("name", "usual", "mean"),
    [
        ("articulation_rate", Baseline(5.0, 0.2), 9.0),
        ("pause_fraction", Baseline(0.1, 0.1), 0.9),
        ("hnr_db", Baseline(15.0, 1.0), 5.0),
    ],
)
def test_speed_pauses_and_noise_of_a_voice_are_measured_and_not_told(name: str, usual: Baseline, mean: float):
    assert _say(usual={name: usual}, **{name: mean}) == "as usual"


def _seen(hidden: bool, **means: float) -> str | None:
    return in_words(
        NormalizedFeature({name: Measure(m, 1.0) for name, m in means.items()}, USUAL, hidden=hidden), THRESHOLDS
    )


def test_a_face_that_is_not_seen_is_told_so():
    assert _seen(True) == "face not seen"
    assert _seen(True, f0_hz=200.0) == "voice as usual; face not seen"
    assert _seen(True, f0_hz=225.0) == "pitch well above usual; face not seen"
    assert _seen(False, f0_hz=200.0) == "as usual"


def test_a_back_end_is_not_told_where_it_is_not_to_be_believed():
    def say(detector: str | None, **means: float) -> str | None:
        measures = {name: Measure(mean, 1.0) for name, mean in means.items()}
        return in_words(NormalizedFeature(measures, USUAL, detector=detector), THRESHOLDS)

    for detector in (None, "mesh", "mediapipe"):
        assert say(detector, gaze_on_screen=0.2, smile=0.9) == (
            "looks away most of the time, more than usual; smiles throughout, more than usual"
        )
    assert say("haar", gaze_on_screen=0.2) is None
    assert say("haar", gaze_on_screen=0.2, smile=0.3) == "as usual"
    assert say("haar", gaze_on_screen=0.2, smile=0.9) == "smiles throughout, more than usual"
    assert say("yunet", gaze_on_screen=0.2, smile=0.9) == (
        "looks away most of the time, more than usual; smiles more than usual"
    )


def test_a_reply_to_several_turns_names_them():
    observed = NormalizedFeature({"f0_hz": Measure(225.0, 1.0)}, USUAL)
    assert in_words(observed, THRESHOLDS, (3, 4)) == "answers turns 3, 4; pitch well above usual"
    assert in_words(NormalizedFeature({}, USUAL), THRESHOLDS, (3, 4)) is None


def test_nothing_known_says_nothing_and_both_jitters_the_same():
    usual = {"jitter_disvoice": Baseline(2.0, 0.2)}
    assert _say(usual=usual, jitter_disvoice=2.5) == "voice much shakier than usual"
    assert _say(usual=usual, jitter_disvoice=1.7) == "voice steadier than usual"
    assert _say() is None
    assert _say(f0_hz=None, smile=None, nod_yes=None, happiness=None) is None
    assert _say(usual={}, f0_hz=300.0, smile=0.4, gaze_on_screen=0.7, happiness=0.4) is None
    assert _say(usual={}, nod_yes=1.0) == "nods"


def test_thresholds_move_the_words():
    calm = DescriptorThresholds(above_sd=3.0, far_above_sd=5.0)
    assert _say(calm, f0_hz=225.0) == "as usual"
    assert _say(calm, f0_hz=235.0) == "pitch above usual"
    assert _say(DescriptorThresholds(fraction_change=0.7), smile=0.9) == "smiles throughout, as usual"
    away = DescriptorThresholds(away_half_fraction=0.2)
    assert _say(away, gaze_on_screen=0.7) == "looks away half the time, more than usual"
    assert _say(DescriptorThresholds(nod_count=2), nod_yes=1.0) is None
    assert _say(DescriptorThresholds(nod_count=2), nod_yes=2.0) == "nods twice"
    assert _say(DescriptorThresholds(emotion_change=0.7), happiness=0.85) == "looks happy, as usual"
    assert _say(DescriptorThresholds(emotion_probability=0.9), happiness=0.85) == "as usual"
    assert _say(DescriptorThresholds(weak_smile=0.7), smile=0.9, smile_strength=0.7) == _say(smile=0.9)


def test_a_smile_has_degrees():
    assert _say(smile=0.9, smile_strength=0.9) == "smiles throughout, more than usual"
    assert _say(smile=0.9, smile_strength=0.89) == "slight smile throughout, more than usual"
    assert _say(smile=0.4, smile_strength=0.8, usual={"smile": Baseline(0.1, 0.1)}) == "slight smile more than usual"
    assert _say(usual={}, smile=0.0, smile_strength=None) is None
