"""One self-contained HTML page of everything that a run made: no script, no request to anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.schema import REWARDS
from apportion.corpus.session import Episode
from apportion.evaluation.evaluation import Evaluation, PairedDifference
from apportion.evaluation.table import TITLES, Grid, footnotes, grids, read
from apportion.foundation.tables.numbers import NO_FIGURE
from apportion.pipeline.report.bars import colour_class
from apportion.pipeline.report.curves import stage_charts
from apportion.pipeline.report.mixes import mixes
from apportion.pipeline.report.sessions import session_views
from apportion.pipeline.report.text import clean, number, signed

MAX_QUARANTINE = 200
MAX_SAMPLES = 50
CAUSE_LIMIT = 2000
MARK = "apportion-viewer"
"""Begins a comment in whose place the viewer puts a link: to the session whose `marked` id stands there, or to all.

What follows up to a comment of the same name with a slash is what a reader without the viewer needs instead."""


@dataclass(frozen=True)
class Sample:
    """One context with the policy's reply before and after its training, and what the reward model gave them."""

    context: str
    before: str
    after: str
    reward_before: float | None
    reward_after: float | None


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """What a report is made of.

    - ``rating``: its name.
    - ``evaluation``: the document of ``evaluation.json``.
    - ``rewards``: REWARDS schema, all methods and seeds.
    - ``splits``: SPLITS schema.
    - ``descriptors``: DESCRIPTORS schema; None where nothing was recorded.
    - ``sources``: SOURCES schema; None where no method mixes.
    - ``histories``: training curves: columns stage, method, seed, step, metric, value.
    - ``quarantine``: one a failed or blocked unit: stage, session_id, unit, status, cause.
    - ``warnings``: on the corpus as a whole.
    - ``config``: the configuration as text.
    - ``versions``: package to version.
    - ``notes``: what the reader has to know of the data: that it is synthetic, that replies were recorded.
    - ``audit``: the fields of ``apportion.evaluation.robustness.table.StabilityTable``; None where nothing was audited.
    - ``missing``: what a reader would look for and the run does not have, and why.
    - ``unfinished``: stages whose training failed, so that ``histories`` shows it up to there.
    """

    rating: str
    evaluation: Mapping[str, Any] | None
    rewards: pa.Table | None
    episodes: Sequence[Episode]
    splits: pa.Table
    descriptors: pa.Table | None = None
    sources: pa.Table | None = None
    histories: pa.Table | None = None
    samples: Sequence[Sample] = ()
    quarantine: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()
    config: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    audit: Mapping[str, Any] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    unfinished: Collection[str] = ()


def render_report(inputs: ReportInputs) -> str:
    """The page as text; equal inputs give equal text.

    Every string from outside is escaped, and the page's own policy forbids scripts and requests.
    """
    evaluation = read(inputs.evaluation) if inputs.evaluation is not None else None
    rewards = REWARDS.arrow.empty_table() if inputs.rewards is None else inputs.rewards
    methods: list[str] = sorted(pc.unique(rewards["method"]).to_pylist())
    colours = {method: colour_class(method) for method in methods}
    style = _source("tokens.css") + _source("page.css")
    values = {
        "mark": MARK,
        "style": style,
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "rating": clean(inputs.rating, 80),
        "facts": _facts(inputs, methods),
        "notes": [clean(note, 1000) for note in inputs.notes],
        "warnings": [
            clean(text, 1000)
            for text in dict.fromkeys((*inputs.warnings, *(evaluation.warnings if evaluation else ())))
        ],
        "missing": [(title, clean(why, CAUSE_LIMIT)) for title, why in inputs.missing.items()],
        "grids": [_with_minus(grid) for grid in grids(evaluation)] if evaluation else [],
        "footnotes": footnotes(evaluation) if evaluation else (),
        "comparisons": _comparisons(evaluation) if evaluation else [],
        "colours": {clean(method, 60): colour for method, colour in colours.items()},
        "sessions": session_views(inputs.episodes, rewards, inputs.splits, colours),
        "mixes": mixes(inputs.sources),
        "training": stage_charts(inputs.histories, colours, inputs.unfinished),
        "audit": _audit(inputs.audit) if inputs.audit else None,
        "samples": [_sample(sample) for sample in inputs.samples[:MAX_SAMPLES]],
        "samples_in_all": len(inputs.samples),
        "quarantine": [_quarantined(row) for row in inputs.quarantine[:MAX_QUARANTINE]],
        "quarantine_in_all": len(inputs.quarantine),
        "config": clean(inputs.config, 100_000),
        "versions": sorted(inputs.versions.items()),
    }
    return _environment().get_template("page.html").render(values)


