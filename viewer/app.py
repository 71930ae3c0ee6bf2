"""The viewer's application: its pages, its static files, what is said where something is missing or fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from apportion.foundation.errors import ApportionError
from apportion.foundation.html.page import TOKENS
from apportion.viewer.auth import Access, Guard, TooLargeError, too_large
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.run_location import CompanionFiles, beside
from apportion.viewer.pages import compare, label, media, report, session, sessions, slices
from apportion.viewer.pages.links import Links, static_state
from apportion.viewer.pages.render import render

ROUTERS: tuple[APIRouter, ...] = (
    sessions.router,
    session.router,
    media.router,
    slices.router,
    compare.router,
    label.router,
    report.router,
)
TITLES = {404: "Not found", 405: "Not possible", 500: "This page failed", 503: "The run cannot be read"}
FAULT = "That is a fault of the viewer, not yours. What happened is told where it was started; other pages go on."


def create_app(
    run: ServedRun, access: Access, around: CompanionFiles | None = None, say: Callable[[str], None] = lambda line: None
) -> ASGIApp:
    """The pages of a run behind a guard.

    ``run``: pages find it as ``request.app.state.run``. ``around``: labels, another run and responses; labels beside
    the run and nothing else where it is left out. ``say`` is given each line for the terminal.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.run, app.state.access = run, access
    app.state.say, app.state.told = say, []
    app.state.beside = around or beside(run.place)
    tokens = TOKENS.read_text(encoding="utf-8")

    @app.get("/static/tokens.css")
    def _tokens(request: Request) -> Response:
        return _kept(Response(tokens, media_type="text/css"), request.scope)

    app.mount("/static", _Static(packages=[("apportion.viewer", "static")]))
    for router in ROUTERS:
        app.include_router(router)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, answer)
    return Guard(app, access)


class _Static(StaticFiles):
    """Files of ours that a browser keeps where their address says which state they are of."""

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Response:
        return _kept(super().file_response(full_path, stat_result, scope, status_code), scope)


def _kept(response: Response, scope: Scope) -> Response:
    if scope["query_string"].decode("latin-1") == static_state():
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return response


def _impossible(request: Request, error: RequestValidationError) -> Response:
    faults = (f"{fault['loc'][-1]}: {fault['msg']}" for fault in error.errors())
    return _message(request, 422, f"The address asks for what cannot be: {'; '.join(faults)}.")


def _message(request: Request, status: int, text: str) -> Response:
    """A page that says what is wrong, in the viewer's frame."""
    title = TITLES.get(status, "This cannot be done")
    here = request.url.path.lstrip("/")
    values = {"title": title, "text": text}
    return HTMLResponse(render(request.app.state.run, Links(here), "message.html", **values), status)


ANSWERS: Mapping[type[Exception], Callable[[Request, Any], Response]] = {
    HTTPException: lambda request, error: _message(request, error.status_code, str(error.detail)),
    RequestValidationError: _impossible,
    ApportionError: lambda request, error: _message(request, 503, str(error)),
    TooLargeError: too_large,
    Exception: lambda request, error: _message(request, 500, FAULT),
}
"""What is said of each error; the traceback of what nobody foresaw goes to the terminal."""
