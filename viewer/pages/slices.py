"""What costs us: the kinds of turn that the run found in the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from apportion.corpus.session import EpisodeKey
from apportion.evaluation.error_slices.result import FAMILIES
from apportion.foundation.html.text import clean, number, signed
from apportion.foundation.svg import interval_drawing
from apportion.foundation.tables.numbers import NO_FIGURE, p_value
from apportion.pipeline.error_slices.run_slices import read_slices
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.data.index import slug_of
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.session_ref import places_by_episode, slugs_by_session
from apportion.viewer.pages.links import Links
from apportion.viewer.pages.render import page, render

NAME, LINE = 120, 400


Shown = Callable[[Mapping[str, Any]], dict[str, Any]]
"""What makes an example of a file one that is shown."""


def slices_view(
    found: Mapping[str, Mapping[str, Any]],
    wanted: str,
    usual: str,
    slugs: Mapping[str, str],
    places: Mapping[EpisodeKey, int],
) -> dict[str, Any]:
    """The page of the method ``wanted``, else of ``usual``, else of the first that has kinds.

    ``found``: as `read_slices` gives it. ``slugs``: the part of an address that stands for
    each session of the run. ``places``: the number of each episode on its session's page.
    """
    methods = tuple(sorted(found))
    telling = next((name for name in methods if found[name].get("kinds")), methods[0] if methods else "")
    method = next((name for name in (wanted, usual) if name in found), telling)
    nothing = {"method": method, "methods": methods, "colour": "", "summary": "", "dear": (), "good": (), "reason": ""}
    if not methods:
        return nothing
    nothing["colour"] = colour_class(method)
    try:
        return nothing | _view(found[method], lambda example: _example(example, slugs, places))
    except (KeyError, TypeError, ValueError, AttributeError):
        return nothing | {"reason": "What was found is damaged. Run `apportion run` again."}


def _view(document: Mapping[str, Any], shown_example: Shown) -> dict[str, Any]:
    first, second = (int(count) for count in document["sessions"])
    kinds = document["kinds"]
    ends = [abs(float(end)) for kind in kinds for end in _ends(kind["difference"])]
    widest = max(ends, default=0.0) or 1.0
    shown = [(float(kind["difference"]["value"]), _kind(kind, widest, shown_example)) for kind in kinds]
    turns, tried, stood_out = sum(document["turns"]), document["tried"], document["candidates"]
    summary = (
        f"{turns:,} turns of {first + second:,} sessions. Of {tried} kinds that were looked at in {first:,} sessions, "
        f"{stood_out} stood out; {len(kinds) or 'none'} of them held in the other {second:,}."
    )
    return {
        "summary": "" if document["reason"] else summary,
        "fewest": f"{document['settings']['fewest_sessions']:g}",
        "most": f"{document['settings']['alpha']:.0%}",
        "half": f"{min(first, second):,}",
        "dear": tuple(view for value, view in shown if value < 0),
        "good": tuple(view for value, view in reversed(shown) if value >= 0),
        "reason": clean(str(document["reason"] or ""), LINE),
    }


def _kind(kind: Mapping[str, Any], widest: float, shown_example: Shown) -> dict[str, Any]:
    difference, share, score = kind["difference"], kind["sessions"], kind["score"]
    low, high = _ends(difference)
    told = []
    if kind["named"] is not None:
        told.append(
            f"{kind['named']:.0%} of its turns hold one of these words, {kind['named_elsewhere']:.0%} of all others do"
        )
    if kind["mostly"]:
        told.append("mostly: " + ", ".join(clean(str(name), NAME) for name in kind["mostly"]))
    return {
        "name": clean(str(kind["name"]), NAME),
        "family": FAMILIES[kind["family"]],
        "difference": signed(float(difference["value"])),
        "interval": interval_drawing(float(difference["value"]), low, high, widest),
        "ends": f"{signed(low)} to {signed(high)}",
        "p": p_value(float(kind["p"])),
        "share": f"{share['value']:.0%}",
        "share_ends": "" if share["low"] is None else f"{share['low']:.0%} to {share['high']:.0%}",
        "turns": f"{int(kind['turns']):,}",
        "reward": number(float(kind["reward"])),
        "score": NO_FIGURE if score is None else _score(score),
        "told": tuple(told),
        "examples": tuple(shown_example(example) for example in kind["examples"]),
    }


def _score(score: Mapping[str, Any]) -> str:
    low, high = _ends(score)
    return f"{signed(float(score['value']))} ({signed(low)} to {signed(high)})"


def _example(example: Mapping[str, Any], slugs: Mapping[str, str], places: Mapping[EpisodeKey, int]) -> dict[str, Any]:
    session_id = str(example["session_id"])
    key = (session_id, str(example["rater"]), str(example["target"]), str(example["name"]))
    return {
        "session_id": clean(session_id, NAME),
        "slug": slugs.get(session_id) or slug_of(session_id),
        "place": places.get(key, 0),
        "turn": int(example["turn"]),
        "text": clean(str(example["text"]), LINE),
        "reward": signed(float(example["reward"])),
    }


def _ends(estimate: Mapping[str, Any]) -> tuple[float, float]:
    value = float(estimate["value"])
    low, high = estimate["low"], estimate["high"]
    return (value if low is None else float(low), value if high is None else float(high))


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
