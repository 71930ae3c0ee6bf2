"""The list of sessions: the viewer's first page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from apportion.foundation.html.text import clean, number, plain, seconds, signed
from apportion.foundation.svg import meter, session_bars
from apportion.foundation.tables.numbers import NO_FIGURE
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.data.index import Index, composed, decomposed, pattern_of, unpack
from apportion.viewer.data.listing import Listing, Row, listing
from apportion.viewer.data.listing import Query as ListQuery
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render, templates

NAME, LINE = 80, 200


@dataclass(frozen=True)
class Column:
    """A column: its key in `viewer.data.listing.SORTS`, its title, what it says; ``down``: large ones first."""

    key: str
    title: str
    says: str
    down: bool = False


COLUMNS = (
    Column("session", "Session", "The session's id, and who rated whom"),
    Column("score", "Score", "The score that its rewards share out; larger is better"),
    Column("sum", "Turn rewards", "One bar a turn of the chosen method; sorted by their sum"),
    Column("lowest", "Lowest turn", "The turn with the smallest reward by the chosen method"),
    Column("disagreement", "Disagreement", "Pairs of turns that two methods put the other way round", down=True),
    Column(
        "residual", "Sum residual", "What was missing from the score in the sum of the method's own values", down=True
    ),
    Column("length", "Turns", "Turns of all speakers, and the session's length", down=True),
    Column("split", "Split", "What the session was used for"),
    Column("warnings", "Warnings", "What failed, was skipped or is missing", down=True),
)


def list_view(index: Index, query: ListQuery) -> dict[str, Any]:
    """What a query gives, as it is shown."""
    facts = index.facts()
    methods = tuple(json.loads(facts["methods"]))
    method = query.method if query.method in methods else facts["method"]
    query = ListQuery(**{**query.__dict__, "method": method})
    result: Listing = listing(index, query)
    wanted = pattern_of(query.text)
    return {
        "query": query,
        "rows": tuple(row_view(row, method, wanted) for row in result.rows),
        "page": result.page,
        "sessions": int(facts["sessions"]),
        "methods": methods,
        "splits": tuple(json.loads(facts["splits"])),
        "warnings": tuple(clean(text, 1000) for text in json.loads(facts["warnings"])),
        "notes": tuple(clean(text, 1000) for text in json.loads(facts["notes"])),
    }


def row_view(row: Row, method: str, wanted: re.Pattern[str] | None) -> dict[str, Any]:
    """A line of the list, its rewards by ``method``; what is ``wanted`` is marked in its excerpt."""
    scored = row.score is not None and row.low is not None and row.high is not None
    label = f"{clean(method, NAME)}: {len(row.spark)} turns, sum {number(row.total)}" if row.spark else ""
    return {
        "session_id": clean(row.session_id, NAME),
        "slug": row.slug,
        "place": row.place,
        "rated": _rated(row),
        "score": plain(row.score) if row.score is not None else "",
        "score_meter": meter(row.score, row.low, row.high) if scored else Markup(""),  # type: ignore[arg-type]
        "spark": session_bars(row.spark, colour_class(method), label) if row.spark else Markup(""),
        "total": signed(row.total) if row.total is not None else "",
        "lowest": signed(row.lowest) if row.lowest is not None else "",
        "lowest_turn": row.lowest_turn,
        "lowest_text": clean(row.lowest_text or "", LINE),
        "disagreement": f"{row.disagreement:.0%}" if row.disagreement is not None else NO_FIGURE,
        "residual": signed(row.residual) if row.residual is not None else NO_FIGURE,
        "turns": row.turns,
        "duration": seconds(row.duration_s),
        "split": clean(row.split or "", NAME),
        "warnings": tuple(clean(text, LINE) for text in row.warnings),
        "excerpt": _excerpt(row.excerpt, wanted) if row.excerpt and wanted else None,
    }


def _excerpt(excerpt: tuple[int, str, str], wanted: re.Pattern[str]) -> tuple[int, str, Markup]:
    turn, speaker, text = excerpt
    text = decomposed(clean(text, LINE))
    marked, end = Markup(), 0
    for match in wanted.finditer(text):
        marked += composed(text[end : match.start()]) + Markup("<mark>{}</mark>").format(composed(match[0]))
        end = match.end()
    return turn, clean(speaker, NAME), marked + composed(text[end:])


def _rated(row: Row) -> str:
    if row.rater is None or row.target is None:
        return ""
    if not row.name:  # Nobody gave a score (`apportion.corpus.targets`).
        return f"turns of {clean(row.target, NAME)}"
    return f"{clean(row.rater, NAME)} → {clean(row.target, NAME)}"


router = APIRouter()
MOST_TEXT = 500


def html(run: ServedRun, links: Links, query: ListQuery) -> str:
    """The page of the list that ``query`` asks for."""
    view = list_view(run.index, query)
    return render(run, links, "sessions.html", view=view, columns=COLUMNS)


@router.get("/")
def sessions_page(
    request: Request,
    q: Annotated[str, Query(max_length=MOST_TEXT)] = "",
    method: str = "",
    split: str = "",
    only: str = "",
    sort: str = "session",
    page_number: Annotated[int, Query(alias="page", ge=1, le=10**6)] = 1,
) -> HTMLResponse:
    """``GET /``: the list; ``sort`` is a column's key, after a ``-`` the large ones first."""
    return page(
        request,
        "index",
        html,
        ListQuery(q, method, split, only, sort.removeprefix("-"), sort.startswith("-"), page_number),
    )


