"""The behaviour in one media file as a picture: a panel a feature over time."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apportion.features.probe.probe import Figure, Probe
from apportion.features.registry import EMOTIONS, FEATURES, Count
from apportion.features.time_series import Series, Span
from apportion.foundation.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN, PANEL_IN, HEAD_IN, DPI = 10.0, 1.3, 0.9, 110
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#ececec"
"""Colours that colour-blind people can tell apart (Okabe and Ito), and the grey of what was not seen."""
STYLE = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
}
LONGEST_NAME = 70
LIDS = {"eyes_lowered": GREEN, "eyes_closed": BLUE, "eyes_down_or_closed": "#666666"}
GAP = 1.5
"""A line is broken where the next sample is more than this many usual steps away."""


@dataclass(frozen=True)
class PlotPanel:
    """What one panel shows: its name, the series that it needs, who draws it, and its height in usual ones."""

    title: str
    series: tuple[str, ...]
    draw: Callable[[Axes, Probe], None]
    figures: tuple[str, ...] = ()
    height: float = 1.0


def draw_probe(probe: Probe) -> bytes:
    """The PNG of everything that was measured; equal figures give equal bytes."""
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    panels = [panel for panel in PANELS if all(name in probe.series for name in panel.series)]
    heights = [panel.height for panel in panels]
    # Somebody's own matplotlibrc must not change the picture, nor letters that the font lacks bring warnings.
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        canvas = Canvas(figsize=(WIDTH_IN, HEAD_IN + PANEL_IN * sum(heights)), dpi=DPI, layout="constrained")
        FigureCanvasAgg(canvas)
        rows = canvas.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            axes.set_title(_headline(panel, probe))
            panel.draw(axes, probe)
        rows[-1].set_xlim(probe.start_s, probe.end_s)
        rows[-1].set_xlabel("seconds")
        # Names of files are shown as they are: a $ begins no formula.
        canvas.suptitle(_title(probe), x=0.01, ha="left", fontsize=11, fontweight="bold", parse_math=False)
        written = io.BytesIO()
        canvas.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _title(probe: Probe) -> str:
    name = Path(probe.shown_name).name
    name = name if len(name) <= LONGEST_NAME else f"{name[:45]}…{name[-24:]}"
    return f"{name}   {probe.start_s:.2f} to {probe.end_s:.2f} s"


def _headline(panel: PlotPanel, probe: Probe) -> str:
    figures = {figure.feature: figure for figure in probe.figures}
    return "   ·   ".join([panel.title, *(_shown(figures[name]) for name in panel.figures)])


def _shown(figure: Figure) -> str:
    seen = f"known {figure.coverage:.0%} of the time"
    if figure.mean is None:
        return "not observed"
    row = FEATURES[figure.feature]
    if isinstance(row.words, Count):
        return f"{figure.mean:.0f} {figure.unit if figure.mean != 1 else figure.unit.removesuffix('s')}"
    if row.while_on:
        return f"{row.while_on} {figure.mean:.0%}, {seen}"
    return f"mean {figure.mean:.1f}, {seen}"


def _voice(name: str) -> Callable[[Axes, Probe], None]:
    def draw(axes: Axes, probe: Probe) -> None:
        _line(axes, probe.series[name], BLUE)

    return draw


def _head(axes: Axes, probe: Probe) -> None:
    _unseen(axes, probe)
    _shade(axes, probe.events.yes, BLUE, "nod")
    _shade(axes, probe.events.no, ORANGE, "shake")
    _line(axes, _centred(probe.series["head_y"], -1.0), BLUE, "up")
    _line(axes, _centred(probe.series["head_x"]), ORANGE, "right")
    _legend(axes)


def _angles(axes: Axes, probe: Probe) -> None:
    _unseen(axes, probe)
    pitch = probe.series["head_pitch_deg"]
    _line(axes, Series(pitch.starts_s, pitch.ends_s, -pitch.values), BLUE, "up")
    _line(axes, probe.series["head_yaw_deg"], ORANGE, "right")
    _legend(axes)


def _smile(axes: Axes, probe: Probe) -> None:
    settings = probe.settings
    _unseen(axes, probe)
    _shade(axes, _where(probe.series["smile"], 1.0), GREEN, "smiling")
    _line(axes, probe.series["smile_score"], GREEN)
    levels = {"mediapipe": settings.smile_blendshape, "mesh": settings.smile_level}
    axes.axhline(
        levels.get(settings.detector, settings.smile_neighbours), color="#666666", linewidth=0.8, linestyle=(0, (4, 3))
    )
    axes.set_ylim(bottom=0)
    _legend(axes)


def _gaze(axes: Axes, probe: Probe) -> None:
    _unseen(axes, probe)
    _shade(axes, _where(probe.series["gaze_on_screen"], 0.0), ORANGE, "off screen")
    for name, colour in LIDS.items():
        if name in probe.series:
            _shade(axes, _where(probe.series[name], 1.0), colour, name.replace("_", " "))
    names = ("gaze_look", "gaze_yaw_deg", "gaze_log_ratio")
    raw = next((probe.series[name] for name in names if name in probe.series), None)
    if raw is not None:
        _line(axes, raw, BLUE)
    _legend(axes)


def _emotions(axes: Axes, probe: Probe) -> None:
    from matplotlib.collections import PolyCollection

    boxes, values = [], []
    for row, name in enumerate(EMOTIONS):
        series = probe.series[name]
        for start_s, end_s, value in zip(series.starts_s, series.ends_s, series.values, strict=True):
            if math.isfinite(value):
                boxes.append([(start_s, row), (end_s, row), (end_s, row + 1), (start_s, row + 1)])
                values.append(value)
    drawn = PolyCollection(boxes, array=np.array(values), cmap="Blues", edgecolors="face", linewidths=0.3)
    drawn.set_clim(0.0, 1.0)
    _unseen(axes, probe)
    axes.add_collection(drawn)
    axes.set_yticks(np.arange(len(EMOTIONS)) + 0.5, EMOTIONS)
    axes.set_ylim(len(EMOTIONS), 0)
    axes.grid(visible=False)


PANELS = (
    PlotPanel("pitch (f0), Hz", ("f0_hz",), _voice("f0_hz"), ("f0_hz",), 1.2),
    PlotPanel("intensity, dB", ("intensity_db",), _voice("intensity_db"), ("intensity_db",)),
    PlotPanel("log energy, dB of full scale", ("log_energy_db",), _voice("log_energy_db"), ("log_energy_db",)),
    PlotPanel("head, face heights", ("head_x", "head_y"), _head, ("nod_yes", "nod_no"), 1.2),
    PlotPanel("head turned, degrees", ("head_yaw_deg", "head_pitch_deg"), _angles),
    PlotPanel("smile score", ("smile", "smile_score"), _smile, ("smile",)),
    PlotPanel("eyes, left (down) or right (up)", ("gaze_on_screen",), _gaze, ("gaze_on_screen",)),
    PlotPanel("emotions, 0 (white) to 1 (blue)", EMOTIONS, _emotions, (), 1.6),
)


def _line(axes: Axes, series: Series, colour: str, label: str | None = None) -> None:
    """A line that is broken where nothing was observed, with a dot for a sample that has no neighbour."""
    known = np.isfinite(series.values)
    times, values = series.times_s[known], series.values[known]
    if not len(times):
        return
    usual_s = float(np.median(series.ends_s - series.starts_s))
    breaks = np.flatnonzero(np.diff(times) > GAP * usual_s) + 1
    axes.plot(np.insert(times, breaks, np.nan), np.insert(values, breaks, np.nan), color=colour, label=label)
    ends = np.concatenate([[0], breaks, [len(times)]])
    alone = ends[:-1][np.diff(ends) == 1]
    axes.plot(times[alone], values[alone], ".", color=colour, markersize=2.5)


def _shade(axes: Axes, spans: Sequence[Span], colour: str, label: str) -> None:
    for index, (start_s, end_s) in enumerate(spans):
        axes.axvspan(start_s, end_s, color=colour, alpha=0.16, linewidth=0, label=label if index == 0 else None)


def _unseen(axes: Axes, probe: Probe) -> None:
    """Grey where no face was seen."""
    seen = _joined_spans(probe.series["nod_yes"], np.isfinite(probe.series["nod_yes"].values))
    edges = [probe.start_s, *(edge for span in seen for edge in span), probe.end_s]
    shortest_s = 1.0 / probe.settings.video_rate_hz
    gaps = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > shortest_s]
    for index, (start_s, end_s) in enumerate(gaps):
        axes.axvspan(start_s, end_s, color=GREY, linewidth=0, zorder=0, label="no face" if index == 0 else None)


def _where(series: Series, value: float) -> list[Span]:
    return _joined_spans(series, series.values == value)


def _joined_spans(series: Series, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[Span]:
    """The ``chosen`` cells, those that touch as one span."""
    starts, ends = series.starts_s[chosen].tolist(), series.ends_s[chosen].tolist()
    if not starts:
        return []
    breaks = [i + 1 for i, (end_s, start_s) in enumerate(zip(ends, starts[1:], strict=False)) if start_s - end_s > 1e-6]
    return [(starts[a], ends[b - 1]) for a, b in pairwise([0, *breaks, len(starts)])]


def _centred(series: Series, sign: float = 1.0) -> Series:
    known = series.values[np.isfinite(series.values)]
    middle = float(np.median(known)) if len(known) else 0.0
    values: Floats = sign * (series.values - middle)
    return Series(series.starts_s, series.ends_s, values)


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=5, borderaxespad=0.0, handlelength=1.4)
