"""The page of one session, the evidence of one of its turns, and its behaviour over time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse

from apportion.features.media_io.media import locate
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.html.text import clean
from apportion.pipeline.results.run_folder import session_file_name
from apportion.viewer.data.recordings import sound_of
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.session import SessionTables, read_session, with_labels
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render
from apportion.viewer.views.session.axis import axis_of
from apportion.viewer.views.session.evidence import evidences
from apportion.viewer.views.session.people import Player, Screen
from apportion.viewer.views.session.tracks import COLUMNS, TrackGroup, tracks_of
from apportion.viewer.views.session.view import Chosen, SessionQuery, choose, session_view

router = APIRouter()
PROBLEM = 600
"""Most characters of why a recording cannot be played: they hold the name of its file."""
MORE = Annotated[list[str], Query(max_length=20)]


def html(run: ServedRun, links: Links, overlay: Overlay, slug: str, asked: SessionQuery) -> str:
    """The page of the session that ``slug`` names.

    People's labels are the corpus's own and the overlay's. In a bundle, which cannot be asked for more, everything that
    is folded is on the page.

    Raises HTTPException: 404: the run has no session of that name.
    """
    tables = _labelled(session_of(run, slug), overlay)
    chosen = choose(tables, asked.rating, _order(run))
    asked = replace(asked, rating=chosen.number)
    view = session_view(tables, chosen, asked, run.index.fact("method") or "", _training_mean(run))
    known = [turn.turn for turn in tables.session.turns]
    turns = known if links.bundled else [turn for turn in known if turn == asked.turn]
    return render(
        run, links, "session.html",
        view=view,
        asked=asked,
        screens=[screen(run, links, slug, tables, player) for player in view["players"]],
        evidence=evidences(tables, chosen.episode, chosen.series, chosen.people, turns),
        groups=_tracks(run, tables, chosen) if asked.tracks or links.bundled else (),
    )  # fmt: skip


def evidence_html(run: ServedRun, links: Links, overlay: Overlay, slug: str, turn: int, rating: int) -> str:
    """What is behind one turn, as a part of the session's page. Raises HTTPException: 404: no such session, no such
    turn.
    """
    tables = _labelled(session_of(run, slug), overlay)
    if turn not in {one.turn for one in tables.session.turns}:
        raise HTTPException(404, f"This session has no turn {turn}.")
    chosen = choose(tables, rating, _order(run))
    known = evidences(tables, chosen.episode, chosen.series, chosen.people, [turn])
    return render(run, links, "session_evidence.html", evidence=known[turn])


def tracks_html(run: ServedRun, links: Links, slug: str) -> str:
    """The session's behaviour over time, as a part of its page; 404 as `html` has it."""
    tables = session_of(run, slug)
    return render(run, links, "session_tracks.html", groups=_tracks(run, tables, choose(tables, 0, ())))


def session_of(run: ServedRun, slug: str) -> SessionTables:
    """The session that ``slug`` names; an HTTPException (404) where the run has none of that name."""
    tables = read_session(run.index, slug)
    if tables is None:
        raise HTTPException(404, "This run has no such session.")
    return tables


def _labelled(tables: SessionTables, overlay: Overlay) -> SessionTables:
    """The session with the labels beside the run; where those cannot be read, the page says so and shows the rest."""
    try:
        return with_labels(tables, overlay.labels().standing.values())
    except InputError as error:
        return replace(tables, quarantine=(*tables.quarantine, {"stage": "labels", "cause": str(error)}))


def _order(run: ServedRun) -> list[str]:
    """The run's methods, that of the list first."""
    methods: list[str] = json.loads(run.index.fact("methods") or "[]")
    first = run.index.fact("method") or ""
    return sorted(methods, key=lambda name: name != first)


def _training_mean(run: ServedRun) -> float | None:
    value: float | None = json.loads(run.index.fact("training_mean") or "null")
    return value


def _tracks(run: ServedRun, tables: SessionTables, chosen: Chosen) -> tuple[TrackGroup, ...]:
    path = run.place.folder / "frames" / f"{session_file_name(tables.session.session_id)}.parquet"
    try:
        frames = _batches(path) if path.is_file() else None
        return tracks_of(frames, tables.utterance_features, axis_of(tables.session), chosen.people, tables.events)
    except (OSError, KeyError, pa.ArrowException) as error:
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise UnitError(f"{path}: not a readable table ({cause}). Run `apportion run` again.") from None


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a table of frames, never all at once."""
    with pq.ParquetFile(path, read_dictionary=["person", "feature"]) as file:
        yield from file.iter_batches(columns=list(COLUMNS))


def screen(run: ServedRun, links: Links, slug: str, tables: SessionTables, player: Player) -> Screen:
    """A player as a page has it: where its recording is, or why there is none."""
    address = links.media(slug, player.number)
    if not address:
        return Screen(player, problem="recordings are not in this copy")
    media = tables.session.media[player.number]
    try:
        locate(run.place.corpus, media.path)
    except UnitError as error:
        return Screen(player, problem=clean(str(error), PROBLEM))
    if not links.bundled:
        return Screen(player, address, peaks=f"{address}/peaks")
    try:
        return Screen(player, address, sound=sound_of(run.place.corpus, media))
    except UnitError:  # It can be played by nobody, or by the browser alone: then there is no wave.
        return Screen(player, address)


@router.get("/session/{slug}")
def session_page(
    request: Request,
    slug: str,
    more: MORE = [],  # noqa: B006 (FastAPI copies it)
    rating: int = 0,
    method: str = "",
    turn: int | None = None,
    tracks: bool = False,
) -> HTMLResponse:
    """``GET /session/SLUG``."""
    asked = SessionQuery(rating, method, tuple(more), turn, tracks)
    return page(request, f"session/{slug}", html, request.app.state.beside.overlay, slug, asked)


@router.get("/session/{slug}/turn/{turn}")
def evidence_part(request: Request, slug: str, turn: int, rating: int = 0) -> HTMLResponse:
    """``GET /session/SLUG/turn/N``: a part of a page."""
    return page(request, f"session/{slug}", evidence_html, request.app.state.beside.overlay, slug, turn, rating)


@router.get("/session/{slug}/tracks")
def tracks_part(request: Request, slug: str) -> HTMLResponse:
    """``GET /session/SLUG/tracks``: a part of a page."""
    return page(request, f"session/{slug}", tracks_html, slug)
