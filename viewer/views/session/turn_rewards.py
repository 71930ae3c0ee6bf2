"""Turn rewards as they are drawn: of every method, of reward models, and people's labels beside them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from apportion.corpus.session import EpisodeKey
from apportion.decompose.method import Raw
from apportion.decompose.methods import METHODS
from apportion.foundation.html.text import clean, number, signed
from apportion.foundation.tables.numbers import NOISE
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.data.session import SessionTables
from apportion.viewer.views.session.axis import Axis

Kind = Literal["method", "model", "people", "computed"]
NAME = 60
COMPUTED = "computed:"
"""Begins the annotator of labels that nobody gave."""
LEVELS = 3
"""Steps of a tint from nothing to the scale's end."""


@dataclass(frozen=True)
class Interval:
    """How far a turn's reward goes, in units of the reward.

    Over ``of`` seeds, or one standard deviation of ``of`` samples; of a reward model, which has none, of its heads.
    """

    low: float
    high: float
    kind: Literal["seeds", "samples"]
    of: int

    @property
    def drawn(self) -> bool:
        """Whether it has a width: what is the same for every seed needs no line."""
        return self.high - self.low > NOISE

    @property
    def words(self) -> str:
        """What it is, in a line."""
        if self.kind == "seeds":
            return f"{signed(self.low)} to {signed(self.high)} over {self.of} seeds"
        return (
            f"± {number((self.high - self.low) / 2)}, one standard deviation of its {'samples' if self.of else 'heads'}"
        )


@dataclass(frozen=True)
class TurnValue:
    """What one series says of one turn: the mean over ``seeds``; ``raw`` is in the method's own units."""

    reward: float
    intervals: tuple[Interval, ...] = ()
    seeds: tuple[tuple[int, float], ...] = ()
    raw: float | None = None
    rationale: str = ""
    samples: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Series:
    """One row of bars. ``scale`` is the size that reaches the edge, ``own_scale`` whether no other series shares it.

    ``key`` names it in an address; ``of_what`` says of a reward model which rewards taught it, of labels how they were
    centred; ``total`` is the sum over its turns, None where a sum means nothing.
    """

    key: str
    name: str
    kind: Kind
    colour: str
    of_what: str
    values: Mapping[int, TurnValue]
    scale: float
    own_scale: bool
    total: float | None

    def level(self, turn: int) -> int:
        """How good or bad a turn is in steps from -3 to 3; 0 where it is neither or nothing is known."""
        worth = self.values.get(turn)
        if worth is None:
            return 0
        share = max(-1.0, min(1.0, worth.reward / self.scale))
        return round(share * LEVELS) or (1 if share > 0.1 else -1 if share < -0.1 else 0)


def series_of(tables: SessionTables, key: EpisodeKey | None, order: Sequence[str]) -> tuple[Series, ...]:
    """Everything that says something of single turns in an episode: methods in ``order``, reward models, labels.

    ``key``: the episode's; None leaves only labels. ``order``: names of methods, in the order in which they are shown;
    others come behind by name.
    """
    methods = _worths(_of_episode(tables.rewards, key), _of_episode(tables.samples, key))
    models = _worths(_of_episode(tables.scores, key), ())
    rank = {name: place for place, name in enumerate(order)}

    def place(name: str) -> tuple[int, str]:
        return rank.get(name, len(rank)), name

    on_a_scale = [turns for of in (methods, models) for name, turns in of.items() if not _unprojected(name)]
    shared = _largest(worth for turns in on_a_scale for worth in turns.values())
    made = [
        _series(f"{prefix}{name}", name, kind, of[name], shared)
        for of, kind, prefix in ((methods, "method", ""), (models, "model", "model:"))
        for name in sorted(of, key=place)
    ]
    return (*made, *_labels(tables))


def _series(key: str, name: str, kind: Any, turns: Mapping[int, TurnValue], shared: float) -> Series:
    own = _unprojected(name)
    of_what = f"reward model taught by {clean(name, NAME)}" if kind == "model" else ""
    title = clean(name, NAME) if kind == "method" else f"r_θ {clean(name, NAME)}"
    total = float(sum(worth.reward for worth in turns.values()))
    scale = _largest(turns.values()) if own else shared
    return Series(key, title, kind, colour_class(name), of_what, turns, scale, own, total)


