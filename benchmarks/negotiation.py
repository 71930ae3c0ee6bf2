"""The study of Kwon et al. (2021) again, all seeds of a cell at once: Figures 2, 3, 5 to 8, 10 and 11, with intervals.

A cell is a method with its data; every cell is trained for all seeds together (`rlhf.negotiation.cell`) and measured
after each epoch on held-out contexts against the expert (the anchors: against the first model). Killed, the same
command goes on. The data are Deal or No Deal's, CC BY-NC 4.0: neither they nor what is trained on them may be passed on
with this project; figures may.

    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 20                  # everything
    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 5 --figures anchors,2
    python benchmarks/negotiation.py --data FOLDER --out FOLDER --seeds 5 --set supervised.epochs=30
    python benchmarks/negotiation.py --tables --set reinforce.epochs=3               # of what is kept, training nothing

Ten seeds at a time (``--together``) are one batched model; all cells are trained for the first ten before the next.
What they have come to is kept in ``negotiation_figures.jsonl`` beside this file (``--kept``), and no run anywhere does
it again; where five seeds of it are kept, ``--together 5`` shares the models of the other cells. On two cores run
``--seeds 0-9`` and ``--seeds 10-19``, each with an OUT of its own.

OUT holds a folder a cell, ``results.jsonl`` (a line a cell, epoch, seed and agent), ``tables.md`` and a picture a
figure. Intervals are Student's over seeds, 95 %; two cells are compared seed by seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import numpy as np
import torch
from scipy import stats

from benchmarks.freed_memory import keep_freed_memory
from benchmarks.negotiation_kept import KeptFigures, data_of, key_of, told
from foundation.files import locked, write_atomically
from rlhf.negotiation.cell import Cell
from rlhf.negotiation.data.human import read_human
from rlhf.negotiation.material import material_of
from rlhf.negotiation.settings import NegotiatorSettings

Rows = list[dict[str, Any]]
SHOWN = ("advantage", "pareto", "agreement", "novelty")
OTHERS = ("joint", "equal", "length", "unique")
AFTER = (1, 4, 16, 64, 256, 1024, 4085)
ANCHORS = {
    "anchor-sl": (0.0, 84.3, 93.2),
    "anchor-rl": (6.85, 73.4, 81.8),
    "anchor-rl-taken": (6.85, 73.4, 81.8),
    "anchor-rl+sl": (2.06, 80.3, 94.4),
}
"""The reference code, one seed, on all the data, against the first model: advantage of deals, Pareto %, agreement %.

It counts the advantage of games that end in a deal, and pays Alice for what she takes, also without one: ``taken``.
"""


def _cells() -> dict[str, dict[str, Any]]:
    """By name, what differs from the defaults."""
    low = {"data": {"unique": 0.5}}
    ours = {"method": "acquisition"}
    cells: dict[str, dict[str, Any]] = {
        name: {
            "method": name.removeprefix("anchor-").removesuffix("-taken"),
            "evaluation": {"partner": "sl"},
            "reinforce": {"epochs": 1, **({"reward": "taken"} if name.endswith("-taken") else {})},
        }
        for name in ANCHORS
    }
    for share in (0.5, 0.65, 0.78):
        for method in ("sl", "rl", "rl+sl"):
            cells[f"{method}-{share}"] = {"method": method, "data": {"unique": share}}
        cells[f"ours-{share}"] = ours | {"data": {"unique": share}}
        if share > 0.5:
            cells[f"ours-random-{share}"] = cells[f"ours-{share}"] | {"acquisition": {"novelty": "random"}}
    cells["rl-scratch"] = {"method": "rl", "data": {"scratch": True}}
    for novelty in ("likelihood", "entropy", "margin", "random"):
        cells[f"ours-scratch-{novelty}"] = ours | {"data": {"scratch": True}, "acquisition": {"novelty": novelty}}
    cells |= {f"rl+sl-0.5-n{after}": low | {"method": "rl+sl", "mixed": {"after": after}} for after in AFTER}
    cells["rl-0.5-pareto"] = low | {"method": "rl", "reinforce": {"reward": "points+pareto"}}
    cells["rl-0.5-pareto-normalised"] = low | {"method": "rl", "reinforce": {"reward": "normalised+pareto"}}
    cells["ours-0.5-first-order"] = low | ours | {"acquisition": {"order": "first"}}
    return cells


CELLS = _cells()
_MAIN = ("sl-0.5", "rl-0.5", "rl+sl-0.5", "ours-0.5")
FIGURES: dict[str, tuple[str, ...]] = {
    "anchors": tuple(ANCHORS),
    "2": _MAIN,
    "3": ("sl-0.5", "ours-0.5"),
    "5": ("rl-scratch", "ours-scratch-likelihood"),
    "6": ("sl-0.5", "rl-0.5", "ours-0.5", *(f"rl+sl-0.5-n{after}" for after in AFTER)),
    "7": ("rl-0.5", "ours-0.5", "rl-0.5-pareto", "rl-0.5-pareto-normalised"),
    "8": ("ours-0.5", "ours-0.5-first-order", "rl-0.5", "rl+sl-0.5"),
    "10": tuple(f"ours-scratch-{novelty}" for novelty in ("likelihood", "entropy", "margin", "random")),
    "11": tuple(
        f"{method}-{share}" for share in (0.65, 0.78) for method in ("sl", "rl", "rl+sl", "ours", "ours-random")
    ),
}
"""The cells of each figure; 3 is Bob's rows of acquisition, beside the model that stays as it is."""
PASSES, REFERENCE_PASSES = 8, 30
"""Supervised passes at the first rate, of which the paper says nothing: the study's, and the reference code's."""
C1_SEEDS = 10
"""Figure 10 has so many at most (appendix A)."""
ANCHOR_SEEDS = 5
"""And the anchors so many."""


