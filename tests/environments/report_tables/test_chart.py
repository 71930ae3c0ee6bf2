"""Pictures of figures along an axis."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.table import Value, mean
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

LINES = {
    "village <b>": [Value(40.0, 30.0, 50.0, 10, 10), Value(60.0, None, None, 10, 10), None],
    "werewolves": [None, Missing("never"), Value(250.0, 90.0, 260.0, 10, 10)],
}


def drawn(joined=True):
    return chart("A title", ["1", "2\x1b[2J", "3"], LINES, "K", (0.0, 100.0), joined=joined)


def test_every_figure_is_a_dot_with_whiskers_where_it_has_an_interval() -> None:
    picture = ElementTree.fromstring(drawn())
    space = "{http://www.w3.org/2000/svg}"
    circles = picture.findall(f"{space}circle")
    assert len(circles) == 3 + 2  # Three figures, and one for each name below.
    whiskers = [path for path in picture.findall(f"{space}path") if path.get("stroke-width") == "2"]
    assert len(whiskers) == 2 and len(picture.findall(f"{space}polyline")) == 1
    heights = [float(circle.get("cy")) for circle in circles if circle.get("cy") != circles[-1].get("cy")]
    assert min(heights) >= 48  # Beyond the scale is drawn at its end.
    assert not ElementTree.fromstring(drawn(joined=False)).findall(f"{space}polyline")


def test_names_do_no_harm() -> None:
    text = drawn()
    assert "<b>" not in text and "\x1b" not in text and "village &lt;b&gt;" in text
    assert re.search(r">100</text>", text) and ">K</text>" in text
    assert ">0.20</text>" in chart("t", ["a"], {}, "l", (0.0, 1.0))


def test_an_interval_draws_whole_episodes() -> None:
    """Ten copies of every score in its own episode tell no more than one."""
    values = np.random.default_rng(0).normal(size=30)
    names = [str(number) for number in range(30)]
    one = mean(names, list(values), Sampling())
    ten = mean(names * 10, list(values) * 10, Sampling())
    assert isinstance(one, Value) and isinstance(ten, Value)
    assert (ten.low, ten.high) == (pytest.approx(one.low), pytest.approx(one.high))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", rng=1).confidence_interval
    assert one.low == pytest.approx(theirs.low, abs=0.05) and one.high == pytest.approx(theirs.high, abs=0.05)