def _worths(rows: Iterable[Mapping[str, Any]], samples: Iterable[Mapping[str, Any]]) -> dict[str, dict[int, TurnValue]]:
    """Rows of ``rewards`` or ``scores`` of one episode, by method and turn."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["reward"] is not None and math.isfinite(row["reward"]):
            groups[row["method"], row["turn"]].append(row)
    said: dict[tuple[str, int], list[tuple[int, float | None]]] = defaultdict(list)
    for row in samples:
        said[row["method"], row["turn"]].append((row["sample"], row["value"]))
    made: dict[str, dict[int, TurnValue]] = defaultdict(dict)
    for (method, turn), group in sorted(groups.items()):
        made[method][turn] = _worth(group, tuple(value for _, value in sorted(said[method, turn], key=lambda s: s[0])))
    return dict(made)


def _worth(group: list[Mapping[str, Any]], samples: tuple[float | None, ...]) -> TurnValue:
    seeds = tuple(sorted((row["seed"], row["reward"]) for row in group))
    values = [value for _, value in seeds]
    reward = _mean(values)
    intervals = []
    if len(values) > 1:
        intervals.append(Interval(min(values), max(values), "seeds", len(values)))
    spreads = [row["sd"] for row in group if row["sd"] is not None and math.isfinite(row["sd"])]
    if spreads:
        spread = _mean(spreads)
        intervals.append(Interval(reward - spread, reward + spread, "samples", len(samples)))
    raws = [row["raw_reward"] for row in group if row["raw_reward"] is not None and math.isfinite(row["raw_reward"])]
    rationale = next((row["rationale"] for row in group if row["rationale"]), "")
    return TurnValue(reward, tuple(intervals), seeds, _mean(raws) if raws else None, rationale, samples)


def _labels(tables: SessionTables) -> list[Series]:
    """People's labels by name, and computed ones apart; each as far as it lies above the middle of its scale."""
    groups: dict[tuple[str, Kind], list[Mapping[str, Any]]] = defaultdict(list)
    for row in tables.labels:
        if row["value"] is not None and math.isfinite(row["value"]):
            computed = (row["annotator"] or "").startswith(COMPUTED)
            groups[row["name"], "computed" if computed else "people"].append(row)
    return [_labelled(name, kind, rows) for (name, kind), rows in sorted(groups.items(), key=lambda group: group[0])]


def _labelled(name: str, kind: Kind, rows: Sequence[Mapping[str, Any]]) -> Series:
    known = all(row["low"] is not None and row["high"] is not None for row in rows)
    mean = _mean([row["value"] for row in rows])
    turns: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        turns[row["turn"]].append(row["value"] - ((row["low"] + row["high"]) / 2 if known else mean))
    values = {turn: TurnValue(_mean(own)) for turn, own in sorted(turns.items())}
    of_what = "above or below the middle of the scale" if known else "above or below this session's mean"
    title = f"{kind}: {clean(name, NAME)}"
    return Series(f"{kind}:{name}", title, kind, kind, of_what, values, _largest(values.values()), True, None)


def _of_episode(rows: Iterable[Mapping[str, Any]], key: EpisodeKey | None) -> list[Mapping[str, Any]]:
    if key is None:
        return []
    return [row for row in rows if (row["rater"], row["target"], row["name"]) == key[1:]]


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def _largest(worths: Iterable[TurnValue]) -> float:
    return max((abs(worth.reward) for worth in worths), default=0.0) or 1.0


def _unprojected(name: str) -> bool:
    return name in METHODS and isinstance(METHODS[name].scale, Raw)


LEAST = 0.6
"""A bar is at least so wide, per cent, that a reward of nothing is told from no reward."""

# Strings are put together from numbers alone: a page of a thousand turns has thousands of bars, and escaping each
# number takes longer than all the rest. What is a text goes through `Markup.format`.


def margin_bar(series: Series, turn: int) -> Markup:
    """One lying bar, to the right of the middle for what is above zero, with its intervals; beside a written number."""
    worth = series.values[turn]
    end = _share(worth.reward, series.scale)
    parts = [f'<rect x="{50 + min(end, 0.0):.1f}%" width="{max(abs(end), LEAST):.1f}%" y="3" height="6"/>']
    for interval in (one for one in worth.intervals if one.drawn):
        low, high = (50 + _share(value, series.scale) for value in (interval.low, interval.high))
        parts.append(
            f'<line class="{interval.kind}" x1="{low:.1f}%" x2="{max(high, low + LEAST):.1f}%" y1="6" y2="6"/>'
        )
    return Markup(f'<svg class="wb" aria-hidden="true">{"".join(parts)}</svg>')


def reward_row(series: Series, axis: Axis, number: int) -> Markup:
    """A series over the axis: a bar a turn, up or down from the middle, with its intervals.

    Bars name their turn (``data-turn``), so that a click leads to it.
    """
    parts = []
    for turn, worth in series.values.items():
        place = axis.place(turn)
        if place is None:
            continue
        end = _share(worth.reward, series.scale)
        left, width = place
        top, height = 50 - max(end, 0.0), max(abs(end), 1.5)
        parts.append(
            f'<rect data-turn="{turn:d}" x="{left:.3f}%" width="{max(width, 0.05):.3f}%" '
            f'y="{top:.1f}%" height="{height:.1f}%"/>'
        )
        middle = left + width / 2
        for interval in (one for one in worth.intervals if one.drawn):
            high, low = (50 - _share(value, series.scale) for value in (interval.high, interval.low))
            parts.append(
                f'<line class="{interval.kind}" x1="{middle:.3f}%" x2="{middle:.3f}%" '
                f'y1="{high:.1f}%" y2="{low:.1f}%"/>'
            )
    label = f"{series.name}: rewards of {len(series.values)} turns"
    return Markup(
        '<svg class="row {}" data-series="{}" role="img" aria-label="{}"><line class="zero" x1="0" x2="100%" y1="50%" '
        'y2="50%"/>{}</svg>'
    ).format(series.colour, number, label, Markup("".join(parts)))


def _share(value: float, scale: float) -> float:
    """Per cent of the whole from the middle, -46 to 46: an interval that leaves the drawing ends at its edge."""
    return 46.0 * max(-1.0, min(1.0, value / scale))
