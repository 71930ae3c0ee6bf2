"""Every address of the viewer, made in one place: on the server and in a static bundle.

To add a page NAME:

1. ``viewer/templates/NAME.html``: ``{% extends "base.html" %}``, blocks ``title``, ``main`` and, for scripts and style
   sheets of its own, ``head``. Addresses come from ``links`` alone: ``links.page("NAME", sort="score")``,
   ``links.session(slug, turn=3)``, ``links.static("NAME.js")``. No inline script, no ``style`` attribute.
2. ``viewer/pages/NAME.py``: ``html(run, links, ...) -> str`` by `apportion.viewer.pages.render.render`, and a
   ``router`` whose function is a line: ``return page(request, "NAME", html, ...)``. A bundle calls ``html``, too.
3. The router in ``viewer/app.py: ROUTERS``; a line in ``NAVIGATION`` below where the page stands in the bar at the top.
4. ``tests/viewer/pages/test_NAME.py``; what needs a browser in ``tests/viewer/browser/test_NAME.py`` (`page_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import as_file, files
from urllib.parse import urlencode

from apportion.foundation.html.page import TOKENS

NAVIGATION: tuple[tuple[str, str], ...] = (
    ("index", "Sessions"),
    ("slices", "What costs us"),
    ("compare", "Compare"),
    ("label", "Label"),
    ("report", "Report"),
)
"""Pages in the bar at the top: name and title."""
BUNDLED = ("index", "slices", "compare", "report")
"""Those of them that a bundle has: nothing can be written into it."""

REPORT = "report.html"
"""A file of a finished run; a page where the run has it."""

KEPT = ("number", "rating", "page")
"""What tells two files of a bundle apart that are one page on the server."""


def bundled_name(name: str, query: Mapping[str, object]) -> str:
    """The name of a page's file without ``.html``; ``~~`` stands in no name of a page or session, 1 is the first page.

    >>> bundled_name("index", {"page": 2, "q": "train"}), bundled_name("session/s01", {"rating": 0})
    ('index~~page-2', 'session/s01')
    """
    asked = {**query, "page": None if query.get("page") == 1 else query.get("page")}
    return name + "".join(f"~~{key}-{asked[key]}" for key in KEPT if asked.get(key) not in (None, "", False, 0))


@cache
def static_state() -> str:
    """What changes when a file of ``viewer/static/`` does: a browser may keep what it has got of one state."""
    with as_file(files("apportion.viewer").joinpath("static")) as folder:
        contents = [TOKENS.read_bytes(), *(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())]
    return sha256(b"".join(contents)).hexdigest()[:12]


@dataclass(frozen=True)
class Links:
    """Addresses seen from the page ``here``: relative, so that they hold behind a proxy and on a disk.

    ``here``: the page's own place, such as ``index`` or ``session/s01``. ``bundled``: whether the pages are files of a
    static folder. What a query would ask for is then a page of its own (`KEPT`), or is not there. ``recorded``: whether
    recordings are beside the pages of a static folder.

    >>> Links("session/s01").page("index", sort="score"), Links("index").session("s01", turn=3)
    ('../?sort=score', 'session/s01#turn-3')
    >>> Links("session/s01", bundled=True).page("compare"), Links("index", bundled=True).page("index")
    ('../compare.html', 'index.html')
    """

    here: str
    bundled: bool = False
    recorded: bool = False

    @property
    def up(self) -> str:
        """From the page's folder to the viewer's own: empty, or ``../`` as often as needed."""
        return "../" * self.here.count("/")

    def page(self, name: str, **query: object) -> str:
        """A page by its name; values of ``query`` that are empty or None are left out."""
        own = "" if name == "index" else name
        if self.bundled:
            return self.up + bundled_name(name, query) + ".html"
        address = f"{self.up}{own}" or "./"
        asked = urlencode({key: value for key, value in query.items() if value not in (None, "", False)})
        return f"{address}?{asked}" if asked else address

    def session(self, slug: str, turn: int | None = None, **query: object) -> str:
        """A session's page, at a turn of it where one is given; ``t`` in ``query`` is a second."""
        return self.page(f"session/{slug}", **query) + ("" if turn is None else f"#turn-{turn}")

    def media(self, slug: str, number: int) -> str:
        """A recording of a session, by its place among the session's rows of ``media``; empty where there is none."""
        return "" if self.bundled and not self.recorded else f"{self.up}media/{slug}/{number}"

    def data(self, name: str) -> str:
        """A script of a bundle that holds what a page cannot ask for there."""
        return f"{self.up}data/{name}.js"

    def static(self, name: str) -> str:
        """A file of ``viewer/static/``, or ``tokens.css``; on a server with its state, so that it is asked for once."""
        return f"{self.up}static/{name}" + ("" if self.bundled else f"?{static_state()}")
