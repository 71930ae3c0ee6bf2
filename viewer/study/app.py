"""A study's application: its pages, its static files, what is said where something is missing or fails."""

from __future__ import annotations

import logging
from importlib.resources import files
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from apportion.foundation.errors import InputError
from apportion.study.store.rows import DatabaseAwayError, FullError, StudyChangedError, StudyStoreError
from apportion.viewer.auth import MOST_BODY, Access, Gate, TooLargeError
from apportion.viewer.study.pages import entry, item, reading, steps
from apportion.viewer.study.serving import Serving, shown

ROUTERS: tuple[APIRouter, ...] = (steps.router, entry.router, reading.router, item.router)
TITLES = {
    403: "Open your link",
    404: "Not found",
    409: "This cannot be done",
    429: "Please wait a little",
    503: "Your answer is not saved",
}
CHANGED = "The study is being changed. Please come back later, by the same link."
FAULT = "The page failed, by no fault of yours. Nothing is lost that was confirmed. Please try again in a minute."
AWAY = "The study's database does not answer. Nothing is lost that was confirmed. Please try again in a minute."


def create_app(serving: Serving, access: Access) -> ASGIApp:
    """The pages of a study behind a gate; ``access`` says by which names this server is called.

    Pages find ``serving`` as ``request.app.state.serving``; each page asks who is let in (`serving.VisitorHere`).
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.serving = serving
    tokens = files("apportion.pipeline.report").joinpath("tokens.css").read_text(encoding="utf-8")

    @app.get("/static/tokens.css")
    def _tokens() -> Response:
        return Response(tokens, media_type="text/css")

    app.mount("/static", StaticFiles(packages=[("apportion.viewer", "static")]))
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _impossible)
    app.add_exception_handler(DatabaseAwayError, _away)
    app.add_exception_handler(InputError, _refused)
    app.add_exception_handler(StudyChangedError, _changed)
    app.add_exception_handler(FullError, _full)
    app.add_exception_handler(StudyStoreError, _known)
    app.add_exception_handler(TooLargeError, _too_large)
    app.add_exception_handler(Exception, _fault)
    parts = urlsplit(serving.address)
    return Gate(app, access.is_host, frozenset({f"{parts.scheme}://{parts.netloc}"}))


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _message(request, error.status_code, str(error.detail))


def _impossible(request: Request, error: Exception) -> Response:
    return _message(request, 404, "There is no such page.")


def _refused(request: Request, error: Exception) -> Response:
    return _message(request, 409, str(error))


def _full(request: Request, error: Exception) -> Response:
    """Nobody else is needed: there is nothing to go on with."""
    return _message(request, 410, str(error), "Everybody who is needed has come", goes_on=False)


def _known(request: Request, error: Exception) -> Response:
    """Somebody with this id has begun in another browser, which alone knows the link."""
    return _message(request, 409, str(error), "You have begun already", goes_on=False)


def _changed(request: Request, error: Exception) -> Response:
    """Who serves the study reads what has happened; it names files, which no annotator is shown."""
    logging.getLogger(__name__).error("%s", error)
    return _message(request, 409, CHANGED)


def _away(request: Request, error: Exception) -> Response:
    """The database is away."""
    answer = _unsaved(request, 503, AWAY)
    answer.headers["Retry-After"] = "10"
    return answer


def _fault(request: Request, error: Exception) -> Response:
    """What nobody foresaw; its traceback goes to the terminal."""
    return _unsaved(request, 500, FAULT)


def _unsaved(request: Request, status: int, text: str) -> Response:
    """What was sent stays in the page, so that it can be sent again."""
    sent = getattr(request.state, "sent", [])
    return _message(request, status, text, TITLES[503] if sent else "The study cannot be shown now", sent)


def _too_large(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"A request may hold {MOST_BODY:,} bytes at most.\n", 413)


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
