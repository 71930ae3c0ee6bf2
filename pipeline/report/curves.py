"""Which training curves go into which chart."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from apportion.foundation.html.text import clean, number
from apportion.foundation.svg import ChartLine, line_chart

STAGES = {
    "fit": ("Decomposers", "epoch"),
    "train-reward": ("Reward models", "epoch"),
    "align": ("Policy", "step"),
}
"""What the trained stages are called and what their steps count."""
PARTS = {"train": True, "training": True, "validation": False, "val": False, "valid": False}
"""Words of a metric's name that tell curves of one chart apart, and whether such a curve is dashed."""
NAMES = {
    "kl": "KL divergence from the untrained policy",
    "sameness": "sameness of replies to different contexts",
    "gold_reward": "reward, where gold was measured",
    "gold_kl": "KL divergence, where gold was measured",
    "gold_below": "standard errors that gold lies below its best",
}
"""Metrics whose short name wants an explanation."""
FIRST = {"align": ("reward", "kl", "loss")}
"""Metrics shown at once; the others are folded away. A stage that is not here shows its losses."""


def stage_charts(
    histories: pa.Table | None, colours: dict[str, str], unfinished: Collection[str] = ()
) -> tuple[dict[str, Any], ...]:
    """One chart for each stage, method and metric; training and validation share one, so do seeds.

    ``histories``: columns stage, method, seed, step, metric, value. ``colours``: method to its colour's class.
    ``unfinished``: stages of which a training failed; its curves end there.
    """
    groups: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {}
    for row in histories.to_pylist() if histories is not None else ():
        key = (row["method"] or "", _family(row["metric"]))
        groups.setdefault(row["stage"], {}).setdefault(key, []).append(row)
    stages = []
    for stage in sorted(groups, key=lambda name: (list(STAGES).index(name) if name in STAGES else 9, name)):
        title, x_title = STAGES.get(stage, (stage, "step"))
        charts = [_chart(stage, *key, rows, colours, x_title) for key, rows in groups[stage].items()]
        drawn = sorted((chart for chart in charts if chart is not None), key=lambda chart: not chart["first"])
        if drawn:
            stages.append(
                {"title": f"{title} (up to a failure)" if stage in unfinished else title, "charts": tuple(drawn)}
            )
    return tuple(stages)


def with_gold(stages: tuple[dict[str, Any], ...], gold: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The same with the reward and gold over the divergence, beside best-of-n, as the policy's first chart."""
    if not gold.get("curve"):
        return stages
    lines = [
        ChartLine(
            label=f"{name}{of}",
            steps=[math.sqrt(max(0.0, point["kl"])) for point in gold[points]],
            values=[point[name] for point in gold[points]],
            colour="m0" if name == "gold" else "m1",
            dashed=points == "best_of",
        )
        for points, of in (("curve", ""), ("best_of", ", best-of-n"))
        for name in ("reward", "gold")
    ]
    title = "Reward and gold over the square root of KL"
    ends = "; ".join(f"{line.label}: {number(line.values[-1])}" for line in lines)
    chart = {
        "title": title,
        "svg": line_chart(lines, "square root of KL, nats a reply", title),
        "caption": clean(f"sd of the start's replies above the start; dashed: best-of-n by the reward; {ends}", 400),
        "first": True,
    }
    policy = STAGES["align"][0]
    return tuple(
        {**stage, "charts": (chart, *stage["charts"])} if stage["title"].startswith(policy) else stage
        for stage in stages
    )


def _chart(
    stage: str, method: str, family: str, rows: Sequence[dict[str, Any]], colours: dict[str, str], x_title: str
) -> dict[str, Any] | None:
    curves: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        curves.setdefault((row["metric"], row["seed"] or 0), []).append(row)
    seeds = {seed for _, seed in curves}
    lines = [
        ChartLine(
            label=f"{metric}, seed {seed}" if len(seeds) > 1 else metric,
            steps=[row["step"] for row in points],
            values=[float("nan") if row["value"] is None else row["value"] for row in points],
            colour=colours.get(method, "m0"),
            dashed=any(PARTS.get(word, False) for word in _words(metric)),
        )
        for (metric, seed), points in sorted(curves.items())
    ]
    name = NAMES.get(family, family)
    title = clean(f"{method}: {name}" if method else name, 80)
    svg = line_chart(lines, x_title, f"{title} over {x_title}s")
    if svg is None:
        return None
    last = [f"{line.label}: {number(line.values[0])} → {number(line.values[-1])}" for line in lines]
    wanted = FIRST.get(stage)
    first = family in wanted if wanted else "loss" in family
    dashed = "dashed: training; " if any(line.dashed for line in lines) and len(lines) > 1 else ""
    return {"title": title, "svg": svg, "caption": clean(dashed + "; ".join(last[:6]), 400), "first": first}


def _words(metric: str) -> list[str]:
    return metric.replace("_", " ").split()


def _family(metric: str) -> str:
    """The metric's name without the words that say on which part of the data it was taken."""
    return " ".join(word for word in _words(metric) if word not in PARTS) or metric
