"""Annotators without a browser: they follow links, keep their cookie, fill in the forms that pages have."""

import http.client
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from random import Random
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

Pairs = list[tuple[str, str]]


class Forms(HTMLParser):
    """The forms of a page, and its text: inputs as a browser without scripts would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action: list[str | None] = []
        self.inputs: list[dict[str, str | None]] = []
        self.letters: dict[str, str] = {}
        self._text: dict[str, str | None] | None = None
        self._letter = ""
        self._in_letter = self._in_responses = self._said = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "form":
            self.action.append(named.get("action"))
        elif tag in ("input", "textarea") or (tag == "button" and named.get("name")):
            own = named.get("type") or "text" if tag == "input" else tag
            self.inputs.append({**named, "type": own, "value": named.get("value") or ""})
            self._text = self.inputs[-1] if tag == "textarea" else None
        elif tag == "ol":
            self._in_responses = named.get("class") == "responses"
        elif tag == "b" and named.get("class") == "letter":
            self._in_letter = True
        elif tag == "p":
            self._said = self._in_responses

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._text = None
        elif tag == "p":
            self._said = False
        elif tag == "b":
            self._in_letter = False
        elif tag == "ol":
            self._in_responses = False

    def handle_data(self, data):
        if self._text is not None:
            self._text["value"] = data.removeprefix("\n")
        elif self._in_letter:
            self._letter = data
        elif self._said:
            self.letters[self._letter] = data

    def hidden(self) -> Pairs:
        """What a form sends besides what a person answers."""
        return [(str(one["name"]), str(one["value"])) for one in self.inputs if one["type"] in ("hidden", "button")]

    def one(self, name: str) -> str:
        """The value of a hidden field."""
        return dict(self.hidden())[name]

    def fields(self) -> dict[str, list[str]]:
        """The values that each field of a question offers."""
        offered: dict[str, list[str]] = {}
        for one in self.inputs:
            if one["type"] in ("radio", "checkbox"):
                offered.setdefault(str(one["name"]), []).append(str(one["value"]))
        return offered

    def chosen(self) -> dict[str, list[str]]:
        """The values that are chosen, by field; a reason under its name."""
        on = [one for one in self.inputs if "checked" in one or one["type"] == "textarea"]
        found: dict[str, list[str]] = {}
        for one in on:
            found.setdefault(str(one["name"]), []).append(str(one["value"]))
        return found

    def answers(self, random: Random, reason: str) -> Pairs:
        """Answers drawn to all that is asked."""
        pairs: Pairs = []
        several = {one["name"] for one in self.inputs if one["type"] == "checkbox"}
        for name, offered in self.fields().items():
            marked = [value for value in offered if random.random() < 0.4] if name in several else None
            pairs += [(name, value) for value in ([random.choice(offered)] if marked is None else marked)]
        if any(one["type"] == "textarea" for one in self.inputs):
            pairs.append(("reason", reason))
        return pairs


@dataclass(frozen=True)
class Page:
    """What a server answered; the names of ``headers`` are in small letters."""

    status: int
    url: str
    headers: dict[str, str]
    text: str

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def forms(self) -> Forms:
        return Forms(self.text)


@dataclass
class Caller:
    """A browser without scripts; ``answered`` is called with each answer before a redirect of it is followed."""

    address: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Page:
        """Follow a link, and where it leads."""
        return self._follow("GET", urljoin(self.address, path), None, headers)

    def post(self, path: str, pairs: Sequence[tuple[str, str]], follow: bool = True, **headers: str) -> Page:
        """Send a form as a page of this server does, and follow where that leads."""
        named = {"Origin": self.address.rstrip("/"), "Content-Type": "application/x-www-form-urlencoded", **headers}
        return self._follow("POST", urljoin(self.address, path), urlencode(pairs), named, follow)

    def press(self, page: Page, **more: str) -> Page:
        """Send the form of a page with nothing but what is in it."""
        return self.post(urljoin(page.url, page.forms.action[0] or ""), [*page.forms.hidden(), *more.items()])

    def _follow(self, method: str, url: str, body: str | None, headers: dict[str, str], follow: bool = True) -> Page:
        for _ in range(6):
            page = self._ask(method, url, body, headers)
            if page.status not in (302, 303, 307) or not follow:
                return page
            url, method, body, headers = urljoin(url, page.headers["location"]), "GET", None, {}
        raise AssertionError(f"round and round at {url}")

    def _ask(self, method: str, url: str, body: str | None, headers: dict[str, str]) -> Page:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            named["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(
                method, f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/", body, named
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        if "set-cookie" in found:
            name, _, value = found["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return Page(answer.status, url, found, text)


def marks(page: Page, pairs: Pairs) -> dict[str, list[str]]:
    """What an annotator has said, in words of the page alone: by field, the texts of responses that are marked."""
    letters = page.forms.letters
    said: dict[str, list[str]] = {name: [] for name in page.forms.fields()}
    for name, value in pairs:
        said.setdefault(name, []).append(letters.get(value, value))
    return {name: sorted(values) for name, values in said.items()}


def query_of(page: Page) -> dict[str, str]:
    """The query of a page's address."""
    return dict(parse_qsl(urlsplit(page.url).query))
