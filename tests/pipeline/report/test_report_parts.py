from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from importlib.resources import files

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.methods import METHODS
from apportion.foundation.html.text import clean, number, plain, seconds, signed
from apportion.foundation.svg import POINTS, ChartLine, largest, line_chart, ticks, turn_bars, value_bar
from apportion.pipeline.report.colours import COLOURED, GUESTS, colour_class
from apportion.pipeline.report.curves import stage_charts
from apportion.pipeline.report.picture import MAX_ROWS, turn_rewards_svg
from apportion.pipeline.report.sessions import what_it_equals
from tests.pipeline.report_inputs import made_up_episodes, made_up_histories

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (math.nan, "–"), (math.inf, "–"), (0.0, "0.000"), (0.1234, "0.123"), (-1.5, "−1.50"),
        (12.34, "12.3"), (12345.6, "12,346"), (0.0001234, "1.2e−04"), (2.8e-17, "0.000"), (-2.8e-17, "0.000"),
        (-0.0, "0.000"), (-0.0001234, "−1.2e−04"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


def test_other_texts() -> None:
    assert (signed(0.5), signed(-0.5), signed(0.0)) == ("+0.500", "−0.500", "0.000")
    assert (signed(2.8e-17), signed(-2.8e-17), signed(-0.0), signed(0.0004)) == ("0.000", "0.000", "0.000", "+4.0e−04")
    assert (plain(4.0), plain(-2.5), plain(3.3571), plain(-0.0)) == ("4", "−2.5", "3.357", "0")
    assert (seconds(75.9), seconds(None), seconds(-1.0), seconds(math.nan)) == ("1:15", "", "0:00", "")
    assert clean("abcdef", 4) == "abc…"


@given(st.text())
def test_cleaned_text_is_valid_xml(text: str) -> None:
    from markupsafe import escape

    parsed = ElementTree.fromstring(f"<p>{escape(clean(text))}</p>")
    # XML reads a carriage return as a line feed; everything else comes back as it went in.
    assert (parsed.text or "") == clean(text).replace("\r\n", "\n").replace("\r", "\n")


def test_bars_reach_from_the_middle_by_their_share_of_the_scale() -> None:
    drawing = ElementTree.fromstring(turn_bars([1.0, -2.0, None, math.nan], 2.0, "m1", "a <label>"))
    assert drawing.get("aria-label") == "a <label>" and drawing.get("viewBox") == "0 0 40 40"
    path = drawing.find("path")
    assert path is not None and path.get("d") == "M1 20h8v-10.0h-8zM11 20h8v20.0h-8z"
    bar = ElementTree.fromstring(value_bar(-1.0, 2.0, "m1")).find("path")
    assert bar is not None and bar.get("d") == "M15.0 0h15.0v8h-15.0z"


def test_every_method_has_a_colour_of_its_own_and_keeps_it() -> None:
    assert set(METHODS) <= set(COLOURED)
    assert len({colour_class(name) for name in COLOURED}) == len(COLOURED)
    guests = {colour_class(f"guest-{number}") for number in range(50)}
    assert guests == {f"m{len(COLOURED) + number}" for number in range(GUESTS)}
    assert colour_class("guest-1") == f"m{len(COLOURED) + 3}"
    style = files("apportion.foundation.html").joinpath("tokens.css").read_text(encoding="utf-8")
    for place in range(len(COLOURED) + GUESTS):
        assert style.count(f".m{place} {{ color: light-dark(#") == 1


def test_the_common_scale_is_never_zero() -> None:
    assert largest([[0.0, None], [math.nan]]) == 1.0
    assert largest([[1.0, -3.0], [2.0]]) == 3.0


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_cover_the_range_with_few_round_numbers(low: float, width: float) -> None:
    found = ticks(low, low + width)
    assert 2 <= len(found) <= 8
    assert found[0] <= low + 1e-6 * width and found[-1] >= low + width * (1 - 1e-6)


def test_a_chart_draws_each_curve_inside_its_frame() -> None:
    series = [ChartLine("a", [1, 2, 3], [0.1, 5.0, -2.0], "m0"), ChartLine("b", [1], [math.nan], "m1")]
    chart = line_chart([*series, ChartLine("c", [2], [1.0], "m2", True)], "epoch", "losses")
    assert chart is not None
    drawing = ElementTree.fromstring(chart)
    curves = [element for element in drawing.iter() if "curve" in (element.get("class") or "")]
    assert [element.tag for element in curves] == ["path", "circle"]
    points = [tuple(map(float, p.split())) for p in (curves[0].get("d") or "")[1:].split("L")]
    assert len(points) == 3 and all(0 <= x <= 360 and 0 <= y <= 190 for x, y in points)
    assert points[1][1] < points[0][1] < points[2][1]


def test_a_chart_of_nothing_finite_is_none() -> None:
    assert line_chart([ChartLine("a", [1], [math.inf], "m0")], "epoch", "losses") is None


def test_a_constant_curve_is_drawn() -> None:
    chart = line_chart([ChartLine("a", [1, 2], [0.0, 0.0], "m0")], "epoch", "losses")
    assert chart is not None and "M52.0 85.0L350.0 85.0" in chart


def test_long_curves_are_thinned_to_their_means() -> None:
    chart = line_chart([ChartLine("a", range(10_000), np.ones(10_000).tolist(), "m0")], "step", "reward")
    assert chart is not None and chart.count("L") == POINTS - 1


def test_training_and_validation_share_a_chart_and_rewards_come_first() -> None:
    stages = stage_charts(made_up_histories(), {"llm": "m3"})
    assert [stage["title"] for stage in stages] == ["Reward models", "Policy"]
    models, policy = stages
    assert len(models["charts"]) == 5 and all(chart["first"] for chart in models["charts"])
    assert models["charts"][0]["svg"].count("dashed") == 2 and "m3" in models["charts"][0]["svg"]
    assert [(chart["title"], chart["first"]) for chart in policy["charts"]] == [
        ("llm: reward", True),
        ("llm: KL divergence from the untrained policy", True),
        ("llm: clip fraction", False),
    ]
    assert stage_charts(None, {}) == ()


def test_unknown_stages_and_empty_values_are_borne() -> None:
    history = made_up_histories().slice(0, 2)
    nothing = history.set_column(5, "value", pa.array([None, None], pa.float64()))
    assert stage_charts(nothing, {}) == ()
    other = history.set_column(0, "stage", pa.array(["warm-up"] * 2))
    assert stage_charts(other, {})[0]["title"] == "warm-up"


def test_the_picture_stands_alone_and_shows_every_reward() -> None:
    (episode,) = made_up_episodes(1)
    rewards = {"llm": {t: t / 10 - 0.3 for t in episode.target_turns}, "<b>": dict.fromkeys(episode.target_turns, 0.1)}
    drawing = ElementTree.fromstring(turn_rewards_svg(episode, rewards))
    assert drawing.tag == f"{SVG}svg"
    bars = [r for r in drawing.iter(f"{SVG}rect") if (r.get("class") or "").startswith("m")]
    assert len(bars) == 2 * len(episode.target_turns)
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    assert "<b>" in texts and "−0.300" in texts and any(t and t.startswith("↳") for t in texts)


def test_a_long_session_is_cut_in_the_picture_and_says_so() -> None:
    (episode,) = made_up_episodes(1, turns=(40, 41))
    svg = turn_rewards_svg(episode, {"llm": dict.fromkeys(episode.target_turns, 1.0)}, title="A & B")
    assert f"and {40 - MAX_ROWS} more turns of agent" in svg and "A &amp; B" in svg


def test_a_picture_of_nothing_is_refused() -> None:
    (episode,) = made_up_episodes(1)
    with pytest.raises(ValueError, match="needs a method and a target turn"):
        turn_rewards_svg(episode, {})


def test_what_a_sum_equals_is_named_by_its_target() -> None:
    assert what_it_equals(2.5, 2.5, 3.0, 1.0) == ("= score", True)
    assert what_it_equals(-0.5, 2.5, 3.0, 1.0) == ("= score − 3", True)
    assert what_it_equals(1.5, 2.5, 3.0, 1.0) == ("= score − 1", True)  # Attributions, above the scale's lower end.
    assert what_it_equals(1.6, 2.5, 3.0, 1.0)[1] is False
