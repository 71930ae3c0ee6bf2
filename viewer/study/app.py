"""A study's application: its pages, its static files, what is said where something is missing or fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from apportion.foundation.errors import InputError
from apportion.foundation.html.page import TOKENS
from apportion.study.store.rows import DatabaseAwayError, FullError, StudyChangedError, StudyStoreError
from apportion.viewer.auth import Access, Gate, TooLargeError, too_large
from apportion.viewer.study.pages import entry, item
from apportion.viewer.study.serving import Serving, shown

ROUTERS: tuple[APIRouter, ...] = (entry.router, item.router)
TITLES = {
    403: "Open your link",
    404: "Not found",
    409: "This cannot be done",
    429: "Please wait a little",
    503: "Your answer is not saved",
}
ENOUGH = "Everybody who is needed has come"
CHANGED = "The study is being changed. Please come back later, by the same link."
FAULT = "The page failed, by no fault of yours. Nothing is lost that was confirmed. Please try again in a minute."
AWAY = "The study's database does not answer. Nothing is lost that was confirmed. Please try again in a minute."


def create_app(serving: Serving, access: Access) -> ASGIApp:
    """The pages of a study behind a gate; ``access`` says by which names this server is called.

    Pages find ``serving`` as ``request.app.state.serving``; each page asks who is let in (`serving.VisitorHere`).
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.serving = serving
    tokens = TOKENS.read_text(encoding="utf-8")

    @app.get("/static/tokens.css")
    def _tokens() -> Response:
        return Response(tokens, media_type="text/css")

    app.mount("/static", StaticFiles(packages=[("apportion.viewer", "static")]))
    for router in ROUTERS:
        app.include_router(router)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, answer)
    parts = urlsplit(serving.address)
    return Gate(app, access.is_host, frozenset({f"{parts.scheme}://{parts.netloc}"}))


def _changed(request: Request, error: Exception) -> Response:
    """Who serves the study reads what has happened; it names files, which no annotator is shown."""
    logging.getLogger(__name__).error("%s", error)
    return _message(request, 409, CHANGED)


def _away(request: Request, error: Exception) -> Response:
    """The database is away."""
    answer = _unsaved(request, 503, AWAY)
    answer.headers["Retry-After"] = "10"
    return answer


def _unsaved(request: Request, status: int, text: str) -> Response:
    """What was sent stays in the page, so that it can be sent again."""
    sent = getattr(request.state, "sent", [])
    return _message(request, status, text, TITLES[503] if sent else "The study cannot be shown now", sent)


def _message(
    request: Request,
    status: int,
    text: str,
    title: str = "",
    fields: list[tuple[str, str]] | None = None,
    *,
    goes_on: bool = True,
) -> Response:
    title = title or TITLES.get(status, "This cannot be done")
    here = request.url.path.lstrip("/")
    return shown(
        request, here, "message.html", status, title=title, text=text, fields=fields or [], again=status >= 500,
        goes_on=goes_on,
    )  # fmt: skip


ANSWERS: Mapping[type[Exception], Callable[[Request, Any], Response]] = {
    HTTPException: lambda request, error: _message(request, error.status_code, str(error.detail)),
    RequestValidationError: lambda request, error: _message(request, 404, "There is no such page."),
    DatabaseAwayError: _away,
    InputError: lambda request, error: _message(request, 409, str(error)),
    StudyChangedError: _changed,
    # Nobody else is needed: there is nothing to go on with.
    FullError: lambda request, error: _message(request, 410, str(error), ENOUGH, goes_on=False),
    # Somebody with this id has begun in another browser, which alone knows the link.
    StudyStoreError: lambda request, error: _message(request, 409, str(error), "You have begun already", goes_on=False),
    TooLargeError: too_large,
    Exception: lambda request, error: _unsaved(request, 500, FAULT),
}
"""What is said of each error; the traceback of what nobody foresaw goes to the terminal."""
