"""The audit: each way of asking over all sessions, and the sessions whose order of turns held least first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from apportion.foundation.html.text import clean, plain
from apportion.viewer.data.comparisons.audited import Audit, Audited
from apportion.viewer.data.paging import Page
from apportion.viewer.data.session_ref import Named

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
