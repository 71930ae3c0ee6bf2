"""Two voices session by session: how often they order two turns of a dialogue the other way round, and where most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import EpisodeKey
from apportion.evaluation.figures.disagreement import disagreement
from apportion.foundation.arrays import Floats
from apportion.foundation.html.text import clean, signed
from apportion.foundation.svg import session_bars
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.comparisons.value_sources import Stamp, ValueSource, stamp, values_of
from apportion.viewer.data.listing import Page
from apportion.viewer.data.session_ref import Named


@dataclass(frozen=True, eq=False)
class Contrast:
    """One episode by two voices.

    - ``turns``: the T turns that both have a value of.
    - ``first``, ``second`` float64 [shape=(T,)]: in the units of each.
    - ``disagreement``: the share of pairs of turns that the two order the other way round: 0 one order, 0.5 as good as
      chance, 1 the reverse. Pairs that one of them does not order are left out; None where none is left.
    - ``apart``: the turn whose rank differs most, the first of several.
    """

    key: EpisodeKey
    turns: tuple[int, ...]
    first: Floats
    second: Floats
    disagreement: float | None
    apart: int


def contrasts(first: ValueSource, second: ValueSource) -> tuple[Contrast, ...]:
    """All episodes that both voices have values of, in the order of their keys."""
    return _contrasts((first, stamp(first.file)), (second, stamp(second.file)))


def ranks(values: Sequence[float] | Floats) -> Floats:
    """Ranks from 0 (lowest) to 1, ties by mean rank [shape=(T,)]."""
    # Not scipy's: its import alone takes 60 MiB of the server.
    _, place, many = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    mean = np.cumsum(many) - many / 2
    ranked: Floats = mean[place] / len(place)
    return ranked


@lru_cache(maxsize=2)
def _contrasts(first: tuple[ValueSource, Stamp], second: tuple[ValueSource, Stamp]) -> tuple[Contrast, ...]:
    keys = [*EPISODE_KEY, "turn"]
    joined = values_of(first[0]).join(
        values_of(second[0]), keys, join_type="inner", left_suffix=".a", right_suffix=".b", use_threads=False
    )
    if joined.num_rows == 0:
        return ()
    joined = joined.sort_by([(key, "ascending") for key in keys])
    pa.default_memory_pool().release_unused()
    columns = [joined[key].to_pylist() for key in EPISODE_KEY]
    turns = joined["turn"].to_pylist()
    mine, theirs = (joined[name].to_numpy() for name in ("value.a", "value.b"))
    episodes = list(zip(*columns, strict=True))
    starts = [0, *(i for i in range(1, len(episodes)) if episodes[i] != episodes[i - 1]), len(episodes)]
    return tuple(_contrast(episodes[a], tuple(turns[a:b]), mine[a:b], theirs[a:b]) for a, b in pairwise(starts))


def _contrast(key: EpisodeKey, turns: tuple[int, ...], first: Floats, second: Floats) -> Contrast:
    gap = np.abs(ranks(first) - ranks(second))
    return Contrast(key, turns, first, second, disagreement((first, second)), turns[int(np.argmax(gap))])


PAGE, NAME, LINE, BARS = 50, 120, 160, 60
SORTS = ("disagreement", "session", "turns")


def sorted_contrasts(found: Sequence[Contrast], sort: str, *, down: bool) -> list[Contrast]:
    """Contrasts in the order that is asked for; those without a figure last, ties by their keys."""
    sign = -1.0 if down else 1.0
    if sort == "session":
        return sorted(found, key=lambda one: one.key, reverse=down)
    if sort == "turns":
        return sorted(found, key=lambda one: (sign * len(one.turns), one.key))
    return sorted(found, key=lambda one: (one.disagreement is None, sign * (one.disagreement or 0.0), one.key))


def methods_view(
    ordered: Sequence[Contrast], voices: tuple[ValueSource, ValueSource], named: Mapping[str, Named], page: Page
) -> dict[str, Any]:
    """The page of contrasts; ``named`` says the address and the words of the sessions on it."""
    figures = [one.disagreement for one in ordered if one.disagreement is not None]
    return {
        "rows": tuple(_row(one, voices, named[one.key[0]]) for one in page.cut(ordered) if one.key[0] in named),
        "found": len(ordered),
        "compared": len(figures),
        "mean": f"{np.mean(figures):.0%}" if figures else "–",
        "page": page,
    }


def _row(one: Contrast, voices: tuple[ValueSource, ValueSource], named: Named) -> dict[str, Any]:
    at = one.turns.index(one.apart)
    return {
        "session_id": clean(one.key[0], NAME),
        "slug": named.slug,
        "place": named.places.get(one.key[1:], 0),
        "rated": f"{clean(one.key[1], NAME)} → {clean(one.key[2], NAME)}",
        "split": clean(named.split or "", NAME),
        "turns": len(one.turns),
        "disagreement": "–" if one.disagreement is None else f"{one.disagreement:.0%}",
        "share": one.disagreement or 0.0,
        "first": _bars(one.first, voices[0]),
        "second": _bars(one.second, voices[1]),
        "apart": one.apart,
        "said": clean(" ".join(named.texts.get(one.apart, "").split()), LINE),
        "first_says": signed(float(one.first[at])),
        "second_says": signed(float(one.second[at])),
    }


def _bars(values: Floats, voice: ValueSource) -> Markup:
    parts = np.array_split(values, BARS) if len(values) > BARS else [np.array([value]) for value in values]
    shown = [float(part[np.argmax(np.abs(part))]) for part in parts]
    return session_bars(shown, colour_class(voice.method), f"{clean(voice.title, NAME)}: {len(values)} turns")
