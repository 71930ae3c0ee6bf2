"""Tables, comparisons and pictures of the study of negotiators, of the rows that its cells came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.negotiation_cells import ANCHORS, BESIDE, CELLS, FIGURES, OTHERS, SHOWN

Rows = list[dict[str, Any]]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean over seeds and half of Student's 95 % interval; NaN from one seed."""
    array = np.array(values, dtype=np.float64)
    if len(array) < 2:
        return float(array.mean()), float("nan")
    return float(array.mean()), float(stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))


def by_seed(rows: Rows, cell: str, metric: str, epoch: int | None = None, who: str = "alice") -> dict[int, float]:
    """A metric of each seed of a cell, after an epoch, the last without one."""
    own = [row for row in rows if row["cell"] == cell and row["who"] == who and row[metric] is not None]
    last = last_epoch(rows, cell) if epoch is None else epoch
    return {row["seed"]: float(row[metric]) for row in own if row["epoch"] == last}


def last_epoch(rows: Rows, cell: str) -> int:
    """The last epoch that all seeds of a cell have behind them; -1: there are none of it."""
    last: dict[int, int] = {}
    for row in rows:
        if row["cell"] == cell:
            last[row["seed"]] = max(row["epoch"], last.get(row["seed"], -1))
    return min(last.values(), default=-1)


def _shown(metric: str, found: tuple[float, float]) -> str:
    scale, decimals = (100, 1) if metric in ("pareto", "agreement", "joint", "equal") else (1, 2)
    half = "" if np.isnan(found[1]) else f" ± {found[1] * scale:.{decimals}f}"
    return f"{found[0] * scale:.{decimals}f}{half}"


def table(rows: Rows, cells: Iterable[str], who: str = "alice") -> str:
    """Markdown: a cell a line, the figures after its last epoch."""
    metrics = (*SHOWN, *OTHERS)
    lines = [f"| cell | epochs | seeds | {' | '.join(metrics)} |", f"|---|---|---|{'---|' * len(metrics)}"]
    for cell in cells:
        found = {metric: list(by_seed(rows, cell, metric, who=who).values()) for metric in metrics}
        if found["advantage"]:
            texts = [_shown(metric, interval(values)) if values else "–" for metric, values in found.items()]
            lines.append(f"| {cell} | {last_epoch(rows, cell)} | {len(found['advantage'])} | {' | '.join(texts)} |")
    return "\n".join(lines)


def compared(rows: Rows, one: str, other: str, metric: str) -> str:
    """One cell less another, seed by seed after as many epochs (SL has none), with its interval, and what it says."""
    learning = [cell for cell in (one, other) if CELLS.get(cell, {}).get("method") != "sl"]
    epoch = min((last_epoch(rows, cell) for cell in learning), default=0)
    first, second = (by_seed(rows, cell, metric, epoch if cell in learning else 0) for cell in (one, other))
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return f"{metric}, {one} less {other}: {len(both)} seeds in common; no interval"
    if not epoch:
        return f"{metric}, {one} less {other}: one of them has no epoch behind it; not compared"
    mean, half = interval([first[seed] - second[seed] for seed in both])
    says = "more" if mean - half > 0 else "less" if mean + half < 0 else "not told apart"
    return f"{metric}, {one} less {other}: {_shown(metric, (mean, half))} ({len(both)} seeds, epoch {epoch}): {says}"


def report(rows: Rows) -> str:
    """All tables, the anchors, the paper's two claims, and `BESIDE`."""
    parts = ["Figures after the last epoch; mean over seeds ± half of the 95 % interval; shares in %.\n"]
    for figure, cells in FIGURES.items():
        if any(row["cell"] in cells for row in rows):
            parts.append(f"## {'Anchors' if figure == 'anchors' else f'Figure {figure}'}\n")
            parts.append(table(rows, cells) + "\n")
        if figure == "3" and any(row["who"] == "bob" for row in rows):
            parts.append("Bob:\n\n" + table(rows, ("ours-0.5",), who="bob") + "\n")
    anchors = [_anchor(rows, cell, numbers) for cell, numbers in ANCHORS.items() if by_seed(rows, cell, "advantage")]
    claims = []
    for share in (0.5, 0.65, 0.78):
        for ours in (f"ours-{share}", f"ours-random-{share}"):
            if by_seed(rows, ours, "advantage"):
                claims.append(compared(rows, ours, f"rl+sl-{share}", "advantage"))
                claims.append(compared(rows, ours, f"rl-{share}", "pareto"))
    for one, other, metrics in BESIDE:
        if by_seed(rows, one, "advantage") and by_seed(rows, other, "advantage"):
            claims += [compared(rows, one, other, metric) for metric in metrics]
    return "\n".join([*parts, *(f"- {line}" for line in (*anchors, *claims))]) + "\n"


def _anchor(rows: Rows, cell: str, numbers: tuple[float, float, float]) -> str:
    own = {metric: by_seed(rows, cell, metric) for metric in ("advantage", "pareto", "agreement")}
    agreed = own["agreement"]
    deals = {seed: value / agreed[seed] if agreed[seed] else 0.0 for seed, value in own["advantage"].items()}
    texts = []
    shown = (("advantage", deals), ("pareto", own["pareto"]), ("agreement", own["agreement"]))
    for (metric, values), number in zip(shown, numbers, strict=True):
        mean, half = interval(list(values.values()))
        scale = 1 if metric == "advantage" else 100
        where = (
            "no interval" if np.isnan(half) else "inside" if abs(mean * scale - number) <= half * scale else "outside"
        )
        title = "advantage of deals" if metric == "advantage" else metric
        texts.append(f"{title} {_shown(metric, (mean, half))} beside {number:g} ({where})")
    return f"{cell}: {'; '.join(texts)}"


def draw(rows: Rows, figure: str, path: Path) -> None:
    """The four metrics over epochs, a line a cell."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sheet, axes = pyplot.subplots(1, len(SHOWN), figsize=(16, 3.6), constrained_layout=True)
    for cell in FIGURES[figure]:
        whose = "bob" if figure == "3" and cell.startswith("ours") else "alice"
        epochs = sorted({row["epoch"] for row in rows if row["cell"] == cell and row["who"] == whose})
        for axis, metric in zip(axes, SHOWN, strict=True):
            found = [interval(list(by_seed(rows, cell, metric, epoch, whose).values()) or [np.nan]) for epoch in epochs]
            if found:
                axis.errorbar(
                    epochs, [one[0] for one in found], [one[1] for one in found], label=cell, capsize=2, marker="."
                )
            axis.set_title(metric)
            axis.set_xlabel("epoch")
    axes[0].legend(fontsize=7)
    sheet.savefig(path, dpi=110)
    pyplot.close(sheet)
