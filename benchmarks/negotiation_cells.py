"""The study of negotiators: which cells there are, of which figures, with how many seeds, and what is compared.

A cell is a method with its data, by name; ``benchmarks/negotiation.py`` trains it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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


def seeds_of(name: str, seeds: Iterable[int]) -> tuple[int, ...]:
    """Those that a cell has at all."""
    most = ANCHOR_SEEDS if name.startswith("anchor") else C1_SEEDS if name in FIGURES["10"] else None
    return tuple(seed for seed in seeds if most is None or seed < most)
