"""The audit session by session: does a language model's order of the turns hold when it is asked otherwise?"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import EpisodeKey
from apportion.evaluation.figures.agreement import spearman
from apportion.evaluation.robustness.rank_stability import CLEAN, FEWEST_TURNS
from apportion.foundation.arrays import filled
from apportion.foundation.errors import InputError
from apportion.foundation.html.text import clean, plain
from apportion.viewer.comparisons.value_sources import Stamp, stamp
from apportion.viewer.data.listing import Page
from apportion.viewer.data.session_ref import Named


@dataclass(frozen=True)
class Asked:
    """One way of asking about an episode: its judgements by turn (NaN where nothing was said), the turn that words were
    planted for, and Spearman's correlation with the clean judgements (None where there is none)."""

    perturbation: str
    values: Mapping[int, float]
    planted: int | None
    correlation: float | None


@dataclass(frozen=True)
class Audited:
    """One episode of the audit, the clean question first; ``held`` is the mean correlation of the others with it."""

    key: EpisodeKey
    asked: tuple[Asked, ...]
    held: float | None


@dataclass(frozen=True)
class Audit:
    """A run's audit: its verdict and its rows over all sessions, as `evaluation.robustness` told them; each episode."""

    verdict: str
    titles: Mapping[str, str]
    correlations: Mapping[str, tuple[float, float, float] | None]
    episodes: tuple[Audited, ...]


def read_audit(folder: Path) -> Audit | None:
    """The audit of the run in ``folder``, None where it has none. Raises InputError: its files cannot be read."""
    table, told = folder / "audit.parquet", folder / "audit.json"
    if not table.is_file() or not told.is_file():
        return None
    return _audit(stamp(table), stamp(told))


@lru_cache(maxsize=2)
def _audit(table: Stamp, told: Stamp) -> Audit:
    try:
        rows = pq.read_table(table[0], partitioning=None).to_pylist()
        result: dict[str, Any] = json.loads(Path(told[0]).read_text(encoding="utf-8"))
        titles = {row["perturbation"]: str(row["title"]) for row in result["rows"]}
        figures = {row["perturbation"]: _estimate(row["correlation"]) for row in result["rows"]}
        verdict = str(result["verdict"])
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{told[0]}: the audit cannot be read ({error}). Run `apportion run` again.") from None
    return Audit(verdict, titles, figures, _episodes(rows))


def _estimate(estimate: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    return None if estimate is None else (float(estimate["value"]), float(estimate["low"]), float(estimate["high"]))


def _episodes(rows: list[dict[str, Any]]) -> tuple[Audited, ...]:
    found: dict[EpisodeKey, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    planted: dict[tuple[EpisodeKey, str], int] = {}
    for row in rows:
        key: EpisodeKey = tuple(row[name] for name in EPISODE_KEY)
        found[key][row["perturbation"]][row["turn"]] = math.nan if row["value"] is None else float(row["value"])
        if row["planted"]:
            planted[key, row["perturbation"]] = row["turn"]
    episodes = []
    for key, ways in sorted(found.items()):
        clean = ways.get(CLEAN, {})
        names = [CLEAN, *(name for name in ways if name != CLEAN)]
        asked = tuple(
            Asked(name, ways[name], planted.get((key, name)), None if name == CLEAN else _held(clean, ways[name]))
            for name in names
            if name in ways
        )
        known = [one.correlation for one in asked if one.correlation is not None]
        episodes.append(Audited(key, asked, float(np.mean(known)) if known else None))
    return tuple(episodes)


def _held(clean: Mapping[int, float], values: Mapping[int, float]) -> float | None:
    """Spearman's correlation of two askings; a null counts as its dialogue's mean."""
    turns = sorted(clean.keys() & values.keys())
    if len(turns) < FEWEST_TURNS:
        return None
    one, other = (
        filled(np.array([of[turn] for turn in turns]), np.zeros(len(turns), np.int64), "mean") for of in (clean, values)
    )
    return float(spearman(other[None], one)[0]) if np.ptp(one) > 0 else None


PAGE, NAME, LINE = 20, 120, 140


def ordered_audit(audit: Audit) -> list[Audited]:
    """The episodes that held least first; those that cannot be compared last."""
    return sorted(audit.episodes, key=lambda one: (one.held is None, one.held or 0.0, one.key))


def audit_view(audit: Audit, ordered: Sequence[Audited], named: Mapping[str, Named], page: Page) -> dict[str, Any]:
    """The page of the audit; ``named`` says the address and the words of the sessions on it."""
    return {
        "verdict": clean(audit.verdict, 2000),
        "ways": tuple(
            {
                "title": clean(title, NAME),
                "held": _figure(found and found[0]),
                "share": max(0.0, found[0]) if found else 0.0,
                "interval": _interval(found),
            }
            for name, title in audit.titles.items()
            for found in (audit.correlations.get(name),)
        ),
        "sessions": tuple(_session(one, audit, named[one.key[0]]) for one in page.cut(ordered) if one.key[0] in named),
        "found": len(ordered),
        "page": page,
    }


def _session(one: Audited, audit: Audit, named: Named) -> dict[str, Any]:
    turns = sorted({turn for asked in one.asked for turn in asked.values})
    return {
        "session_id": clean(one.key[0], NAME),
        "slug": named.slug,
        "place": named.places.get(one.key[1:], 0),
        "rated": f"{clean(one.key[1], NAME)} → {clean(one.key[2], NAME)}",
        "held": _figure(one.held),
        "share": max(0.0, one.held or 0.0),
        "ways": tuple(
            (clean(audit.titles.get(asked.perturbation, "as asked"), NAME), _figure(asked.correlation))
            for asked in one.asked
        ),
        "rows": tuple(
            (
                turn,
                clean(" ".join(named.texts.get(turn, "").split()), LINE),
                tuple(
                    {"value": _value(asked.values.get(turn)), "planted": asked.planted == turn} for asked in one.asked
                ),
            )
            for turn in turns
        ),
    }


def _value(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else plain(value)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _interval(found: tuple[float, float, float] | None) -> str:
    return f"{_figure(found[1])} to {_figure(found[2])}" if found else ""
