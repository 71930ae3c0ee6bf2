"""What costs us: the kinds of turn that the run found in the run."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from apportion.pipeline.error_slices.run_slices import read_slices
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.session_ref import places_by_episode, slugs_by_session
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render
from apportion.viewer.views.slices_view import slices_view

router = APIRouter()


def html(run: ServedRun, links: Links, method: str = "") -> str:
    """The page by ``method``, or by the run's usual one."""
    found = read_slices(run.place.folder)
    slugs, places = slugs_by_session(run.index), places_by_episode(run.index)
    view = slices_view(found, method, run.index.fact("method") or "", slugs, places)
    return render(run, links, "slices.html", view=view)


@router.get("/slices")
def slices_page(request: Request, method: str = "") -> HTMLResponse:
    """``GET /slices``."""
    return page(request, "slices", html, method)
