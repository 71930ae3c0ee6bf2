import pytest

from features.names import EMOTION_FEATURES
from features.settings import DescriptorThresholds
from features.words.baseline import Baseline, Measure
from features.words.phrases import LOOKS, in_words

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


def _say(thresholds: DescriptorThresholds = THRESHOLDS, usual=USUAL, **means: float | None) -> str | None:
    return in_words({name: Measure(mean, 1.0) for name, mean in means.items()}, usual, thresholds)


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
        ("nod_no", 3.0, "shakes head 3 times"),
        ("nod_no", 0.0, None),
        ("gaze_on_screen", 0.1, "looks away most of the time"),
        ("gaze_on_screen", 0.5, "looks away half the time"),
        ("gaze_on_screen", 0.7, "looks away more than usual"),
        ("gaze_on_screen", 0.79, "as usual"),  # 1.1 sd, but too small a change to tell
        ("smile", 0.9, "smiling"),
        ("smile", 0.05, "smiles less than usual"),
        ("smile", 0.4, "as usual"),
        ("happiness", 0.6, "looks happy"),
        ("happiness", 0.4, "looks happier than usual"),
        ("happiness", 0.3, "as usual"),  # 1 sd, but too small a change to tell
        ("happiness", 0.0, "looks less happy than usual"),
        ("sadness", 0.7, "looks sad"),
        ("neutral", 1.0, "as usual"),
    ],
)
def test_phrase(name, mean, text):
    assert _say(**{name: mean}) == text


def test_phrases_are_joined_in_a_fixed_order():
    text = _say(smile=0.9, gaze_on_screen=0.5, nod_yes=2.0, f0_hz=225.0)
    assert text == "pitch well above usual; nods twice; looks away half the time; smiling"


def test_low_smile_that_is_high_for_the_person():
    usual = {"smile": Baseline(0.1, 0.1)}
    assert _say(usual=usual, smile=0.4) == "smiles more than usual"


def test_gaze_that_is_better_than_usual():
    assert _say(usual={"gaze_on_screen": Baseline(0.5, 0.2)}, gaze_on_screen=1.0) == "looks away less than usual"


def test_every_emotion_but_neutral_has_its_phrases():
    assert set(LOOKS) == set(EMOTION_FEATURES) - {"neutral"}
    for name, look in LOOKS.items():
        usual = {name: Baseline(0.3, 0.1)}
        assert [_say(usual=usual, **{name: mean}) for mean in (0.9, 0.48, 0.1)] == [look.plain, look.more, look.less]


def test_an_emotion_that_rises_is_told_and_not_those_that_fall_for_it():
    assert _say(happiness=0.7, sadness=0.05) == "looks happy"
    assert _say(happiness=0.0, sadness=0.05) == "looks less happy than usual; looks less sad than usual"


def test_a_face_that_always_looks_sad_is_not_told():
    assert _say(usual={"sadness": Baseline(0.8, 0.05)}, sadness=0.85) == "as usual"


def test_both_jitters_have_the_same_words():
    usual = {"jitter_disvoice": Baseline(2.0, 0.2)}
    assert _say(usual=usual, jitter_disvoice=2.5) == "voice much shakier than usual"
    assert _say(usual=usual, jitter_disvoice=1.7) == "voice steadier than usual"


def test_nothing_known_says_nothing():
    assert _say() is None
    assert _say(f0_hz=None, smile=None, nod_yes=None, happiness=None) is None
    assert _say(usual={}, f0_hz=300.0, smile=1.0, gaze_on_screen=0.0) is None
    assert _say(usual={}, nod_yes=1.0) == "nods"


def test_thresholds_move_the_words():
    calm = DescriptorThresholds(above_sd=3.0, far_above_sd=5.0)
    assert _say(calm, f0_hz=225.0) == "as usual"
    assert _say(calm, f0_hz=235.0) == "pitch above usual"
    assert _say(DescriptorThresholds(fraction_change=0.7), smile=0.9) == "as usual"
    assert _say(DescriptorThresholds(smile_fraction=0.95), smile=0.9) == "smiles more than usual"
    assert _say(DescriptorThresholds(away_half_fraction=0.2), gaze_on_screen=0.7) == "looks away half the time"
    assert _say(DescriptorThresholds(away_most_fraction=0.3), gaze_on_screen=0.7) == "looks away most of the time"
    assert _say(DescriptorThresholds(nod_count=2), nod_yes=1.0) is None
    assert _say(DescriptorThresholds(nod_count=2), nod_yes=2.0) == "nods twice"
    assert _say(DescriptorThresholds(emotion_change=0.7), happiness=0.6) == "as usual"
    assert _say(DescriptorThresholds(emotion_probability=0.8), happiness=0.6) == "looks happier than usual"
