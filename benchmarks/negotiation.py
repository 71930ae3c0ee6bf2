"""Claim: the tables of Kwon et al. (2021), Figures 2, 3, 5 to 8, 10 and 11, with 95 % intervals over seeds.

    python -m benchmarks.negotiation --tables                         # of the figures that are kept; trains nothing
    python -m benchmarks.negotiation --data FOLDER --out FOLDER --seeds 20 [--figures anchors,2]

A cell is a method with its data; each is trained for ten seeds at once and measured after every epoch against the
expert (the anchors: against the first model). Stopped, the same command goes on. Seeds whose figures are kept in
``negotiation_figures.jsonl`` are not trained again. The data (Deal or No Deal) are CC BY-NC 4.0; only figures are kept.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from apportion.foundation.files import canonical_json, digest
from apportion.rlhf.negotiation.datasets import digest_of, material_of
from apportion.rlhf.negotiation.experiment import VERSION, Experiment
from apportion.rlhf.negotiation.settings import NegotiatorSettings

Rows = list[dict[str, Any]]
KEPT = Path(__file__).with_name("negotiation_figures.jsonl")
METRICS = ("advantage", "pareto", "agreement", "novelty", "joint", "equal", "length", "unique")
AFTER, NOVELTY = (1, 4, 16, 64, 256, 1024, 4085), ("likelihood", "entropy", "margin", "random")
ANCHORS = {
    "anchor-sl": (0.0, 84.3, 93.2),
    "anchor-rl": (6.85, 73.4, 81.8),
    "anchor-rl-taken": (6.85, 73.4, 81.8),
    "anchor-rl+sl": (2.06, 80.3, 94.4),
}
"""The reference code, one seed, against the first model: advantage of deals, Pareto-optimal %, agreement %."""


def _cells() -> dict[str, dict[str, Any]]:
    low: dict[str, Any] = {"data": {"unique": 0.5}}
    ours, scratch = {"method": "acquisition"}, {"data": {"scratch": True}}
    cells: dict[str, dict[str, Any]] = {}
    for name in ANCHORS:
        method = name.removeprefix("anchor-").removesuffix("-taken")
        reward = {"reward": "taken"} if name.endswith("-taken") else {}
        cells[name] = {"method": method, "evaluation": {"partner": "sl"}, "reinforce": {"epochs": 1, **reward}}
    for share in (0.5, 0.65, 0.78):
        for name, method in (("sl", "sl"), ("rl", "rl"), ("rl+sl", "rl+sl"), ("ours", "acquisition")):
            cells[f"{name}-{share}"] = {"method": method, "data": {"unique": share}}
        cells[f"ours-random-{share}"] = cells[f"ours-{share}"] | {"acquisition": {"novelty": "random"}}
    cells["rl-scratch"] = {"method": "rl", **scratch}
    cells |= {f"ours-scratch-{novelty}": ours | scratch | {"acquisition": {"novelty": novelty}} for novelty in NOVELTY}
    cells |= {f"rl+sl-0.5-n{after}": low | {"method": "rl+sl", "mixed": {"after": after}} for after in AFTER}
    cells["rl-0.5-pareto"] = low | {"method": "rl", "reinforce": {"reward": "points+pareto"}}
    cells["rl-0.5-pareto-normalised"] = low | {"method": "rl", "reinforce": {"reward": "normalised+pareto"}}
    return cells | {"ours-0.5-first-order": low | ours | {"acquisition": {"order": "first"}}}


CELLS = _cells()
"""By name, what differs from the defaults."""
FIGURES: dict[str, tuple[str, ...]] = {
    "anchors": tuple(ANCHORS),
    "2": ("sl-0.5", "rl-0.5", "rl+sl-0.5", "ours-0.5"),
    "3": ("sl-0.5", "ours-0.5"),
    "5": ("rl-scratch", "ours-scratch-likelihood"),
    "6": ("sl-0.5", "rl-0.5", "ours-0.5", *(f"rl+sl-0.5-n{after}" for after in AFTER)),
    "7": ("rl-0.5", "ours-0.5", "rl-0.5-pareto", "rl-0.5-pareto-normalised"),
    "8": ("ours-0.5", "ours-0.5-first-order", "rl-0.5", "rl+sl-0.5"),
    "10": tuple(f"ours-scratch-{novelty}" for novelty in NOVELTY),
    "11": tuple(f"{name}-{share}" for share in (0.65, 0.78) for name in ("sl", "rl", "rl+sl", "ours", "ours-random")),
}
CLAIMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *((f"{ours}-{share}", f"{other}-{share}", (metric,)) for share in (0.5, 0.65, 0.78)
      for ours in ("ours", "ours-random") for other, metric in (("rl+sl", "advantage"), ("rl", "pareto"))),
    *((f"rl-{share}", f"rl+sl-{share}", ("advantage",)) for share in (0.65, 0.78)),
    *((f"ours-random-{share}", f"ours-{share}", ("advantage", "pareto")) for share in (0.65, 0.78)),
    *((f"rl-0.5-{reward}", "rl-0.5", ("pareto", "agreement")) for reward in ("pareto", "pareto-normalised")),
    ("ours-scratch-likelihood", "rl-scratch", ("advantage", "length")),
    *(("ours-0.5", f"rl+sl-0.5-n{after}", METRICS[:4]) for after in AFTER),
    *((f"rl+sl-0.5-n{after}", "rl-0.5", ("advantage", "pareto")) for after in AFTER),
    ("ours-0.5-first-order", "ours-0.5", ("advantage", "pareto")),
    ("ours-0.5-first-order", "rl+sl-0.5", ("advantage",)),
    ("ours-0.5-first-order", "rl-0.5", ("pareto",)),
    *((FIGURES["10"][0], other, ("advantage", "pareto", "novelty")) for other in FIGURES["10"][1:]),
)  # fmt: skip
"""What the paper says of two cells: one, the other, and the metrics in which they are compared."""


def settings_of(name: str, seeds: Sequence[int], data: Path | None = None, out: Path = Path()) -> NegotiatorSettings:
    """A cell's settings, of those of the seeds that it has: anchors have five, Figure 10 has ten."""
    most = 5 if name in ANCHORS else 10 if name in FIGURES["10"] else len(seeds) + max(seeds) + 1
    epochs = 30 if name in ANCHORS else 8  # Of which the paper says nothing: the reference code's, and ours.
    values: dict[str, Any] = {"reinforce": {"epochs": 5}, "supervised": {"epochs": epochs}, "data": {"dialogues": data}}
    for key, value in CELLS[name].items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    own = tuple(seed for seed in seeds if seed < most)
    return NegotiatorSettings.model_validate({**values, "seeds": own or (seeds[0],), "output": out / name})


