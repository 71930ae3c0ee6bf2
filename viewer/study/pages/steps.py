"""Which page comes next for an annotator."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import RedirectResponse

from apportion.viewer.pages.links import Links
from apportion.viewer.study.serving import Serving, ServingHere, Visitor, VisitorHere

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
