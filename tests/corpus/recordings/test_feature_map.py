import math

import pytest

from apportion.corpus.recordings.feature_map import (
    EMOTIONS,
    FIGURES,
    LEVELS,
    READY,
    SHARES,
    Column,
    parse_map,
    recognised,
)
from apportion.features.registry import EMOTIONS as OURS
from apportion.features.registry import FEATURES
from apportion.foundation.errors import UnitError


def test_features_that_can_be_mapped_are_features():
    assert EMOTIONS == OURS
    assert set(FEATURES) >= SHARES | FIGURES and not SHARES & FIGURES and LEVELS <= FIGURES
    # What is left is counted and has no value at a moment, but for the strength of our own smiles.
    assert {name for name in FEATURES if name not in SHARES | FIGURES} == {
        *("nod_yes", "nod_single", "nod_no", "nod_yes_per_min", "nod_no_per_min", "blinks_per_min"),
        *("smile_onsets", "smile_strength", "laughs", "backchannels", "overlaps"),
    }
    assert all(column.feature in SHARES | FIGURES for one in READY.values() for column in one.columns)


def test_columns_one_by_one():
    found = parse_map("pitch:f0_hz, a:b:smile ,t:time")
    assert found.columns == (Column("pitch", "f0_hz"), Column("a:b", "smile"))
    assert (found.times, found.rate_hz, found.person, found.rest) == (("t",), None, None, False)
    counted = parse_map("pitch:f0_hz,n:time@25")
    assert (counted.times, counted.rate_hz, counted.counted) == (("n",), 25.0, True)


def test_a_ready_map_and_columns_beside_it():
    found = parse_map("candor,nods:brow_raise")
    assert found.columns == (*READY["candor"].columns, Column("nods", "brow_raise"))
    assert (found.times, found.person, found.rest) == (("timedelta",), "user_id", True)
    assert parse_map("py-feat@29.97").rate_hz == 29.97
    assert parse_map("openface").seen == "success"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openfase", "map=openfase: 'openfase' is no ready map; did you mean 'openface'"),
        ("", "'' is no ready map; .* There are candor, openface, py-feat, egemaps, mexca"),
        ("a:smiles", "'smiles' is no feature that has a value at every moment; did you mean 'smile'"),
        ("a:nod_yes", "'nod_yes' is no feature that has a value at every moment"),
        (":smile", "no feature"),
        ("t:time", "no column is a feature"),
        ("a:smile,b:smile", "smile has two columns"),
        ("openface,a:smile", "smile has two columns"),
        ("py-feat", "numbers of pictures. Say how many there are a second, as in py-feat@25"),
        ("py-feat@0", "'0' after @; pictures a second, 0.1 to 1000, are needed"),
        ("py-feat@fast", "'fast' after @"),
    ],
)
def test_maps_that_are_none(text, words):
    with pytest.raises(UnitError, match=words):
        parse_map(text)


def test_figures_become_those_of_the_feature():
    reads = {(name, column.feature): column.read for name, one in READY.items() for column in one.columns}
    assert reads["egemaps", "f0_hz"](36.0) == pytest.approx(220.0)  # Three octaves above 27.5 Hz.
    assert math.isnan(reads["egemaps", "f0_hz"](0.0)) and math.isnan(reads["mexca", "hnr_db"](0.0))
    assert reads["egemaps", "hnr_db"](-3.0) == -3.0
    gaze = reads["openface", "gaze_on_screen"]
    assert [gaze(math.radians(degrees)) for degrees in (0.0, 14.9, -14.9, 15.1, -40.0)] == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert [reads["py-feat", "smile"](p) for p in (0.0, 0.49, 0.5, 1.0)] == [0.0, 0.0, 1.0, 1.0]


def test_a_file_is_recognised_by_its_columns():
    for name, one in READY.items():
        assert recognised(["frame", *(column.name for column in one.columns[:3])]) == name
    assert recognised(["frame", "AU12_c", "confidence"]) is None
    assert recognised([]) is None
