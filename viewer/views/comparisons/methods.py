"""Two voices session by session, the ones that disagree most first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from apportion.foundation.arrays import Floats
from apportion.foundation.html.text import clean, signed
from apportion.foundation.svg import session_bars
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.data.comparisons.contrast import Contrast
from apportion.viewer.data.comparisons.value_sources import ValueSource
from apportion.viewer.data.paging import Page
from apportion.viewer.data.session_ref import Named

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
