import json

from hypothesis import given
from hypothesis import strategies as st

from apportion.features.registry import FEATURES
from apportion.features.verbalization.numeric import in_json, in_numbers
from apportion.features.verbalization.zscore import Baseline, Measure

USUAL = {"f0_hz": Baseline(200.0, 10.0), "jitter_local": Baseline(0.02, 0.002), "smile": Baseline(0.3, 0.2)}
MEANS = {"nod_yes": 2.0, "f0_hz": 212.34, "jitter_local": 0.01999, "smile": 0.4, "intensity_db": None}
MEASURES = {name: Measure(mean, 1.0) for name, mean in MEANS.items()}


def test_numbers():
    assert in_numbers(MEASURES, USUAL) == (
        "nod_yes 2; f0_hz 212.3 (+1.2 sd); jitter_local 0.0200 (+0.0 sd); smile 0.40 (+0.5 sd)"
    )
    assert in_numbers(MEASURES, {}) == "nod_yes 2; f0_hz 212.3; jitter_local 0.0200; smile 0.40"
    assert in_numbers({}, USUAL) is None


def test_what_another_figure_says_already_is_left_out():
    measures = {
        "intensity_db": Measure(60.0, 1.0),
        "log_energy_db": Measure(-30.0, 1.0),
        "nod_yes": Measure(2.0, 1.0),
        "nod_yes_per_min": Measure(12.34, 1.0),
    }
    usual = {"nod_yes_per_min": Baseline(6.0, 3.0)}
    assert in_numbers(measures, usual) == "intensity_db 60.0; nod_yes 2"
    assert in_json(measures, usual) == '{"intensity_db":{"mean":60.0},"nod_yes":2}'
    alone = {name: measures[name] for name in ("log_energy_db", "nod_yes_per_min")}
    assert in_numbers(alone, usual) == "log_energy_db -30.0; nod_yes_per_min 12.3 (+2.1 sd)"


def test_what_did_not_happen_is_left_out_and_a_smile_of_nothing_is_told():
    measures = {name: Measure(0.0, 1.0) for name in ("nod_yes", "nod_yes_per_min", "nod_no", "smile")}
    assert in_numbers(measures, {}) == "smile 0.00"
    assert in_json(measures, {}) == '{"smile":{"mean":0.0}}'
    assert in_numbers({"nod_yes": Measure(0.0, 1.0)}, {}) is None
    assert in_json({"nod_yes": Measure(0.0, 1.0)}, {}, (1, 2)) is None
    measures = {name: Measure(0.001, 1.0) for name in ("eyes_closed", "blinks_per_min")}
    assert in_numbers(measures, {}) is None
    assert in_json({**measures, "eyes_closed": Measure(0.25, 1.0)}, {}) == '{"eyes_closed":{"mean":0.25}}'


def test_a_reply_to_several_turns_names_them():
    measures = {"nod_yes": Measure(2.0, 1.0)}
    assert in_numbers(measures, {}, (3, 4)) == "answers turns 3, 4; nod_yes 2"
    assert in_json(measures, {}, (3, 4)) == '{"answers_turns":[3,4],"nod_yes":2}'


def test_json_is_compact_in_the_order_of_the_features_and_nothing_of_nothing():
    assert in_json(MEASURES, USUAL) == (
        '{"f0_hz":{"mean":212.3,"sd_from_usual":1.2},"jitter_local":{"mean":0.02,"sd_from_usual":0.0},'
        '"nod_yes":2,"smile":{"mean":0.4,"sd_from_usual":0.5}}'
    )
    assert in_json({}, USUAL) is None
    assert in_json({"smile": Measure(None, 0.0)}, USUAL) is None


@given(
    st.dictionaries(st.sampled_from(list(FEATURES)), st.none() | st.floats(-1e6, 1e6)),
    st.sets(st.sampled_from(list(FEATURES))),
    st.randoms(),
)
def test_json_has_a_key_for_what_was_observed_whatever_the_order(means, known, chance):
    usual = {name: Baseline(0.5, 0.1) for name in known}
    measures = {name: Measure(mean, 1.0) for name, mean in means.items()}
    shuffled = list(measures.items())
    chance.shuffle(shuffled)
    text = in_json(measures, usual)
    assert in_json(dict(shuffled), usual) == text
    found = {} if text is None else json.loads(text)
    observed = [name for name in FEATURES if means.get(name) is not None]
    observed = [n for n in observed if FEATURES[n].words is not None or FEATURES[n].repeats is not None]
    zero = [n for n in observed if not FEATURES[n].common and round(means[n], FEATURES[n].digits) == 0]
    assert list(found) == [name for name in observed if name not in zero and FEATURES[name].repeats not in observed]
    assert all(("sd_from_usual" in v) == (n in known) for n, v in found.items() if isinstance(v, dict))
