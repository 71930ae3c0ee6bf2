"""The page of one session."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from viewer.pages.links import Links
from viewer.pages.render import page, render
from viewer.reading.run import ServedRun
from viewer.reading.session import read_session
from viewer.shown.session_view import session_view

router = APIRouter()


def html(run: ServedRun, links: Links, slug: str) -> str:
    """The page of the session that ``slug`` names; an HTTPException (404) where the run has none of that name."""
    tables = read_session(run.index, slug)
    if tables is None:
        raise HTTPException(404, "This run has no such session.")
    return render(run, links, "session.html", view=session_view(tables))


@router.get("/session/{slug}")
def session_page(request: Request, slug: str) -> HTMLResponse:
    """``GET /session/SLUG``."""
    return page(request, f"session/{slug}", html, slug)
