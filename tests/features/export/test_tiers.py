import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.export.tiers import Interval, clean, interval, layers, make_tiers, one_line

INTERVALS = st.tuples(st.integers(0, 50), st.integers(1, 20), st.sampled_from("abc")).map(
    lambda item: Interval(item[0], item[0] + item[1], item[2])
)


@pytest.mark.parametrize(
    ("start_s", "end_s", "times"),
    [
        (1.0004, 2.0006, (1000, 2001)),
        (1.0, 1.0, (1000, 1001)),
        (1.0001, 1.0002, (1000, 1001)),
        (-2.0, 1.5, (0, 1500)),
        (4294967.0, 4294967.0, (4294967000, 4294967001)),
    ],
)
def test_times_are_whole_milliseconds_of_the_session(start_s, end_s, times):
    assert interval(start_s, end_s, "x") == Interval(*times, "x")


@pytest.mark.parametrize(
    ("start_s", "end_s"),
    [
        (None, 1.0),
        (float("nan"), 1.0),
        (0.0, float("inf")),
        (2.0, 1.0),
        (0.0, 1e300),
    ],
)
def test_unusable_times_give_no_interval(start_s, end_s):
    assert interval(start_s, end_s, "x") is None


@given(st.lists(INTERVALS, max_size=30))
def test_layers_keep_everything_and_never_overlap(intervals):
    rows = layers(intervals)
    assert sorted(item for row in rows for item in row) == sorted(set(intervals))
    for row in rows:
        assert all(a.end_ms <= b.start_ms for a, b in itertools.pairwise(row))
    busiest = max((sum(i.start_ms <= t < i.end_ms for i in set(intervals)) for t in range(71)), default=0)
    assert len(rows) == busiest


def test_overlaps_and_people_of_one_name_get_tiers_of_their_own():
    a, b, c = Interval(0, 10, "a"), Interval(5, 15, "b"), Interval(10, 20, "c")
    tiers = make_tiers([("utterance", "ann", [a, b, c]), ("utterance", "ann ", [a]), ("smile", "ann", [])])
    assert [(tier.name, tier.intervals) for tier in tiers] == [
        ("utterance@ann", (a, c)),
        ("utterance@ann 2", (b,)),
        ("utterance@ann 3", (a,)),
    ]


@given(st.text())
def test_cleaned_text_is_text_that_xml_can_hold(text):
    element = ET.Element("a", {"b": one_line(text)})
    element.text = clean(text)
    back = ET.fromstring(ET.tostring(element, encoding="utf-8"))
    assert (back.text or "") == clean(text)
    assert back.get("b") == one_line(text)
    assert "\n" not in one_line(text)
    assert clean(clean(text)) == clean(text)


def test_control_characters_are_replaced_and_ends_of_line_kept():
    assert clean("a\x00b\x1bc\ud800d\uffff\r\ne\rf\tg") == "a\ufffdb\ufffdc\ufffdd\ufffd\ne\nf\tg"
    assert one_line(" a\r\n\tb ") == "a b"
