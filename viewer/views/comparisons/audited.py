"""The audit: each way of asking over all sessions, and the sessions whose order of turns held least first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.foundation.html.text import clean, plain
from apportion.viewer.data.comparisons.audited import Audit, Audited
from apportion.viewer.data.paging import Page
from apportion.viewer.data.session_ref import Named

PAGE, NAME, LINE = 20, 120, 140


@dataclass(frozen=True)
class WayView:
    """One way of asking: what it is, and how far the order held over all sessions (with its interval)."""

    title: str
    held: str
    share: float
    interval: str


@dataclass(frozen=True)
class CellView:
    """One judgement; ``planted`` where words were planted for that turn."""

    value: str
    planted: bool


@dataclass(frozen=True)
class AuditedView:
    """A session: how far its order held, and a table of turns by ways of asking."""

    session_id: str
    slug: str
    place: int
    rated: str
    held: str
    share: float
    ways: tuple[tuple[str, str], ...]
    rows: tuple[tuple[int, str, tuple[CellView, ...]], ...]


@dataclass(frozen=True)
class AuditView:
    """A page of the audit."""

    verdict: str
    ways: tuple[WayView, ...]
    sessions: tuple[AuditedView, ...]
    found: int
    page: Page


def ordered_audit(audit: Audit) -> list[Audited]:
    """The episodes that held least first; those that cannot be compared last."""
    return sorted(audit.episodes, key=lambda one: (one.held is None, one.held or 0.0, one.key))


def audit_view(audit: Audit, ordered: Sequence[Audited], named: Mapping[str, Named], page: Page) -> AuditView:
    """The page of the audit; ``named`` says the address and the words of the sessions on it."""
    return AuditView(
        verdict=clean(audit.verdict, 2000),
        ways=tuple(
            WayView(
                clean(title, NAME), _figure(found and found[0]), max(0.0, found[0]) if found else 0.0, _interval(found)
            )
            for name, title in audit.titles.items()
            for found in (audit.correlations.get(name),)
        ),
        sessions=tuple(_session(one, audit, named[one.key[0]]) for one in page.cut(ordered) if one.key[0] in named),
        found=len(ordered),
        page=page,
    )


def _session(one: Audited, audit: Audit, named: Named) -> AuditedView:
    turns = sorted({turn for asked in one.asked for turn in asked.values})
    return AuditedView(
        session_id=clean(one.key[0], NAME),
        slug=named.slug,
        place=named.places.get(one.key[1:], 0),
        rated=f"{clean(one.key[1], NAME)} → {clean(one.key[2], NAME)}",
        held=_figure(one.held),
        share=max(0.0, one.held or 0.0),
        ways=tuple(
            (clean(audit.titles.get(asked.perturbation, "as asked"), NAME), _figure(asked.correlation))
            for asked in one.asked
        ),
        rows=tuple(
            (
                turn,
                clean(" ".join(named.texts.get(turn, "").split()), LINE),
                tuple(CellView(_value(asked.values.get(turn)), asked.planted == turn) for asked in one.asked),
            )
            for turn in turns
        ),
    )


def _value(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else plain(value)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _interval(found: tuple[float, float, float] | None) -> str:
    return f"{_figure(found[1])} to {_figure(found[2])}" if found else ""
