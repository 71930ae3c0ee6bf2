"""What is read before the first item and after the last one."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from apportion.viewer.study.pages.steps import next_page, on
from apportion.viewer.study.plain_text import blocks_of
from apportion.viewer.study.serving import FormHere, ServingHere, VisitorHere, check_form, shown

router = APIRouter()


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
