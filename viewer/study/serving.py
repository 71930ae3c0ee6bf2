"""The study that is served, and whose browser a request is from."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from starlette.responses import HTMLResponse, Response

from apportion.foundation.html.text import clean
from apportion.study.design.folder import StudyFolder
from apportion.study.store.rows import Annotator, NoSuchLinkError
from apportion.study.store.store import Store
from apportion.viewer.pages.forms import check_token, read_pairs
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import templates
from apportion.viewer.study.views import MOST_FIELDS, AnswerForm

WINDOW_S = 600.0
"""Over how many seconds entries are counted."""
MOST_ADDRESSES = 10_000
"""Addresses that are counted apart; those who came in longest ago are forgotten first."""


class EntryLimit:
    """Counts who comes in; no address is kept but as a salted hash, for `WINDOW_S` seconds.

    Addresses of IPv6 are counted by their first 64 bits, of which one connection has all.

    ``each``: new annotators that one address may bring in `WINDOW_S` seconds. ``together``: those that all addresses
    may bring. ``clock``: seconds, never going back.

    >>> limit = EntryLimit(each=1, together=10)
    >>> limit.allows("192.0.2.1"), limit.allows("192.0.2.1"), limit.allows("192.0.2.2")
    (True, False, True)
    """

    def __init__(self, each: int, together: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.each, self.together, self.clock = each, together, clock
        self._salt = secrets.token_bytes(16)
        self._all: deque[float] = deque()
        self._by_address: dict[bytes, deque[float]] = {}
        self._lock = threading.Lock()

    def allows(self, address: str) -> bool:
        """Whether one more may come in from an address now; counts them if so."""
        name = hashlib.blake2b(_network(address).encode(), key=self._salt, digest_size=16).digest()
        with self._lock:
            now = self.clock()
            own = self._by_address.pop(name, deque())
            self._by_address[name] = own
            for times in (own, self._all):
                while times and times[0] <= now - WINDOW_S:
                    times.popleft()
            while len(self._by_address) > MOST_ADDRESSES:
                del self._by_address[next(iter(self._by_address))]
            if len(own) >= self.each or len(self._all) >= self.together:
                return False
            own.append(now)
            self._all.append(now)
            return True


def _network(address: str) -> str:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if known.version == 4:
        return str(known)
    return str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))


COOKIE_S = 90 * 86_400
"""How long a browser remembers whose link was opened in it."""
NO_LINK = (
    "This browser does not know you. Open the link that you were given for this study: it goes on where you stopped."
)


@dataclass(frozen=True)
class Serving:
    """What pages find as ``request.app.state.serving``.

    ``address`` is what annotators call the server by, without a slash at the end. ``secure``: whether that is https.
    """

    study: StudyFolder
    store: Store
    address: str
    limit: EntryLimit = field(repr=False)

    @property
    def secure(self) -> bool:
        """Whether the cookie may only travel encrypted."""
        return self.address.startswith("https://")

    @property
    def cookie(self) -> str:
        """The cookie's name: the same for the same study after a restart, another for another study."""
        return f"apportion-study-{sha256(self.study.digest.encode()).hexdigest()[:8]}"

    def let_in(self, response: Response, token: str) -> None:
        """Set the cookie. Not "strict": a link in a mail or on a crowd platform has to find it again."""
        response.set_cookie(
            self.cookie, token, max_age=COOKIE_S, httponly=True, samesite="lax", secure=self.secure, path="/"
        )


@dataclass(frozen=True)
class Visitor:
    """An annotator, by the token in their cookie."""

    annotator: Annotator
    token: str = field(repr=False)

    @property
    def id(self) -> str:
        """The annotator's id."""
        return self.annotator.id

    @property
    def form_token(self) -> str:
        """What every form of their pages sends along as ``token``: no other annotator's form does."""
        return form_token(self.token)


def form_token(secret: str) -> str:
    """A form's token, of a secret that only this browser and the server know."""
    return hmac.new(secret.encode(), b"study form", "sha256").hexdigest()


def serving_of(request: Request) -> Serving:
    """The study that is served."""
    serving: Serving = request.app.state.serving
    return serving


def known_visitor(request: Request) -> Visitor | None:
    """Who asks; None where the browser has no cookie of this study, or one that is unknown."""
    serving = serving_of(request)
    token = request.cookies.get(serving.cookie, "")
    if not token:
        return None
    try:
        return Visitor(serving.store.enter(token), token)
    except NoSuchLinkError:
        return None


def _visitor(request: Request) -> Visitor:
    found = known_visitor(request)
    if found is None:
        raise HTTPException(403, NO_LINK)
    return found


async def _form(request: Request) -> AnswerForm:
    pairs = await read_pairs(request, MOST_FIELDS)
    request.state.sent = pairs  # So that what somebody has written is not lost where the database is away.
    return AnswerForm.of(pairs)


ServingHere = Annotated[Serving, Depends(serving_of)]
VisitorHere = Annotated[Visitor, Depends(_visitor)]
FormHere = Annotated[AnswerForm, Depends(_form)]


def check_form(form: AnswerForm, secret: str) -> None:
    """Raise HTTPException (403) where a form is not from a page of this browser."""
    check_token(form.one("token"), form_token(secret))


def shown(request: Request, here: str, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the study in the viewer's frame; ``here`` is its place (`apportion.viewer.pages.links.Links`)."""
    title = clean(serving_of(request).study.settings.title, 200)
    frame = {"links": Links(here), "navigation": (), "run_title": title, "notice": ""}
    page = templates().get_template(f"study/{template}").render(frame | values)
    return HTMLResponse(page, status)
