"""One session, all methods, turn by turn: a picture like Figure 2 of LLM-GELI."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from apportion.pipeline.benchmark.session import ShownSession

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
"""Okabe and Ito's, for people who do not see all colours; with more methods they repeat in another dash."""
DASHES = ("-", "--", ":", "-.")
WIDTH_IN, REWARDS_IN, PEOPLE_IN, DPI = 10.0, 4.0, 1.4, 110


def picture(shown: ShownSession) -> bytes:
    """A PNG: each method's rewards over the target turns, above people's mean label and computed ones, if any."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [REWARDS_IN, *[PEOPLE_IN] * len(shown.labels)]
    figure = Figure(figsize=(WIDTH_IN, sum(heights) + 0.5), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    _rewards(panels[0], shown)
    for panel, (whose, labels) in zip(panels[1:], shown.labels.items(), strict=True):
        _labels(panel, whose, labels)
    panels[-1].set_xticks(range(len(shown.turns)), [str(turn) for turn in shown.turns])
    panels[-1].set_xlabel(f"turn of {shown.target}", parse_math=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _rewards(axes: Axes, shown: ShownSession) -> None:
    for i, (method, rewards) in enumerate(sorted(shown.rewards.items())):
        dash = DASHES[(i // len(COLOURS)) % len(DASHES)]
        axes.plot(rewards, dash, color=COLOURS[i % len(COLOURS)], marker="o", markersize=3, linewidth=1.4, label=method)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_ylabel("reward (units of the score)")
    axes.set_title(f"session {shown.session_id}, score {shown.score:g}", loc="left", parse_math=False)
    axes.grid(color="#e4e4e4")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _labels(axes: Axes, whose: str, labels: Sequence[float | None]) -> None:
    known = [(i, label) for i, label in enumerate(labels) if label is not None]
    axes.plot([i for i, _ in known], [label for _, label in known], color="#444444", marker="s", markersize=3)
    axes.set_ylabel(whose.replace(" (", "\n("), parse_math=False)
    axes.grid(color="#e4e4e4")
