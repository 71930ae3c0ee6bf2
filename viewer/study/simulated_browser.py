"""A simulated annotator's visit: over HTTP, as a browser without scripts does, from a link to the code at the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from http import HTTPStatus
from urllib.parse import urlencode, urljoin, urlsplit

import requests

from apportion.foundation.errors import ApportionError
from apportion.study.design.randomization import lettered
from apportion.study.simulated_annotators import SimulatedAnnotators
from apportion.study.store.store import Store
from apportion.viewer.study.serve import served_beside
from apportion.viewer.study.views import as_fields

PAGES, END = ("/public", "/consent", "/instructions"), "/thanks"
"""Pages whose form has nothing to answer but its button, and the last one."""
MOST_REDIRECTS = 5
TIMEOUT_S = 60.0


class VisitError(ApportionError):
    """A page that the visit did not expect, such as an answer that was not kept."""


class _Form(HTMLParser):
    """The form of a page: where it goes, and what it sends by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = named.get("action", "")
        elif (tag == "input" and named.get("type") == "hidden") or (tag == "button" and named.get("name")):
            self.fields[named["name"]] = named.get("value", "")


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env, session.max_redirects = False, MOST_REDIRECTS  # No proxy stands before this machine's server.
    return session


@dataclass
class Browser:
    """Follows links and redirects of one server, keeps its cookies, sends its forms."""

    address: str
    session: requests.Session = field(default_factory=_session)
    path: str = ""
    status: int = 0
    text: str = ""

    def get(self, path: str) -> None:
        """Open a page."""
        self._ask("GET", urljoin(self.address, path), {})

    def send(self, fields: list[tuple[str, str]]) -> None:
        """Send the page's form with ``fields``, and with what it holds under other names."""
        form, given = _Form(self.text), dict(fields)
        whole = [*((name, value) for name, value in form.fields.items() if name not in given), *fields]
        url = urljoin(urljoin(self.address, self.path), form.action)
        parts = urlsplit(url)
        origin = {"Origin": f"{parts.scheme}://{parts.netloc}", "Content-Type": "application/x-www-form-urlencoded"}
        self._ask("POST", url, origin, urlencode(whole))

    def hidden(self, name: str) -> str:
        """What the page's form sends by itself under a name."""
        return _Form(self.text).fields.get(name, "")

    def _ask(self, method: str, url: str, headers: dict[str, str], body: str = "") -> None:
        answer = self.session.request(method, url, data=body, headers=headers, timeout=TIMEOUT_S)
        self.status, self.path, self.text = answer.status_code, urlsplit(answer.url).path, answer.content.decode()


@dataclass(frozen=True)
class Visit:
    """One simulated annotator at the pages of a study; ``people`` says what they answer."""

    people: SimulatedAnnotators
    annotator: str
    browser: Browser

    def agree(self) -> bool:
        """Come in by the public link under the annotator's id, and agree: their items are drawn.

        False where they are turned away, since every item has the people it needs.
        """
        self.browser.get(f"public?PROLIFIC_PID={self.annotator}")
        self.browser.send([])
        return self.browser.status != HTTPStatus.GONE

    def take_part(self) -> int:
        """Read the instructions, answer one item after the other, and how many there were. Raises VisitError: an answer
        was not kept, or there is no end with a code.
        """
        count = 0
        while (here := self.browser.path) != END:
            if here in PAGES:
                self.browser.send([])
            else:
                self._answer()
                count += 1
            if self.browser.status != HTTPStatus.OK or self.browser.path == here:
                raise VisitError(
                    f"{self.annotator} cannot go on from {here} of the study's pages: it answered "
                    f"{self.browser.status} at {self.browser.path}."
                )
        return count

    def _answer(self) -> None:
        study = self.people.study
        item = study.items[self.browser.hidden("item")]
        given = self.people.answer(self.annotator, item)
        responses = lettered(self.annotator, study.settings.seed, item)
        fields = as_fields(responses, study.criteria, given.answers)
        told = [("seconds", f"{given.seconds}"), ("lost", f"{given.focus_lost}"), ("reason", given.reason)]
        self.browser.send([*fields, *told])


AT_ONCE = 3
"""Annotators who answer at the same time."""
Progress = Callable[[float, float | None, str], None]


def visited(people: SimulatedAnnotators, names: tuple[str, ...], progress: Progress = lambda *_: None) -> int:
    """Serve the study of simulated annotators, let those named take part in it, and how many answers they gave.

    They come in by a public link, by which they say what they are called; the study's own file need not have one.
    Whoever comes when no item wants an answer any more is turned away.

    ``people``: what everybody answers. ``names``: who comes, in this order. ``progress``: is told how many have been
    there, of how many, and where. Raises VisitError: a page was not as it should be.
    """
    study = people.study
    settings = study.settings.model_copy(update={"public": True, "public_limit": len(names)})
    with (
        closing(Store.open(None, replace(study, settings=settings), simulated=True)) as store,
        served_beside(store, entries=len(names)) as address,
    ):
        visits = [Visit(people, name, Browser(f"{address}/")) for name in names]
        begun = [visit for visit in visits if visit.agree()]  # One after the other: the draws are the same each time.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            counts = []
            for count in pool.map(Visit.take_part, begun):
                counts.append(count)
                progress(len(counts), len(begun), address)
    return sum(counts)