def key_of(settings: NegotiatorSettings, data: str) -> str:
    """What decides a seed's figures: settings, data, and the version of the training."""
    exclude: Any = {"output": True, "kept_every": True, "seeds": True, "data": {"dialogues"}, "reinforce": {"epochs"}}
    return digest([VERSION, data, settings.model_dump(mode="json", exclude=exclude)])[:16]


def kept_rows(data: str | None = None, path: Path = KEPT) -> Rows:
    """What is kept, under the name of every cell of the same settings; of one data set, the first without a name."""
    kept = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    data = data or next((row["data"] for row in kept), "")
    names: dict[str, list[str]] = {}
    for name in CELLS:
        names.setdefault(key_of(settings_of(name, (0,)), data), []).append(name)
    return [{**row, "cell": name} for row in kept for name in names.get(row["key"], ())]


def train(name: str, seeds: Sequence[int], data: Path | None, out: Path, path: Path = KEPT) -> None:
    """Train a cell for the seeds whose figures are not kept, ten at a time, and keep them."""
    for first in range(0, len(seeds), 10):
        settings = settings_of(name, seeds[first : first + 10], data, out)
        material = material_of(settings)
        source = digest_of(material.whole)[:16]
        epochs = 0 if settings.method == "sl" else settings.reinforce.epochs
        rows = kept_rows(source, path)
        finished = {row["seed"] for row in rows if row["cell"] == name and row["epoch"] == epochs}
        missing = tuple(seed for seed in settings.seeds if seed not in finished)
        if not missing:
            continue
        folder = settings.output / "-".join(map(str, missing))
        settings = settings.model_copy(update={"seeds": missing, "output": folder})
        cell = Experiment(settings, material, folder, out / "models")
        cell.train()
        with path.open("a", encoding="utf-8") as file:
            about = {"cell": name, "key": key_of(settings, source), "data": source, "settings": ""}
            file.writelines(canonical_json({**about, **row.to_json()}) + "\n" for row in cell.rows)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean over seeds and half of its interval (Student's); NaN of one seed."""
    array = np.array(values)
    if len(array) < 2:
        return float(array.mean()), math.nan
    return float(array.mean()), float(stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))


def last_epoch(rows: Rows, cell: str) -> int:
    """The last epoch that all seeds of a cell have behind them; -1: none."""
    last: dict[int, int] = {}
    for row in rows:
        if row["cell"] == cell:
            last[row["seed"]] = max(row["epoch"], last.get(row["seed"], -1))
    return min(last.values(), default=-1)


def by_seed(rows: Rows, cell: str, metric: str, epoch: int, who: str = "alice") -> dict[int, float]:
    """A metric of each seed of a cell after an epoch."""
    own = [row for row in rows if (row["cell"], row["epoch"], row["who"]) == (cell, epoch, who)]
    return {row["seed"]: float(row[metric]) for row in own if row[metric] is not None}


