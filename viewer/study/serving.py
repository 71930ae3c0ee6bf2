"""The study that is served, and whose browser a request is from."""

from __future__ import annotations

import hmac
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
from apportion.viewer.study.form_parsing import MOST_FIELDS, AnswerForm
from apportion.viewer.study.limits import EntryLimit

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