KEPT = ROOT / "benchmarks" / "negotiation_figures.jsonl"


@dataclass(frozen=True)
class Choice:
    """What is run: where the data are, where it is written and kept, which seeds, and what differs from the cells.

    ``together`` seeds are trained as one batched model.
    """

    data: Path | None
    out: Path
    seeds: tuple[int, ...]
    changed: dict[str, Any]
    kept: Path
    together: int = 10

    @cached_property
    def data_key(self) -> str:
        """What tells these data from others."""
        return data_of(None if self.data is None else read_human(self.data).dialogues)

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The seeds, as many as are trained together."""
        return [self.seeds[first : first + self.together] for first in range(0, len(self.seeds), self.together)]


def seeds_of(name: str, seeds: Iterable[int]) -> tuple[int, ...]:
    """Those that a cell has at all."""
    most = ANCHOR_SEEDS if name.startswith("anchor") else C1_SEEDS if name in FIGURES["10"] else None
    return tuple(seed for seed in seeds if most is None or seed < most)


BESIDE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("rl-0.65", "rl+sl-0.65", ("advantage",)),
    ("rl-0.78", "rl+sl-0.78", ("advantage",)),
    ("ours-random-0.65", "ours-0.65", ("advantage", "pareto")),
    ("ours-random-0.78", "ours-0.78", ("advantage", "pareto")),
    ("rl-0.5-pareto", "rl-0.5", ("pareto", "agreement")),
    ("rl-0.5-pareto-normalised", "rl-0.5", ("pareto", "agreement")),
    ("ours-scratch-likelihood", "rl-scratch", ("advantage", "length")),
    *(("ours-0.5", f"rl+sl-0.5-n{after}", ("advantage", "pareto", "agreement", "novelty")) for after in AFTER),
    *((f"rl+sl-0.5-n{after}", "rl-0.5", ("advantage", "pareto")) for after in AFTER),
    ("ours-0.5-first-order", "ours-0.5", ("advantage", "pareto")),
    ("ours-0.5-first-order", "rl+sl-0.5", ("advantage",)),
    ("ours-0.5-first-order", "rl-0.5", ("pareto",)),
    *(
        ("ours-scratch-likelihood", f"ours-scratch-{novelty}", ("advantage", "pareto", "novelty"))
        for novelty in ("entropy", "margin", "random")
    ),
)
"""Beside the paper's two claims: what plain RL has without an expert, and its words on random games (C.2), on Figure 7,
on beginning from scratch (Figure 5), on RL+SL's schedules (6), on first order (8) and on what is asked about (10)."""


def settings_of(name: str, choice: Choice, seeds: tuple[int, ...] | None = None) -> NegotiatorSettings:
    """A cell's settings; what was changed by the user holds over the cell's own."""
    passes = REFERENCE_PASSES if name.startswith("anchor") else PASSES
    base: dict[str, Any] = {
        "reinforce": {"epochs": 5},
        "supervised": {"epochs": passes},
        "data": {"dialogues": choice.data},
    }
    values = _merged(_merged(base, choice.changed), CELLS[name])
    if not name.startswith("anchor"):
        values = _merged(values, choice.changed)
    if values["method"] == "sl":
        values["reinforce"]["epochs"] = 1
    own = seeds_of(name, choice.seeds if seeds is None else seeds)
    output = choice.out / name / "-".join(map(str, own))
    return NegotiatorSettings.model_validate(values | {"seeds": own, "output": output})