@cache
def _environment() -> jinja2.Environment:
    names = ("page.html", "session.html")
    return jinja2.Environment(
        loader=jinja2.DictLoader({name: _source(name) for name in names}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(name: str) -> str:
    return files("apportion.pipeline.report").joinpath(name).read_text(encoding="utf-8")


def _facts(inputs: ReportInputs, methods: Sequence[str]) -> list[tuple[str, str]]:
    """The size of the run in a few words."""
    sessions = {episode.session_id for episode in inputs.episodes}
    turns = sum(len(episode.target_turns) for episode in inputs.episodes)
    unrated = sum(session_id not in sessions for session_id in inputs.splits["session_id"].to_pylist())
    described = 0 if inputs.descriptors is None else _turns_of(inputs.descriptors)
    return [
        ("sessions", f"{len(sessions):,}"),
        *([("sessions without a score", f"{unrated:,}")] if unrated else []),
        ("scores", f"{sum(episode.is_rated for episode in inputs.episodes):,}"),
        ("credited turns", f"{turns:,}"),
        *([("turns with behaviour in words", f"{described:,}")] if described else []),
        ("methods", f"{len(methods):,}"),
    ]


def _turns_of(table: pa.Table) -> int:
    """How many turns have a row."""
    return int(table.group_by(["session_id", "turn"]).aggregate([]).num_rows)


def _with_minus(grid: Grid) -> Grid:
    """The same figures with a real minus sign, as everywhere on the page."""
    return replace(grid, rows=tuple((name, *(cell.replace("-", "−") for cell in cells)) for name, *cells in grid.rows))


def _comparisons(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Rows of the table of paired differences; those by computed labels say which, and come last."""
    rows = [_comparison(comparison) for comparison in evaluation.comparisons]
    for computed in evaluation.computed:
        rows += [_comparison(comparison, f" {clean(computed.by, 60)}") for comparison in computed.comparisons]
    return rows


def _comparison(comparison: PairedDifference, by: str = "") -> tuple[str, ...]:
    """A row: the two methods, figure, group, their difference, its interval."""
    difference = comparison.difference
    interval = NO_FIGURE
    if difference.low is not None and difference.high is not None:
        interval = f"{number(difference.low)} to {number(difference.high)}"
    among = "decompositions" if comparison.among == "decompositions" else "reward models"
    return (
        f"{clean(comparison.method, 60)} − {clean(comparison.against, 60)}",
        f"{TITLES[comparison.figure]}{by}",
        among,
        signed(difference.value),
        interval,
    )


def _audit(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "header": [clean(cell, 80) for cell in table["header"]],
        "rows": [[clean(cell, 120).replace("-", "−") for cell in row[1:]] for row in table["rows"]],
        "names": [clean(row[0], 120) for row in table["rows"]],
        "verdict": clean(table["verdict"], 1000),
        "notes": [clean(note, 1000) for note in table["notes"]],
    }


def _sample(sample: Sample) -> dict[str, str]:
    return {
        "context": clean(sample.context, 3000),
        "before": clean(sample.before, 3000),
        "after": clean(sample.after, 3000),
        "reward_before": number(sample.reward_before),
        "reward_after": number(sample.reward_after),
    }


def _quarantined(row: Mapping[str, Any]) -> tuple[str, ...]:
    columns = ("stage", "session_id", "unit", "status", "cause")
    return tuple(clean(str(row.get(column) or "–"), CAUSE_LIMIT) for column in columns)
