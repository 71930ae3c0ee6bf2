"""How annotators come in: by a link of their own, or by the public one; nothing is kept of them before they agree."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from apportion.study.design.folder import StudyFolder
from apportion.study.store.links import TOKEN, new_token
from apportion.study.store.rows import NoSuchLinkError
from apportion.viewer.pages.links import Links
from apportion.viewer.study.serving import (
    FormHere,
    Serving,
    ServingHere,
    Visitor,
    VisitorHere,
    check_form,
    form_token,
    known_visitor,
    shown,
)
from apportion.viewer.study.views import blocks_of

router = APIRouter()
PAGES = {"consent": "consent", "instructions": "instructions", "done": "thanks"}
"""Places of an annotator that have a page of their own; the others are items."""


def next_page(serving: Serving, visitor: Visitor) -> str:
    """The place of the page where somebody goes on: where they stopped."""
    place = serving.store.next_place(visitor.id)
    before = len(serving.study.settings.practice) if place.kind == "item" else 0
    return PAGES.get(place.kind) or f"item/{before + place.number}"


def on(serving: Serving, visitor: Visitor, here: str, **query: object) -> RedirectResponse:
    """From the page ``here`` to where somebody goes on."""
    return RedirectResponse(Links(here).page(next_page(serving, visitor), **query), 303)


@router.get("/")
def start(serving: ServingHere, visitor: VisitorHere) -> RedirectResponse:
    """``GET /``: on to where the annotator stopped."""
    return on(serving, visitor, "index")


@router.get("/instructions")
def instructions(request: Request, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``GET /instructions``: they can be read again at any time."""
    following = next_page(serving, visitor)
    if following == "consent":
        return on(serving, visitor, "instructions")
    study = serving.study
    return shown(
        request, "instructions", "instructions.html", token=visitor.form_token, again=following != "instructions",
        blocks=blocks_of(study.instructions), practice=len(study.settings.practice), following=following,
    )  # fmt: skip


@router.post("/instructions")
def begin(form: FormHere, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``POST /instructions``."""
    check_form(form, visitor.token)
    serving.store.read_instructions(visitor.id)
    return on(serving, visitor, "instructions")


@router.get("/thanks")
def thanks(request: Request, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``GET /thanks``: the code for who has answered everything; others go on where they stopped."""
    if next_page(serving, visitor) != "thanks":
        return on(serving, visitor, "thanks")
    return shown(request, "thanks", "thanks.html", code=serving.store.finish(visitor.id))


PLATFORM = ("PROLIFIC_PID", "workerId")
"""Parameters by which crowd platforms name the annotator in a link; one of them becomes the annotator's id."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What MTurk gives as ``assignmentId`` to whoever only looks at a task."""
AGREE = "yes"
UNKNOWN = "No annotator of this study has this link. Look whether it is whole, to its last letter."
TOP = "document"
"""What browsers call a page that takes a whole tab."""
SOMEBODY_ELSE = (
    "Another annotator's link",
    "In this browser somebody has begun by another link. Open this one only if it is yours: your answers are then "
    "saved under it.",
)
FROM_ELSEWHERE = "Open your link", "A page of another site has opened this link."
TOO_MANY = "Many people have begun in the last minutes. Please open the link again in a quarter of an hour."


@router.get("/a/{token}")
def own_link(token: str, request: Request, serving: ServingHere) -> Response:
    """``GET /a/TOKEN``: the link of one annotator; their cookie, and on to where they stopped.

    Asked first is who is somebody else in this browser, whose answers would be the other's from then on: another site
    may have opened the link. So is who has not followed it at all: a page that shows it as a picture or in a frame.
    """
    if not _is_known(serving, token):
        raise HTTPException(404, UNKNOWN)
    visitor = known_visitor(request)
    followed = request.headers.get("sec-fetch-site") != "cross-site" or request.headers.get("sec-fetch-dest") == TOP
    if (visitor is None or visitor.token == token) and followed:
        return _as_annotator(serving, token)
    title, text = FROM_ELSEWHERE if visitor is None else SOMEBODY_ELSE
    return shown(
        request, "a/x", "somebody_else.html", action=f"a/{token}", known=visitor is not None,
        token=form_token(visitor.token if visitor else token),
        title=title, text=text,
    )  # fmt: skip


@router.post("/a/{token}")
def own_link_after_all(token: str, request: Request, form: FormHere, serving: ServingHere) -> Response:
    """``POST /a/TOKEN``: who was asked whether they are this annotator says so."""
    if not _is_known(serving, token):
        raise HTTPException(404, UNKNOWN)
    visitor = known_visitor(request)
    check_form(form, visitor.token if visitor else token)
    return _as_annotator(serving, token)


def _as_annotator(serving: Serving, token: str) -> Response:
    answer = RedirectResponse(Links("a/x").page("index"), 303)
    serving.let_in(answer, token)
    return answer


@router.get("/consent")
def consent(request: Request, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``GET /consent``: what is kept of somebody, before they begin."""
    return _consent(request, serving, "consent", "consent", visitor.form_token)


@router.post("/consent")
def agree(form: FormHere, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``POST /consent``."""
    check_form(form, visitor.token)
    if form.one("agree") == AGREE:
        serving.store.agree(visitor.id)
    return on(serving, visitor, "consent")


@router.get("/public")
def public_link(request: Request, serving: ServingHere) -> Response:
    """``GET /public``: the one link for everybody, with what a crowd platform adds to it."""
    _check_public(serving)
    person = next((value for name in PLATFORM if (value := request.query_params.get(name))), "")
    visitor = known_visitor(request)
    if visitor is not None and person in ("", visitor.id):
        return on(serving, visitor, "public")
    if request.query_params.get("assignmentId") == PREVIEW:
        return _consent(request, serving, "public", "", "")
    own = new_token()
    return _consent(request, serving, "public", "public", form_token(own), {"own": own, "person": person})


@router.post("/public")
def come_in(request: Request, form: FormHere, serving: ServingHere) -> Response:
    """``POST /public``: somebody agrees, and is an annotator from then on; sent twice, it is the same one."""
    _check_public(serving)
    own = form.one("own")
    if not TOKEN.fullmatch(own):
        raise HTTPException(400, "The form cannot be read. Open the link again.")
    check_form(form, own)
    if form.one("agree") != AGREE:
        return RedirectResponse("public", 303)
    if not _is_known(serving, own) and not serving.limit.allows(request.client.host if request.client else ""):
        raise HTTPException(429, TOO_MANY)
    serving.store.enter_public(form.one("person") or None, own, agreed=True)
    answer = RedirectResponse(Links("public").page("index"), 303)
    serving.let_in(answer, own)
    return answer


def most_pages(study: StudyFolder) -> int:
    """How many conversations somebody is shown at most: practice, items and the checks among them."""
    settings = study.settings
    checks = settings.items_per_annotator // settings.checks_every if settings.checks_every else 0
    return len(settings.practice) + settings.items_per_annotator + min(checks, len(study.checks))


def _check_public(serving: Serving) -> None:
    if not serving.study.settings.public:
        raise HTTPException(404, "This study has no public link. Open the link that you were given.")


def _is_known(serving: Serving, token: str) -> bool:
    try:
        serving.store.enter(token)
    except NoSuchLinkError:
        return False
    return True


def _consent(
    request: Request, serving: Serving, here: str, action: str, token: str, fields: dict[str, str] | None = None
) -> Response:
    study = serving.study
    return shown(
        request, here, "consent.html", action=action, token=token, fields=fields or {},
        title=study.settings.title, blocks=blocks_of(study.consent), items=most_pages(study),
    )  # fmt: skip
