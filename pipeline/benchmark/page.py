"""The benchmark as one Markdown page: the tables, paired differences, and one session turn by turn."""

from __future__ import annotations

import html
import io
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.evaluation.evaluation import ComputedAgreement, Evaluation, MethodFigures, PairedDifference
from apportion.evaluation.table import TITLES, render_markdown
from apportion.foundation.tables.numbers import NO_FIGURE, fixed
from apportion.foundation.truncate import shortened
from apportion.pipeline.benchmark.session import ShownSession

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LOWER_IS_BETTER = frozenset({"global_loss"})
IN_UNITS = frozenset({"global_loss", "local_difference"})
GROUPS = {"decompositions": "Decompositions", "reward_models": "Reward models and baselines"}
TEXT_LENGTH = 80


def page(evaluation: Evaluation, basis: Mapping[str, Any], shown: ShownSession | None, picture: str) -> str:
    """The page; ``picture`` is the name of the picture beside it."""
    methods = "\n".join(f"- `{_cell(name)}`: {_cell(title)}" for name, title in basis["methods"].items())
    left_out = "".join(f"- left out: `{_cell(name)}`, {_cell(why)}\n" for name, why in basis["left_out"].items())
    blocks = [
        f"# Benchmark: {_cell(basis['corpus'])}",
        f"{basis['sessions']:,} sessions, rating {_cell(basis['rating'])}, seeds "
        f"{', '.join(map(str, basis['seeds']))}. Every figure is of held-out test sessions.",
        *map(_cell, basis["notes"]),
        f"{methods}\n{left_out}".rstrip(),
        render_markdown(evaluation).rstrip(),
        *_paired(evaluation),
        *(_turns(shown, picture, evaluation.own_units, basis["constraint"]) if shown else ()),
    ]
    return "\n\n".join(blocks) + "\n"


def _paired(evaluation: Evaluation) -> list[str]:
    """For each figure, the best method less each other one, on the same resamples of the same sessions."""
    blocks = []
    for group, title in GROUPS.items():
        figures = _decompositions(evaluation) if group == "decompositions" else _models(evaluation)
        for figure in dict.fromkeys(c.figure for c in evaluation.comparisons if c.among == group):
            best = _best(figures, figure, evaluation.own_units)
            rows = [row for c in evaluation.comparisons if (row := _row(c, group, figure, best)) is not None]
            if rows:
                blocks.append(_table(f"{title}: {TITLES[figure]} of `{_cell(best)}` less", rows))
    for computed in evaluation.computed:
        blocks += _paired_with(computed)
    if not blocks:
        return []
    note = (
        f"The best of each column against the others. [low, high]: paired bootstrap over sessions, "
        f"{evaluation.settings.confidence:.0%}. An interval that holds 0 does not tell the two apart; the best of many "
        "is best partly by chance."
    )
    return ["## Paired differences", note, *blocks]


def _paired_with(computed: ComputedAgreement) -> list[str]:
    """The same for the agreement with labels that were computed."""
    blocks = []
    for group, title in GROUPS.items():
        rows_of = {row.method: row for row in getattr(computed, group)}
        for figure in dict.fromkeys(c.figure for c in computed.comparisons if c.among == group):
            field = figure.removeprefix("computed_")
            values = {m: e.value for m, row in rows_of.items() if isinstance(e := getattr(row, field), Estimate)}
            best = max(values, key=lambda name: (values[name], name))
            rows = [row for c in computed.comparisons if (row := _row(c, group, figure, best)) is not None]
            blocks.append(_table(f"{title}, {_cell(computed.by)}: {TITLES[figure]} of `{_cell(best)}` less", rows))
    return blocks


def _decompositions(evaluation: Evaluation) -> tuple[MethodFigures, ...]:
    """Those of all sessions: what rests on some of them alone is compared with none."""
    whole = tuple(row for row in evaluation.decompositions if row.method not in evaluation.partial)
    return whole + evaluation.decomposition_baselines


def _models(evaluation: Evaluation) -> tuple[MethodFigures, ...]:
    return evaluation.reward_models + evaluation.baselines


def _best(figures: Sequence[MethodFigures], figure: str, own_units: Collection[str]) -> str:
    values = {row.method: estimate.value for row in figures if isinstance(estimate := getattr(row, figure), Estimate)}
    if figure in IN_UNITS:
        values = {name: value for name, value in values.items() if name not in own_units} or values
    sign = -1 if figure in LOWER_IS_BETTER else 1
    return max(values, key=lambda name: (sign * values[name], name))


def _row(comparison: PairedDifference, group: str, figure: str, best: str) -> tuple[str, str] | None:
    pair = (comparison.method, comparison.against)
    if comparison.among != group or comparison.figure != figure or best not in pair:
        return None
    ours = comparison.method == best
    difference = comparison.difference if ours else comparison.difference.negated()
    return (pair[1] if ours else pair[0]), fixed(difference.value, 3, sign=True) + difference.ends(3)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {_cell(name)} | {text} |" for name, text in rows]
    return "\n".join([f"**{title}**", "", "| method | difference |", "|---|---|", *lines])


def _turns(shown: ShownSession, picture: str, own_units: Collection[str], constraint: str) -> list[str]:
    methods = sorted(shown.rewards)
    own = [f"`{_cell(name)}`" for name in methods if name in own_units]
    aside = f" {', '.join(own)} aside, whose rewards are in units of their own." if own else ""
    if constraint == "exact":
        units = f"They have the same sum whatever the method, so that their order is what differs.{aside}"
    else:
        units = "They are each method's own numbers as they come: nothing makes them sum to the score."
    header = ["turn", f"what {shown.target} said", *shown.labels, *methods]
    lines = []
    for i, turn in enumerate(shown.turns):
        judged = [NO_FIGURE if labels[i] is None else f"{labels[i]:.2f}" for labels in shown.labels.values()]
        rewards = [fixed(shown.rewards[method][i], 3, sign=True) for method in methods]
        lines.append([str(turn), shortened(shown.texts[i], TEXT_LENGTH), *judged, *rewards])
    rows = [header, ["---"] * len(header), *lines]
    table = "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)
    return [
        f"## Session {_cell(shown.session_id)}, turn by turn",
        f"Score {shown.score:g}. Rewards are the decompositions' (mean over seeds"
        f"{', units of the score' if constraint == 'exact' else ''}). {units}",
        f"![rewards of one session by every method]({picture})",
        table,
    ]


def _cell(text: object) -> str:
    """Text that cannot leave its cell or become a link, markup or HTML."""
    escaped = html.escape(" ".join(str(text).split()), quote=False)
    for mark in "\\|`*_[]":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped


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
