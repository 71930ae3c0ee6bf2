"""Recordings as a browser plays them: any part of a file, and how loud it is over time.

An address names a session and the number of a row of its ``media``, never a file: no address leads out of the corpus.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, Response

from apportion.corpus.session import Media
from apportion.features.media_io.media import locate
from apportion.foundation.errors import UnitError
from apportion.viewer.data.recordings import content_type, sound_of
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.session import session_of
from apportion.viewer.views.session.people import PLAYED

router = APIRouter()


@router.api_route("/media/{slug}/{number}", methods=["GET", "HEAD"])
def media_file(request: Request, slug: str, number: int) -> Response:
    """``GET /media/SLUG/NUMBER``: the recording, or the ranges of it that are asked for (416 past its end)."""
    path, _ = _recording(request, slug, number)
    return FileResponse(path, media_type=content_type(path), headers={"Content-Disposition": "inline"})


@router.get("/media/{slug}/{number}/peaks")
def media_peaks(request: Request, slug: str, number: int) -> Response:
    """``GET /media/SLUG/NUMBER/peaks``: how loud it is over time; 204 where it has no sound."""
    _, media = _recording(request, slug, number)
    run: ServedRun = request.app.state.run
    try:
        sound = sound_of(run.place.corpus, media)
    except UnitError as error:
        raise HTTPException(404, str(error)) from None
    return Response(sound, media_type="application/json") if sound else Response(status_code=204)


def _recording(request: Request, slug: str, number: int) -> tuple[Path, Media]:
    run: ServedRun = request.app.state.run
    tables = session_of(run, slug)
    media = tables.session.media[number] if 0 <= number < len(tables.session.media) else None
    if media is None or media.kind not in PLAYED:
        raise HTTPException(404, "This session has no such recording.")
    try:
        return locate(run.place.corpus, media.path), media
    except UnitError as error:
        raise HTTPException(404, str(error)) from None
