"""Who may ask a server of ours for what: token, cookie, Host, Origin, size of a request; what its pages may load.

Recordings of people are behind these addresses. A page of another site may send requests here from the same browser,
and a name of another site may be made to point here: so a request has to name this host, come from no other origin and
bring the cookie that the token was exchanged for.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apportion.foundation.html.page import HERE, render_page

MOST_BODY = 1 << 20
"""Bytes of a request that are read: a label is a few hundred."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
WAVE_STYLE = "'sha256-Pc8lBnNlZrPymfBXPe3N6kIM3REPPZ2QCeUn/aX/6R4='"
"""The one style sheet that a script brings: that of wavesurfer.js (static/vendor), as high as session.js asks for."""
POLICY = (
    f"default-src 'self'; style-src 'self' {WAVE_STYLE}; "
    "img-src 'self' data:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": a form of our own would then come with the Origin "null", as one of a stranger's frame does.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Access:
    """What a request has to bring.

    - ``hosts``: names that this machine is called by in a Host header, without the port, in small letters.
    - ``port``: in the cookie's name, since cookies are not kept apart by port.
    - ``remote``: whether an address in figures may be any: another machine calls this one by the address it knows. A
      rebound name is no address in figures.
    - ``token``: what the URL brings once; ``pass_`` is what the cookie brings from then on.
    """

    hosts: frozenset[str]
    port: int
    remote: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    pass_: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie(self) -> str:
        """The cookie's name."""
        return f"apportion-{self.port}"

    def is_host(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, _ = (parts.hostname or ""), parts.port
        except ValueError:
            return False
        if parts.netloc != host or "@" in host:
            return False
        return name in self.hosts or (self.remote and _is_address(name))

    def has_pass(self, cookies: str) -> bool:
        """Whether a Cookie header holds what the token was exchanged for.

        Other programs on this machine set cookies for all its ports, and not all as the standard has it: each is looked
        at by itself.
        """
        given = (part.strip().partition("=") for part in cookies.split(";"))
        return any(name == self.cookie and _same(value, self.pass_) for name, _, value in given)


class Gate:
    """The application behind its own name: refuses other names and origins, limits what is read, adds the headers.

    Who may come in is for those that are made of it to say (`Guard`).

    ``is_host``: whether a Host header names this server. ``origins``: where forms come from, besides the address that
    was asked for. ``most_body``: bytes of a request that are read.
    """

    most_body = MOST_BODY
    asked_by_pages = True
    """Whether changes come from this server's own pages, as a browser tells by an Origin; programs send none."""

    def __init__(self, app: ASGIApp, is_host: Callable[[str], bool], origins: frozenset[str] = frozenset()) -> None:
        self.app, self.is_host, self.origins = app, is_host, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # There is nothing to talk to by WebSocket.
            await send({"type": "websocket.close", "code": 1008})
            return
        sender = _with_headers(send)
        refused = self._refused(scope) or self._entered(scope)
        if refused is not None:
            await refused(scope, receive, sender)
            return
        await self.app(scope, _Limited(receive, self.most_body), sender)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.is_host(host):
            return PlainTextResponse("This server is not called by that name.\n", 421)
        origins = headers.getlist("origin")
        if not {f"http://{host}", f"https://{host}", *self.origins}.issuperset(origins):
            return PlainTextResponse("Another site's page may not ask this server.\n", 403)
        if scope["method"] not in SAFE_METHODS and not origins and self.asked_by_pages:
            return PlainTextResponse("A change has to come from a page of this server (no Origin).\n", 403)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > self.most_body:
            return PlainTextResponse(f"A request may hold {self.most_body:,} bytes at most.\n", 413)
        return None

    def _entered(self, scope: Scope) -> Response | None:
        """None for one who is in; else the way in, or what to do. Here everybody is, and pages ask further."""
        return None


class Guard(Gate):
    """The application behind `Access`: a gate that exchanges the token for a cookie, and asks for that."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        super().__init__(app, access.is_host)
        self.access = access

    def _entered(self, scope: Scope) -> Response | None:
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if "token" in query:
            given = query.pop("token")
            if len(given) != 1 or not _same(given[0], self.access.token):
                return _page("Wrong token", NOT_LAST + ADVICE, 403)
            return self._let_in(urlencode(query, doseq=True))
        if self.access.has_pass("; ".join(Headers(scope=scope).getlist("cookie"))):
            return None
        return _page("A token is needed", AGAIN + ADVICE, 403)

    def _let_in(self, query: str) -> Response:
        """The cookie, and on to the same address without the token.

        A redirect (303) would be followed as part of a navigation that another page or a file may have begun, and then
        a strict cookie is not sent; a refresh begins at this page.
        """
        response = _page("Opening", Markup('<p><a href="?{}">Go on</a></p>').format(query), 200, f"?{query}")
        response.set_cookie(self.access.cookie, self.access.pass_, httponly=True, samesite="strict", path="/")
        return response


class TokenGate(Gate):
    """The application that programs ask, behind a gate that wants ``token`` in each request; None: no token is needed.

    It comes as ``Authorization: Bearer TOKEN``, or as the password of ``http://anybody:TOKEN@HOST/`` (Basic), for
    clients that are told an address alone. Who brings it may call this server by any name.
    """

    asked_by_pages = False

    def __init__(self, app: ASGIApp, is_host: Callable[[str], bool], token: str | None, most_body: int) -> None:
        super().__init__(app, is_host if token is None else lambda host: True)
        self._token, self.most_body = token, most_body

    def _entered(self, scope: Scope) -> Response | None:
        if self._token is None or _same(_brought(Headers(scope=scope).get("authorization", "")), self._token):
            return None
        text = "A token is needed: send `Authorization: Bearer TOKEN`, or ask http://any:TOKEN@HOST:PORT/.\n"
        return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})


def _brought(authorization: str) -> str:
    """The token in a header; an empty text where there is none."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() != "basic":
        return given.strip() if scheme.lower() == "bearer" else ""
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


NOT_LAST = Markup("<p>This is not the viewer that was started last.</p>")
ADVICE = Markup("<p>Open the address that <code>apportion view</code> has printed: its token lets this browser in.</p>")
AGAIN = Markup('<p>A link from another page led here? <a href="">Open it again</a>.</p>')


class TooLargeError(Exception):
    """More came than a request may hold, whatever the header said."""


def too_large(request: object, error: Exception) -> Response:
    """The answer to such a request."""
    return PlainTextResponse(f"A request may hold {MOST_BODY:,} bytes at most.\n", 413)


class _Limited:
    """A request's body, read up to the limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive, self.read, self.most = receive, 0, most

    async def __call__(self) -> Message:
        message = await self.receive()
        self.read += len(message.get("body", b""))
        if self.read > self.most:
            raise TooLargeError
        return message


def _with_headers(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                # The report has a policy of its own, which allows its style sheet and nothing else.
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sender


def _page(title: str, text: Markup, status: int, refresh: str = "") -> HTMLResponse:
    return HTMLResponse(render_page(HERE, "message.html", title=title, text=text, refresh=refresh), status)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
