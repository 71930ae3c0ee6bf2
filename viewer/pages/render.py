"""Templates to HTML: everything is escaped, and every page gets the same frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from apportion.foundation.html.page import environment
from apportion.foundation.html.text import clean, number, plain, seconds, signed
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.links import BUNDLED, NAVIGATION, REPORT, Links

if TYPE_CHECKING:
    import jinja2

NAME, TEXT = 120, 20_000
"""Most characters of a name and of a text that a page shows."""


def render(run: ServedRun, links: Links, template: str, **values: Any) -> str:
    """A page as text.

    ``run``. ``links``: Of the page itself. ``template``: A file of ``viewer/templates/``. ``values``: What the template
    shows; the frame's own are ``links``, ``navigation``, ``run_title`` and ``notice``.
    """
    there = (run.place.folder / REPORT).is_file()
    shown = tuple(
        one for one in NAVIGATION if (not links.bundled or one[0] in BUNDLED) and (one[0] != "report" or there)
    )
    frame = {"links": links, "navigation": shown, "run_title": clean(run.place.title, NAME), "notice": run.notice}
    return templates().get_template(template).render(frame | values)


def page(request: Request, here: str, html: Callable[..., str], *arguments: Any) -> HTMLResponse:
    """The answer to a request for a page: ``html(run, links, *arguments)``."""
    run: ServedRun = request.app.state.run
    run.look()
    return HTMLResponse(html(run, Links(here), *arguments))


@cache
def templates() -> jinja2.Environment:
    """Jinja for ``viewer/templates/``."""
    made = environment("apportion.viewer")
    made.filters |= {"clean": _cleaned, "number": number, "plain": plain, "signed": signed, "seconds": seconds}
    return made


def _cleaned(text: object, limit: int = TEXT) -> str:
    return clean(str(text), limit)
