"""An item: shown, answered, and confirmed once the answer is committed."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from apportion.study.design.items import Item
from apportion.study.design.items import Response as Answered
from apportion.study.design.randomization import lettered
from apportion.study.rows import AnswerRow
from apportion.study.store.rows import Answer, StaleError
from apportion.viewer.pages.links import Links
from apportion.viewer.study.pages.entry import next_page, on
from apportion.viewer.study.serving import FormHere, Serving, ServingHere, Visitor, VisitorHere, check_form, shown
from apportion.viewer.study.views import (
    MOST_LOST,
    MOST_SECONDS,
    AnswerForm,
    SubmittedAnswers,
    blocks_of,
    given_in,
    item_view,
)

router = APIRouter()
NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Asked:
    """An item as one annotator is asked about it: the ``number``-th of ``of``, ``practice`` of which come first."""

    item: Item
    responses: tuple[Answered, ...]
    number: int
    of: int
    practice: int

    @property
    def is_practice(self) -> bool:
        """Whether it counts for nothing."""
        return self.number <= self.practice

    @property
    def here(self) -> str:
        """The page's place."""
        return f"item/{self.number}"


@router.get("/item/{number}")
def item_page(request: Request, number: int, serving: ServingHere, visitor: VisitorHere, saved: int = 0) -> Response:
    """``GET /item/N``: the N-th item of the annotator, with what has been saved of it. ``saved``: one to confirm."""
    asked = _asked(serving, visitor, number)
    if isinstance(asked, Response):
        return asked
    kept = serving.store.answer_of(visitor.id, asked.item.item)
    given = SubmittedAnswers() if kept is None else SubmittedAnswers(kept.answers, kept.reason)
    confirmed = saved if _is_saved(serving, visitor, saved) else 0
    return _page(request, serving, visitor, asked, given, kept, confirmed=confirmed)


@router.post("/item/{number}")
def save(request: Request, number: int, form: FormHere, serving: ServingHere, visitor: VisitorHere) -> Response:
    """``POST /item/N``: keep an answer. The next page says that it is saved when it is committed, not before."""
    check_form(form, visitor.token)
    asked = _asked(serving, visitor, number)
    if isinstance(asked, Response):
        return asked
    name, nonce, revision = asked.item.item, form.one("nonce"), form.number("revision", 1e9)
    if form.one("item") != name or not NONCE.fullmatch(nonce) or revision is None:
        raise HTTPException(400, "The form cannot be read. Open the page again.")
    given = given_in(form, asked.item, asked.responses, serving.study.criteria)
    kept: AnswerRow | None
    if given.faults:
        kept = serving.store.answer_of(visitor.id, name)
        return _page(request, serving, visitor, asked, given, kept, form=form, status=422)
    answer = Answer(given.answers, given.reason, *_spent(form))
    try:
        kept = serving.store.save(visitor.id, name, answer, int(revision), nonce)
    except StaleError as error:
        kept = error.now
    if kept is None or not _is_same(
        kept, given
    ):  # Another tab was first, or a page from before was sent again with another answer.
        return _page(request, serving, visitor, asked, given, kept, form=form, status=409)
    return on(serving, visitor, asked.here, saved=number)


def _asked(serving: Serving, visitor: Visitor, number: int) -> Asked | Response:
    """The item; or the way to where somebody is who has not begun, or has finished."""
    here = f"item/{number}"
    following = next_page(serving, visitor)
    if not following.startswith("item/"):
        return RedirectResponse(Links(here).page(following), 303)
    sequence = serving.store.places(visitor.id)
    if not 1 <= number <= len(sequence):
        raise HTTPException(404, f"You have {len(sequence)} items, and there is no item {number} among them.")
    if number > int(following.removeprefix("item/")):  # One after the other: what comes later is seen later.
        return RedirectResponse(Links(here).page(following), 303)
    study = serving.study
    item = study.items[sequence[number - 1]]
    responses = lettered(visitor.id, study.settings.seed, item)
    return Asked(item, responses, number, len(sequence), len(study.settings.practice))


def _is_saved(serving: Serving, visitor: Visitor, number: int) -> bool:
    sequence = serving.store.places(visitor.id)
    return 1 <= number <= len(sequence) and serving.store.answer_of(visitor.id, sequence[number - 1]) is not None


def _is_same(kept: AnswerRow, given: SubmittedAnswers) -> bool:
    """Whether what is saved is what was sent; the order of marks says nothing."""
    plain = {name: sorted(value) if isinstance(value, list) else value for name, value in given.answers.items()}
    return dict(kept.answers) == plain and kept.reason == given.reason


def _page(
    request: Request,
    serving: Serving,
    visitor: Visitor,
    asked: Asked,
    given: SubmittedAnswers,
    kept: AnswerRow | None,
    form: AnswerForm | None = None,
    confirmed: int = 0,
    status: int = 200,
) -> Response:
    study = serving.study
    view = item_view(asked.item, asked.responses, study.criteria, given)
    other = (
        item_view(asked.item, asked.responses, study.criteria, SubmittedAnswers(kept.answers))
        if kept is not None
        else None
    )
    return shown(
        request, asked.here, "item.html", status, asked=asked, view=view, given=given, kept=kept, kept_view=other,
        stale=status == 409, reason=study.criteria.reason, confirmed=confirmed, token=visitor.form_token,
        nonce=secrets.token_hex(16), revision=0 if kept is None else kept.revision,
        opened=_opened(form), spent=_spent(form) if form else (0.0, 0), instructions=blocks_of(study.instructions),
        own_link=f"{serving.address}/a/{visitor.token}",
    )  # fmt: skip


def _spent(form: AnswerForm) -> tuple[float, int]:
    """Seconds and losses of focus on this page; without scripts, the seconds since it was first opened."""
    seconds = form.number("seconds", MOST_SECONDS)
    if seconds is None:
        seconds = min(max(0.0, time.time() - _opened(form)), MOST_SECONDS)
    return round(seconds, 1), int(form.number("lost", MOST_LOST) or 0)


def _opened(form: AnswerForm | None) -> int:
    """When the page was first opened (seconds since 1970), as it says itself where it comes back with a fault."""
    return int((form.number("opened", 1e12) if form else None) or time.time())