GLOBAL = "apportionSessions"
"""What the page's script calls it (static/sessions_on_disk.js)."""


def sessions_data(run: ServedRun, links: Links) -> str:
    """Every line of the list as HTML, what it is sorted and filtered by, and all that was said.

    ``links`` are those of the list's first page. Only ASCII, and no key that comes from outside: an object of a script
    takes ``__proto__`` for its prototype.
    """
    method = run.index.fact("method") or ""
    row_of = templates().get_template("sessions_row.html").make_module().listed  # type: ignore[attr-defined]
    places: dict[str, int] = {}
    rows = []
    first: Listing = listing(run.index, ListQuery(method=method))
    for at in range(1, first.page.pages + 1):
        for row in listing(run.index, ListQuery(method=method, page=at)).rows:
            html = str(row_of(links, row_view(row, method, None), "", method))
            talk = places.setdefault(row.slug, len(places))
            rows.append([html, talk, row.split or "", bool(row.warnings), [_key(row, one.key) for one in COLUMNS]])
    told = {"columns": [column.key for column in COLUMNS], "rows": rows, "talks": _talks(run, places)}
    return f"window.{GLOBAL} = {json.dumps(told, separators=(',', ':'))};\n"


def _key(row: Row, column: str) -> Any:
    """What a column is sorted by, as `apportion.viewer.data.listing.SORTS` has it."""
    if column == "residual":
        return None if row.residual is None else abs(row.residual)
    values = {"session": row.session_id, "sum": row.total, "length": row.turns, "warnings": len(row.warnings)}
    return values[column] if column in values else getattr(row, column)


def _talks(run: ServedRun, places: dict[str, int]) -> list[list[Any]]:
    """By place: the id, and each turn's number, speaker and text."""
    talks: list[list[Any]] = [[] for _ in places]
    with run.index.connect() as connection:
        rows = connection.execute(
            "SELECT session_id, slug, columns FROM sessions JOIN packed ON packed.session = sessions.id "
            "WHERE packed.name = 'session'"
        )
        for session_id, slug, blob in rows:
            if slug in places:
                turns = [[turn[0], turn[1], turn[2]] for turn in unpack(blob)[0]["turns"]]
                talks[places[slug]] = [session_id, turns]
    return talks
