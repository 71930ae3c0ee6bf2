"""The benchmark as one Markdown page: the tables, paired differences, and one session turn by turn."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apportion.evaluation.confidence_intervals.figure import Estimate
from apportion.evaluation.evaluation import ComputedAgreement, Evaluation, MethodFigures, PairedDifference
from apportion.evaluation.table import TITLES, render_markdown
from apportion.foundation.tables.numbers import NO_FIGURE, fixed
from apportion.foundation.truncate import shortened
from apportion.pipeline.benchmark.session import ShownSession

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
