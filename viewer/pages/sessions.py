"""The list of sessions: the viewer's first page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from apportion.viewer.data.listing import Query as ListQuery
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render
from apportion.viewer.views.list_view import COLUMNS, list_view

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
