"""The whole list of sessions for a bundle, as a script: a page from a disk can load one, and ask for nothing else."""

from __future__ import annotations

import json
from typing import Any

from apportion.viewer.data.listing import Listing, Query, Row, listing
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.serialization import unpack
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import templates
from apportion.viewer.views.list_view import COLUMNS, row_view

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
    first: Listing = listing(run.index, Query(method=method))
    for number in range(1, first.page.pages + 1):
        for row in listing(run.index, Query(method=method, page=number)).rows:
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
