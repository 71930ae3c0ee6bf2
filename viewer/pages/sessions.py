"""The list of sessions: the viewer's first page."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from apportion.viewer.data.index import unpack
from apportion.viewer.data.listing import Listing, Row, listing
from apportion.viewer.data.listing import Query as ListQuery
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render, templates
from apportion.viewer.views.list_view import COLUMNS, list_view, row_view

router = APIRouter()
MOST_TEXT = 500


def html(run: ServedRun, links: Links, query: ListQuery) -> str:
    """The page of the list that ``query`` asks for."""
    view = list_view(run.index, query)
    return render(run, links, "sessions.html", view=view, columns=COLUMNS)


@router.get("/")
def sessions_page(
    request: Request,
    q: Annotated[str, Query(max_length=MOST_TEXT)] = "",
    method: str = "",
    split: str = "",
    only: str = "",
    sort: str = "session",
    page_number: Annotated[int, Query(alias="page", ge=1, le=10**6)] = 1,
) -> HTMLResponse:
    """``GET /``: the list; ``sort`` is a column's key, after a ``-`` the large ones first."""
    return page(
        request,
        "index",
        html,
        ListQuery(q, method, split, only, sort.removeprefix("-"), sort.startswith("-"), page_number),
    )


GLOBAL = "apportionSessions"
"""What the page's script calls it (static/sessions_on_disk.js)."""


def sessions_data(run: ServedRun, links: Links) -> str:
    """Every line of the list as HTML, what it is sorted and filtered by, and all that was said.

    ``links`` are those of the list's first page. Only ASCII, and no key that comes from outside: an object of a script
    takes ``__proto__`` for its prototype.
    """
    method = run.index.fact("method") or ""
    row_of = templates().get_template("sessions_row.html").make_module().listed  # type: ignore[attr-defined]
    places: dict[str, int] = {}
    rows = []
    first: Listing = listing(run.index, ListQuery(method=method))
    for number in range(1, first.page.pages + 1):
        for row in listing(run.index, ListQuery(method=method, page=number)).rows:
            html = str(row_of(links, row_view(row, method, None), "", method))
            talk = places.setdefault(row.slug, len(places))
            rows.append([html, talk, row.split or "", bool(row.warnings), [_key(row, one.key) for one in COLUMNS]])
    told = {"columns": [column.key for column in COLUMNS], "rows": rows, "talks": _talks(run, places)}
    return f"window.{GLOBAL} = {json.dumps(told, separators=(',', ':'))};\n"


def _key(row: Row, column: str) -> Any:
    """What a column is sorted by, as `apportion.viewer.data.listing.SORTS` has it."""
    if column == "residual":
        return None if row.residual is None else abs(row.residual)
    values = {"session": row.session_id, "sum": row.total, "length": row.turns, "warnings": len(row.warnings)}
    return values[column] if column in values else getattr(row, column)


def _talks(run: ServedRun, places: dict[str, int]) -> list[list[Any]]:
    """By place: the id, and each turn's number, speaker and text."""
    talks: list[list[Any]] = [[] for _ in places]
    with run.index.connect() as connection:
        rows = connection.execute(
            "SELECT session_id, slug, columns FROM sessions JOIN packed ON packed.session = sessions.id "
            "WHERE packed.name = 'session'"
        )
        for session_id, slug, blob in rows:
            if slug in places:
                turns = [[turn[0], turn[1], turn[2]] for turn in unpack(blob)[0]["turns"]]
                talks[places[slug]] = [session_id, turns]
    return talks
