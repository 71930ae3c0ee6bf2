"""The run's report, as `apportion run --only report` has written it, with links to its sessions."""

from __future__ import annotations

import re

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from apportion.foundation.errors import InputError
from apportion.foundation.html.page import style_hash
from apportion.pipeline.report.page import MARK
from apportion.pipeline.report.sessions import marked
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.session_ref import slugs_by_session
from apportion.viewer.pages.links import REPORT, Links

router = APIRouter()
_MARK = re.compile(rf"<!--{MARK}:([0-9a-f]*)(?:\.(\d+))?-->(?:.*?<!--/{MARK}-->)?")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def html(run: ServedRun, links: Links) -> str:
    """The report with a link where it has left a place for one; without, where an older version has written it. Raises
    HTTPException: 404: the run has no report. InputError: it cannot be read.
    """
    path = run.place.folder / REPORT
    if not path.is_file():
        raise HTTPException(404, "This run has no report. Make one with `apportion run --only report`.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the report cannot be read ({error}). Run `apportion run --only report` again."
        ) from None
    slugs = {marked(session_id): slug for session_id, slug in slugs_by_session(run.index).items()}

    def link(found: re.Match[str]) -> str:
        if not found[1]:
            told = "All sessions, searched, played and compared"
            return Markup('<p class="note"><a href="{}">{}</a></p>').format(links.page("index"), told)
        if found[1] not in slugs:
            return found[0]
        address = links.session(slugs[found[1]], int(found[2]) if found[2] else None)
        return Markup('<p class="small"><a href="{}">Open in the viewer</a></p>').format(address)

    return _MARK.sub(link, text)


def policy(text: str) -> str:
    """What the report may load: its own style sheet, which is inside, and nothing else."""
    style = _STYLE.search(text)
    allowed = style_hash(style[1] if style else "")
    return (
        f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@router.get("/report")
def report_page(request: Request) -> HTMLResponse:
    """``GET /report``."""
    run: ServedRun = request.app.state.run
    run.look()
    text = html(run, Links("report"))
    return HTMLResponse(text, headers={"Content-Security-Policy": policy(text)})
