"""Labels: who labels what, and a session turn by turn. The methods' rewards are not even in the page at first."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.errors import InputError
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.session import SessionTables
from apportion.viewer.labels.label import SCALES, Label, Question, check_annotator, question_on, said_digest
from apportion.viewer.labels.label_store import Labels, Overlay
from apportion.viewer.pages.forms import form_token, read_form
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render
from apportion.viewer.pages.session import screen, session_of
from apportion.viewer.views.label_trust import what_labels_say
from apportion.viewer.views.label_view import (
    label_session,
    progress_view,
    question_view,
    sessions_to_label,
    turns_to_label,
)

router = APIRouter()
ENOUGH = EvaluationSettings().labelled_turns
Name = Annotated[str, Query(max_length=80)]
Slug = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True)
class Asked:
    """Who labels, which question, whether the methods' rewards are shown to them, the session they come from, and
    whether what teaches comes first.
    """

    who: str = ""
    ask: str = ""
    shown: bool = False
    session: str = ""
    teaching: bool = False


def html(run: ServedRun, links: Links, overlay: Overlay, token: str, asked: Asked, number: int, fault: str = "") -> str:
    """The first page: who labels what, and the sessions once that is known."""
    labels = overlay.labels()
    question = labels.questions.get(asked.ask)
    progress = None
    if asked.who and question is not None:
        sessions = sessions_to_label(run.index, labels, asked.who, question.name, teaching=asked.teaching)
        progress = progress_view(sessions, number, ENOUGH) | {"said": what_labels_say(run.index, labels, question.name)}
    return render(
        run, links, "label.html", asked=asked, token=token, fault=fault, progress=progress, enough=ENOUGH,
        question=None if question is None else question_view(question, labels), scales=SCALES,
        questions=[question_view(one, labels) for one in labels.questions.values()], overlay=str(overlay.path),
        typed=shlex.quote(str(overlay.path)),
    )  # fmt: skip


def session_html(run: ServedRun, links: Links, overlay: Overlay, token: str, asked: Asked, slug: str) -> str:
    """One session to label, and that its rewards are seen where they are shown. Raises HTTPException: 404: no such
    session or question; 422: nobody of that name can be noted to have seen the rewards.
    """
    tables = session_of(run, slug)
    if asked.shown:
        try:
            overlay.see(tables.session.session_id, asked.who)
        except InputError as error:  # What cannot be noted is not shown.
            raise HTTPException(422, str(error)) from None
    labels = overlay.labels()
    question = _question(labels, asked.ask)
    sessions = sessions_to_label(run.index, labels, asked.who, question.name, teaching=asked.teaching)
    place = next((i for i, one in enumerate(sessions) if one.slug == slug), 0)
    after = next((one for one in [*sessions[place + 1 :], *sessions[:place]] if not one.is_done), None)
    view = label_session(tables, labels, asked.who, question.name, shown=asked.shown)
    return render(
        run, links, "label_session.html", asked=asked, token=token, view=view, after=after,
        question=question_view(question, labels), seen=(tables.session.session_id, asked.who) in labels.seen,
        said=what_labels_say(run.index, labels, question.name),
        screens=[screen(run, links, slug, tables, player) for player in view.players],
    )  # fmt: skip


@router.get("/label")
def label_page(
    request: Request, who: Name = "", ask: Name = "", page_number: Annotated[int, Query(alias="page", ge=1)] = 1,
    session: Slug = "", shown: bool = False,
) -> HTMLResponse:  # fmt: skip
    """``GET /label``."""
    return page(
        request, "label", html, *_given(request), Asked(who, ask, shown, session, _teaching(request)), page_number
    )


@router.post("/label")
async def begin(request: Request) -> Response:
    """``POST /label``: who labels which question, and from which session on; a new question is kept."""
    fields = await read_form(request)
    overlay, token = _given(request)
    who, ask = fields.get("who", "").strip(), fields.get("ask", "")
    shown, session = fields.get("shown") == "true", fields.get("session", "")
    try:
        check_annotator(who)
        if not ask:
            question = _new_question(fields)
            await run_in_threadpool(overlay.ask, question)
            ask = question.name
        _question(overlay.labels(), ask)
    except InputError as error:
        run: ServedRun = request.app.state.run
        return HTMLResponse(
            html(run, Links("label"), overlay, token, Asked("", "", shown, session), 1, str(error)), 422
        )
    if not session:
        return RedirectResponse(Links("label").page("label", who=who, ask=ask), 303)
    here = Links("label").page(f"label/{quote(session, safe='')}", who=who, ask=ask, shown="true" if shown else None)
    return RedirectResponse(here, 303)


@router.get("/label/{slug}")
def label_session_page(request: Request, slug: str, who: Name = "", ask: Name = "", shown: bool = False) -> Response:
    """``GET /label/SLUG``."""
    here = f"label/{slug}"
    if not who or not ask:
        return RedirectResponse(Links(here).page("label", session=slug, shown="true" if shown else None), 303)
    return page(request, here, session_html, *_given(request), Asked(who, ask, shown, "", _teaching(request)), slug)


@router.post("/label/{slug}")
async def save(request: Request, slug: str) -> Response:
    """``POST /label/SLUG``: keep a label. The answer says so when it is on the disk, not before."""
    fields = await read_form(request)
    overlay, _ = _given(request)
    run: ServedRun = request.app.state.run
    try:
        label = await run_in_threadpool(_label, run, overlay, slug, fields)
        await run_in_threadpool(overlay.add, label)
    except InputError as error:
        raise HTTPException(422, str(error)) from None
    labels = overlay.labels()
    done = label_session(session_of(run, slug), labels, label.annotator, label.name, shown=False)
    said = await run_in_threadpool(_tell, request, labels, label.name) if done.labelled == done.target_turns else []
    if "application/json" in request.headers.get("accept", ""):
        answer = {"saved": True, "labelled": done.labelled, "lines": labels.lines}
        return JSONResponse(answer | ({"said": said[0]} if said else {}))
    asked = {"who": label.annotator, "ask": label.name, "shown": "true" if fields.get("shown") == "true" else None}
    return RedirectResponse(f"{Links(f'label/{slug}').page(f'label/{slug}', **asked)}#turn-{label.turn}", 303)


def _tell(request: Request, labels: Labels, name: str) -> list[str]:
    """What is known once a session is labelled whole; the terminal is told, too, unless it was told the same."""
    state = request.app.state
    said = what_labels_say(state.run.index, labels, name)
    if said != state.told:
        state.told = said
        for line in said:
            state.say(line)
    return said


def _given(request: Request) -> tuple[Overlay, str]:
    state = request.app.state
    return state.beside.overlay, form_token(state.access)


def _teaching(request: Request) -> bool:
    return bool(request.app.state.beside.teaching)


def _question(labels: Labels, name: str) -> Question:
    if name not in labels.questions:
        raise HTTPException(404, "Nothing is asked by that name. Begin on the page Label.")
    return labels.questions[name]


def _new_question(fields: Mapping[str, str]) -> Question:
    """The question that a person has put together: a scale by its name, or one of their own."""
    name, asks = fields.get("name", "").strip(), fields.get("asks", "").strip()
    scale = fields.get("scale", "")
    if scale != "own":
        return question_on(scale, name, asks)
    low, high, step = (_number(fields.get(end, ""), end) for end in ("low", "high", "step"))
    return Question(name or "landing", asks or question_on("thumbs").asks, low, high, step, "badly", "well")


def _label(run: ServedRun, overlay: Overlay, slug: str, fields: Mapping[str, str]) -> Label:
    tables, labels = session_of(run, slug), overlay.labels()
    question, who = _question(labels, fields.get("ask", "")), check_annotator(fields.get("who", ""))
    turn = _turn(tables, fields.get("turn", ""))
    given = fields.get("value", "")
    said = next(one for one in tables.session.turns if one.turn == turn)
    return Label(
        session_id=tables.session.session_id,
        turn=turn,
        said=said_digest(said.speaker, said.text),
        annotator=who,
        name=question.name,
        value=question.checked(_number(given, "value")) if given else None,
        low=question.low,
        high=question.high,
        blind=fields.get("shown") != "true" and (tables.session.session_id, who) not in labels.seen,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _turn(tables: SessionTables, text: str) -> int:
    turns = turns_to_label(tables)
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 12 and int(text) in turns):
        raise InputError(f"turn {text!r:.40} is none of this session's that can be labelled.")
    return int(text)


def _number(text: str, called: str) -> float:
    try:
        value = float(text) if len(text) <= 40 else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{called}: {text!r:.40} is no number.")
    return value
