"""Pictures of figures along an axis."""

import re
from xml.etree import ElementTree

from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.table import Value
from apportion.foundation.intervals.estimate import Missing

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
