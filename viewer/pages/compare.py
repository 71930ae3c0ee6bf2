"""The group Compare: two methods or runs, values against people, two policies, a model asked in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from pipeline.report.bars import colour_class
from pipeline.report.text import clean
from viewer.pages.links import Links
from viewer.pages.render import page, render
from viewer.reading.beside import Beside
from viewer.reading.compared.audited import read_audit
from viewer.reading.compared.contrast import contrasts
from viewer.reading.compared.people import ENOUGH, against, label_means
from viewer.reading.compared.policies import answered, policies_in
from viewer.reading.compared.voices import Voice, voices
from viewer.reading.naming import named, slugs_by_session, splits_by_session
from viewer.reading.run import ServedRun
from viewer.shown.compared.audited import audit_view, ordered_audit, page_of
from viewer.shown.compared.methods import SORTS, methods_view, rows_of, sorted_contrasts
from viewer.shown.compared.people import apart_row, most_apart, people_view
from viewer.shown.compared.policies import policies_view

router = APIRouter()
PAGES = (
    ("compare", "Methods"),
    ("compare/people", "Against people"),
    ("compare/audit", "Audit"),
    ("compare/policies", "Policies"),
)
"""The pages of the group: name and title."""
Name = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Query(alias="page", ge=1, le=10**6)]


@dataclass(frozen=True)
class Asked:
    """What is compared: the keys of two voices (or names of policies), a split, a name of labels, an order, a page."""

    first: str = ""
    second: str = ""
    split: str = ""
    label: str = ""
    sort: str = SORTS[0]
    down: bool = True
    page: int = 1


def methods_html(run: ServedRun, links: Links, around: Beside, asked: Asked) -> str:
    """Two voices, session by session."""
    known = voices(run.place, around)
    pair = _pair(known, asked)
    view = None
    if pair is not None:
        splits = splits_by_session(run.index)
        found = [
            one for one in contrasts(*pair) if one.key[0] in splits and asked.split in ("", splits[one.key[0]] or "")
        ]
        ordered = sorted_contrasts(found, asked.sort, down=asked.down)
        sessions = (one.key[0] for one in rows_of(ordered, asked.page))
        view = methods_view(ordered, pair, named(run.index, sessions), asked.page)
    return _render(run, links, "compare.html", view=view, asked=asked, voices=known, pair=pair, splits=_splits(run))


def people_html(run: ServedRun, links: Links, around: Beside, asked: Asked) -> str:
    """A voice against people's labels."""
    known = voices(run.place, around)
    voice = _first(known, asked.first)
    means = label_means(run.place.corpus, around.overlay.labels())
    # The name with the most labels, where none is asked for.
    label = asked.label if asked.label in means else max(means, key=lambda name: len(means[name]), default="")
    view, rows = None, []
    if voice is not None and label:
        splits = splits_by_session(run.index)
        sessions = [one for one, split in splits.items() if asked.split in ("", split or "")]
        found = against(voice, means[label], sessions)
        view = people_view(
            found, slugs_by_session(run.index), lambda slug, turn: links.session(slug, turn, method=voice.method),
            colour_class(voice.method), (clean(voice.title, 80), clean(label, 80)),
        )  # fmt: skip
        far = most_apart(found)
        places = named(run.index, (point.session_id for point in far))
        rows = [
            apart_row(point, places[point.session_id].slug, places[point.session_id].texts.get(point.turn, ""))
            for point in far
            if point.session_id in places
        ]
    return _render(
        run, links, "compare_people.html", view=view, rows=rows, asked=asked, voices=known, voice=voice, label=label,
        names=tuple(means), splits=_splits(run), enough=ENOUGH,
    )  # fmt: skip


def audit_html(run: ServedRun, links: Links, around: Beside, asked: Asked) -> str:
    """The audit, the sessions that held least first."""
    audit = read_audit(run.place.folder)
    view = None
    if audit is not None:
        shown, _, _ = page_of(ordered_audit(audit), asked.page)
        view = audit_view(audit, named(run.index, (one.key[0] for one in shown)), asked.page)
    return _render(run, links, "compare_audit.html", view=view, asked=asked)


def policies_html(run: ServedRun, links: Links, around: Beside, asked: Asked) -> str:
    """Two policies' answers, the most different ones first."""
    known = policies_in(around.responses) if around.responses else ()
    first = asked.first if asked.first in known else next(iter(known), "")
    others = [name for name in known if name != first]
    second = asked.second if asked.second in others else next(iter(others), "")
    view = None
    if around.responses and second:
        found = answered(around.responses, first, second)
        view = policies_view(found, slugs_by_session(run.index), asked.page)
    return _render(run, links, "compare_policies.html", view=view, policies=known, pair=(first, second), asked=asked)


@router.get("/compare")
def methods_page(
    request: Request, a: Name = "", b: Name = "", split: Name = "", sort: Name = SORTS[0], down: bool = True,
    number: Number = 1,
) -> HTMLResponse:  # fmt: skip
    """``GET /compare``."""
    asked = Asked(a, b, split, "", sort if sort in SORTS else SORTS[0], down, number)
    return page(request, "compare", methods_html, request.app.state.beside, asked)


@router.get("/compare/people")
def people_page(request: Request, a: Name = "", label: Name = "", split: Name = "") -> HTMLResponse:
    """``GET /compare/people``."""
    return page(request, "compare/people", people_html, request.app.state.beside, Asked(a, "", split, label))


@router.get("/compare/audit")
def audit_page(request: Request, number: Number = 1) -> HTMLResponse:
    """``GET /compare/audit``."""
    return page(request, "compare/audit", audit_html, request.app.state.beside, Asked(page=number))


@router.get("/compare/policies")
def policies_page(request: Request, a: Name = "", b: Name = "", number: Number = 1) -> HTMLResponse:
    """``GET /compare/policies``."""
    return page(request, "compare/policies", policies_html, request.app.state.beside, Asked(a, b, page=number))


def _render(run: ServedRun, links: Links, template: str, **values: object) -> str:
    return render(run, links, template, group=PAGES, **values)


def _first(known: Sequence[Voice], key: str) -> Voice | None:
    """The voice of that key; else the first that tells turns apart."""
    told = [voice for voice in known if voice.method != "uniform"] or list(known)
    return next((voice for voice in known if voice.key == key), next(iter(told), None))


def _pair(known: Sequence[Voice], asked: Asked) -> tuple[Voice, Voice] | None:
    """The two voices that are asked for; else two that tell turns apart, of both runs where there are two."""
    first = _first(known, asked.first)
    others = [voice for voice in known if voice != first]
    if first is None or not others:
        return None
    same = [voice for voice in others if voice.run and (voice.table, voice.method) == (first.table, first.method)]
    return first, _first([*same, *others], asked.second) or others[0]


def _splits(run: ServedRun) -> list[str]:
    return sorted({split for split in splits_by_session(run.index).values() if split})