def shown(metric: str, found: tuple[float, float]) -> str:
    """A mean with its interval; shares in percent."""
    scale, decimals = (100, 1) if metric in ("pareto", "agreement", "joint", "equal") else (1, 2)
    half = "" if math.isnan(found[1]) else f" ± {found[1] * scale:.{decimals}f}"
    return f"{found[0] * scale:.{decimals}f}{half}"


def table(rows: Rows, cells: Iterable[str], who: str = "alice") -> str:
    """Markdown: a cell a line, after its last epoch."""
    lines = [f"| cell | epochs | seeds | {' | '.join(METRICS)} |", f"|---|---|---|{'---|' * len(METRICS)}"]
    for cell in cells:
        epoch = last_epoch(rows, cell)
        found = {metric: list(by_seed(rows, cell, metric, epoch, who).values()) for metric in METRICS}
        if found["advantage"]:
            texts = [shown(metric, interval(values)) if values else "–" for metric, values in found.items()]
            lines.append(f"| {cell} | {epoch} | {len(found['advantage'])} | {' | '.join(texts)} |")
    return "\n".join(lines)


def compared(rows: Rows, one: str, other: str, metric: str) -> str:
    """One cell less another, seed by seed, after as many epochs (SL has none)."""
    learns = [cell for cell in (one, other) if CELLS.get(cell, {}).get("method") != "sl"]
    epoch = min((last_epoch(rows, cell) for cell in learns), default=0)
    first, second = (by_seed(rows, cell, metric, epoch if cell in learns else 0) for cell in (one, other))
    both, what = sorted(first.keys() & second.keys()), f"{metric}, {one} less {other}: "
    if len(both) < 2 or not epoch:
        return what + f"{len(both)} seeds in common, epoch {epoch}; not compared"
    mean, half = interval([first[seed] - second[seed] for seed in both])
    says = "more" if mean - half > 0 else "less" if mean + half < 0 else "not told apart"
    return what + f"{shown(metric, (mean, half))} ({len(both)} seeds, epoch {epoch}): {says}"


def anchor(rows: Rows, cell: str) -> str:
    """An anchor beside the reference code's numbers."""
    own = {metric: by_seed(rows, cell, metric, last_epoch(rows, cell)) for metric in METRICS[:3]}
    agreed = own["agreement"]
    own["advantage"] = {seed: value / agreed[seed] if agreed[seed] else 0.0 for seed, value in own["advantage"].items()}
    texts = []
    for (metric, values), number in zip(own.items(), ANCHORS[cell], strict=True):
        mean, half = interval(list(values.values()))
        scale, title = (1, "advantage of deals") if metric == "advantage" else (100, metric)
        where = "inside" if abs(mean * scale - number) <= half * scale else "outside"
        texts.append(f"{title} {shown(metric, (mean, half))} beside {number:g} ({where})")
    return f"{cell}: {'; '.join(texts)}"


def report(rows: Rows, figures: Iterable[str] = tuple(FIGURES)) -> str:
    """All tables, the anchors, and what the paper says of two cells."""
    parts, cells = ["Figures after the last epoch; mean over seeds ± half of the 95 % interval; shares in %.\n"], set()
    for figure in figures:
        cells |= {row["cell"] for row in rows} & set(FIGURES[figure])
        title = "Anchors" if figure == "anchors" else f"Figure {figure}"
        parts.append(f"## {title}\n\n{table(rows, FIGURES[figure])}\n")
        if figure == "3":
            parts.append("Bob:\n\n" + table(rows, ("ours-0.5",), "bob") + "\n")
    claims = [compared(rows, one, other, metric) for one, other, of in CLAIMS if {one, other} <= cells for metric in of]
    lines = [*(anchor(rows, cell) for cell in ANCHORS if cell in cells), *claims]
    return "\n".join([*parts, *(f"- {line}" for line in lines)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of Deal or No Deal")
    parser.add_argument("--out", type=Path, default=Path("negotiation-study"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--figures", default=",".join(FIGURES), help="of " + ", ".join(FIGURES))
    parser.add_argument("--tables", action="store_true", help="show what is kept, and train nothing")
    options = parser.parse_args()
    figures = options.figures.split(",")
    if unknown := [figure for figure in figures if figure not in FIGURES]:
        parser.error(f"--figures {unknown[0]}: of {', '.join(FIGURES)}")
    if not options.tables and options.data is None:
        parser.error("--data FOLDER is needed to train; --tables shows what is kept")
    for name in () if options.tables else dict.fromkeys(cell for figure in figures for cell in FIGURES[figure]):
        train(name, range(options.seeds), options.data, options.out)
    print(report(kept_rows(), figures))


if __name__ == "__main__":
    main()