def _merged(one: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in one.items()}
    for key, value in over.items():
        merged[key] = _merged(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged


def run(name: str, choice: Choice) -> Rows:
    """The figures of a cell, trained where they are not kept already."""
    return [row for group in choice.groups for row in run_group(name, choice, group)]


def run_group(name: str, choice: Choice, group: tuple[int, ...]) -> Rows:
    """Train seeds of a cell together, or go on with them, and give their figures; what is kept is not done again."""
    wanted = seeds_of(name, group)
    if not wanted:
        return []
    epochs = _epochs(settings_of(name, choice, wanted))
    key = key_of(settings_of(name, choice, wanted), choice.data_key)
    file = KeptFigures(choice.kept)
    kept = file.rows(name, key, wanted, epochs)
    finished = {row["seed"] for row in kept if row["epoch"] == epochs}
    missing = tuple(seed for seed in wanted if seed not in finished)
    if not missing:
        return kept
    settings, began = settings_of(name, choice, missing), time.process_time()
    rows: Rows = []

    def keep(done: int, total: int, text: str) -> None:
        print(f"\r{name}: {text} {done}/{total}   ", end="", file=sys.stderr)
        if len(cell.rows) > len(rows):
            rows[:] = [{"cell": name, **row.to_json()} for row in cell.rows]
            file.add(rows, key, choice.data_key, told(choice.changed))

    cell = Cell(settings, material_of(settings), settings.output, choice.out / "models", progress=keep)
    cell.train()
    keep(1, 1, "finished")
    used = round(time.process_time() - began, 1)
    print(f"\r{name}: seeds {', '.join(map(str, missing))}: {used} s of one core", flush=True)
    return [row for row in kept if row["seed"] in finished] + rows


def _epochs(settings: NegotiatorSettings) -> int:
    return 0 if settings.method == "sl" else settings.reinforce.epochs


def kept_rows(names: Iterable[str], choice: Choice) -> Rows:
    """What is kept of cells, whatever data they were trained on; of one data set, or it is refused."""
    file, rows = KeptFigures(choice.kept), []
    sets = sorted({str(row["data"]) for row in file.read()})
    for name in names:
        if not seeds_of(name, choice.seeds):
            continue
        settings = settings_of(name, choice)
        for data in sets:
            rows += file.rows(name, key_of(settings, data), settings.seeds, _epochs(settings))
    if len(found := {row["data"] for row in rows}) > 1:
        raise SystemExit(f"{choice.kept}: figures of {len(found)} data sets; give --kept with those of one")
    return rows


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


def changed(texts: Sequence[str]) -> dict[str, Any]:
    """``supervised.epochs=8`` and the like as settings.

    >>> changed(["supervised.epochs=8", "reinforce.greedy=true"])
    {'supervised': {'epochs': 8}, 'reinforce': {'greedy': True}}
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        group, _, key = name.partition(".")
        if not key or not value:
            raise SystemExit(f"--set {text}: write it as supervised.epochs=8")
        try:
            values.setdefault(group, {})[key] = json.loads(value)
        except json.JSONDecodeError:
            values.setdefault(group, {})[key] = value
    return values


def seeds_from(text: str) -> tuple[int, ...]:
    """``20`` is the first twenty, ``10-19`` those.

    >>> seeds_from("3"), seeds_from("3-4")
    ((0, 1, 2), (3, 4))
    """
    first, dash, last = text.partition("-")
    try:
        found = tuple(range(int(first), int(last) + 1)) if dash else tuple(range(int(first)))
    except ValueError:
        found = ()
    if not found:
        raise SystemExit(f"--seeds {text}: write it as 20, or as 10-19")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of Deal or No Deal; without it scripts play the dialogues")
    parser.add_argument("--out", type=Path, default=Path("negotiation-study"))
    parser.add_argument("--seeds", default="20", help="how many, or which: 10-19")
    parser.add_argument("--together", type=int, default=10, help="seeds that are trained as one batched model")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where figures of finished cells are kept")
    parser.add_argument("--tables", action="store_true", help="show the tables of what is kept, and train nothing")
    parser.add_argument("--figures", default=",".join(FIGURES), help="of " + ", ".join(FIGURES))
    parser.add_argument("--cells", help="cells by name instead of figures: " + ", ".join(CELLS))
    parser.add_argument("--set", dest="changed", action="append", default=[], metavar="GROUP.KEY=VALUE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    figures = options.figures.split(",")
    if unknown := [figure for figure in figures if figure not in FIGURES]:
        parser.error(f"--figures {unknown[0]}: of {', '.join(FIGURES)}")
    names = options.cells.split(",") if options.cells else [cell for figure in figures for cell in FIGURES[figure]]
    names = list(dict.fromkeys(names))
    if unknown := [name for name in names if name not in CELLS]:
        parser.error(f"--cells {unknown[0]}: of {', '.join(CELLS)}")
    seeds, more = seeds_from(options.seeds), changed(options.changed)
    choice = Choice(options.data, options.out, seeds, more, options.kept, max(1, options.together))
    if options.tables:
        print(report(kept_rows(names, choice)))
        return
    message = f"{choice.out} is in use by another study. Wait for it, or give another --out."
    with locked(choice.out / ".lock", message, SystemExit):
        study(names, () if options.cells else figures, choice)


def study(names: Sequence[str], figures: Sequence[str], choice: Choice) -> None:
    """Train all cells for some seeds after the other, tell results after each, and draw the figures."""
    rows: Rows = []
    for group, name in product(choice.groups, names):
        rows += run_group(name, choice, group)
        write_atomically(choice.out / "results.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        write_atomically(choice.out / "tables.md", report(rows))
    for figure in figures:
        if figure != "anchors":
            draw(rows, figure, choice.out / f"figure-{figure}.png")
    print(report(rows))


if __name__ == "__main__":
    main()
