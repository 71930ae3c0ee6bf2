"""One self-contained HTML page of everything that a run made: no script, no request to anywhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.schema import REWARDS
from apportion.corpus.session import Episode
from apportion.evaluation.error_slices.result import NOTES, ErrorSlices, slice_grid, summary, told_by
from apportion.evaluation.evaluation import Evaluation, PairedDifference
from apportion.evaluation.table import TITLES, footnotes, grids, read
from apportion.foundation.html.page import render_page
from apportion.foundation.html.text import clean, number, signed
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.numbers import NO_FIGURE
from apportion.pipeline.report.colours import colour_class
from apportion.pipeline.report.conclusion import Facts, asked, chosen, costs, moved, next_step, trusted, unknown
from apportion.pipeline.report.curves import stage_charts, with_gold
from apportion.pipeline.report.highlights import facts_of, turns_to_look_at
from apportion.pipeline.report.sessions import held_out, session_views

MAX_QUARANTINE = 200
MAX_SAMPLES = 50
CAUSE_LIMIT = 2000
LEFT_OUT = "left out"
"""Begins why a result is missing that nobody asked for; the others failed, which a reader is told at the top."""
MARK = "apportion-viewer"
"""Begins a comment in whose place the viewer puts a link: to the session whose `marked` id stands there, at the
turn whose number follows after a dot, or to all sessions.

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
    - ``method``: the run's, which the conclusion is about.
    - ``descriptors``: DESCRIPTORS schema; None where nothing was recorded.
    - ``sources``: SOURCES schema; None where no method mixes.
    - ``histories``: training curves: columns stage, method, seed, step, metric, value.
    - ``quarantine``: one a failed or blocked unit: stage, session_id, unit, status, cause.
    - ``warnings``: on the corpus as a whole.
    - ``config``: the configuration as text.
    - ``versions``: package to version.
    - ``notes``: what the reader has to know of the data: that it is synthetic, that replies were recorded.
    - ``audit``: the fields of ``StabilityTable``; None where nothing was audited.
    - ``slices``: each method's kinds of turn with rewards of their own.
    - ``gold``: ``verdict``, ``curve`` and ``best_of`` of `apportion.rlhf.gold_report.GoldReport`.
    - ``missing``: what a reader would look for and the run does not have, and why.
    - ``unfinished``: stages whose training failed, so that ``histories`` shows it up to there.
    - ``lineage``: a row an artifact (`apportion.pipeline.engine.provenance.lineage`).
    - ``language_model``: the name of the one that was asked; empty where none was.
    """

    rating: str
    evaluation: Mapping[str, Any] | None
    rewards: pa.Table | None
    episodes: Sequence[Episode]
    splits: pa.Table
    method: str
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
    slices: Sequence[ErrorSlices] = ()
    gold: Mapping[str, Any] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    unfinished: Collection[str] = ()
    lineage: Sequence[Mapping[str, Any]] = ()
    language_model: str = ""


def render_report(inputs: ReportInputs) -> str:
    """The page as text; equal inputs give equal text.

    Every string from outside is escaped, and the page's own policy forbids scripts and requests.
    """
    evaluation = read(inputs.evaluation) if inputs.evaluation is not None else None
    rewards = REWARDS.arrow.empty_table() if inputs.rewards is None else inputs.rewards
    methods: list[str] = sorted(pc.unique(rewards["method"]).to_pylist())
    colours = {method: colour_class(method) for method in methods}
    seen = held_out(inputs.episodes, rewards, inputs.splits)
    facts = replace(
        facts_of(inputs.method, seen, inputs.episodes, rewards, evaluation),
        described=0 if inputs.descriptors is None else _turns_of(inputs.descriptors),
        dearest=next((kind for of in inputs.slices if of.method == inputs.method for kind in of.dear), None),
        failed=sum(row.get("stage") != "check" for row in inputs.quarantine),  # A broken session stays broken.
        aligned=bool(inputs.samples),
        people_weigh=_weight_of("people-student", inputs),
    )
    sources = mixes(inputs.sources)
    shown, folded = _tables(evaluation, facts, sources)
    values: dict[str, Any] = {
        "mark": MARK,
        "rating": clean(inputs.rating, 80),
        "conclusion": _conclusion(inputs, facts, evaluation),
        "turns": turns_to_look_at(inputs.method, seen),
        "next_step": next_step(facts),
        "shown": shown,
        "folded": folded,
        "footnotes": footnotes(evaluation) if evaluation else (),
        "comparisons": _comparisons(evaluation) if evaluation and evaluation.comparisons else None,
        "colours": {clean(method, 60): colour for method, colour in colours.items()},
        "sessions": session_views(seen, colours),
        "mixes": [grid for grid in sources if grid not in shown],
        "training": with_gold(stage_charts(inputs.histories, colours, inputs.unfinished), inputs.gold),
        "slice_notes": NOTES,
        "audit": _audit(inputs.audit) if inputs.audit else None,
        "slices": [_slices(found) for found in inputs.slices if found.reason is None],
        "samples": [_sample(sample) for sample in inputs.samples[:MAX_SAMPLES]],
        "samples_in_all": len(inputs.samples),
        "left_out": [
            f"No {title}: {clean(why, CAUSE_LIMIT)}"
            for title, why in inputs.missing.items()
            if why.startswith(LEFT_OUT)
        ],
        "quarantine": _quarantined(inputs.quarantine[:MAX_QUARANTINE]),
        "quarantine_in_all": len(inputs.quarantine),
        "lineage": _lineage(inputs),
        "config": clean(inputs.config, 100_000),
        "versions": sorted(inputs.versions.items()),
    }
    return render_page("apportion.pipeline.report", "page.html", **values)


def _conclusion(inputs: ReportInputs, facts: Facts, evaluation: Evaluation | None) -> list[tuple[str, list[str]]]:
    """Headings, and what is said below each; one without a sentence is left out."""
    warnings = dict.fromkeys((*inputs.warnings, *(evaluation.warnings if evaluation else ())))
    lacking = [f"No {title}: {why}" for title, why in inputs.missing.items() if not why.startswith(LEFT_OUT)]
    cannot = [
        *unknown(facts),
        *(clean(text, 1000) for text in warnings),
        *(clean(text, CAUSE_LIMIT) for text in lacking),
    ]
    parts = {
        "What was asked": asked(facts),
        "What can be trusted": [*trusted(facts), *_gained(inputs.gold)],
        "What this corpus cannot show": cannot,
        "Which method, and why": [*chosen(facts), *(clean(note, 1000) for note in inputs.notes)],
        "How much a reward moves between seeds": moved(facts),
        "What is paid less": costs(facts),
    }
    return [(title, told) for title, told in parts.items() if told]


def _gained(gold: Mapping[str, Any]) -> list[str]:
    return [f"The aligned policy: {clean(str(gold['verdict']), 1000)}"] if gold else []


def _tables(evaluation: Evaluation | None, facts: Facts, sources: Sequence[Grid]) -> tuple[list[Grid], list[Grid]]:
    """At most three tables that are shown at once, and the others: those of decompositions and reward models where a
    method has a figure there, and what the sources of the run's method weigh."""
    if evaluation is None:
        return [], []
    models, *others = grids(evaluation)
    divided = others[:1] if evaluation.decompositions else []
    methods = {facts.method, *facts.compared}
    told = [
        grid
        for grid in (*divided, models)
        if any(row[0] in methods and set(row[1:]) - {NO_FIGURE} for row in grid.rows)
    ]
    weighed = [grid for grid in sources if grid.title == source_title(facts.method)]
    rest = [grid for grid in (models, *others) if grid not in told]
    return [*(grid.cells(_with_minus) for grid in told), *weighed], [grid.cells(_with_minus) for grid in rest]


def _turns_of(table: pa.Table) -> int:
    """How many turns have a row."""
    return int(table.group_by(["session_id", "turn"]).aggregate([]).num_rows)


def _with_minus(cell: str) -> str:
    """The same figures with a real minus sign, as everywhere on the page."""
    return cell.replace("-", "−")


def _comparisons(evaluation: Evaluation) -> Grid:
    """Paired differences; those by computed labels say which, and come last."""
    rows = [_comparison(comparison) for comparison in evaluation.comparisons]
    for computed in evaluation.computed:
        rows += [_comparison(comparison, f" {clean(computed.by, 60)}") for comparison in computed.comparisons]
    return Grid("Paired differences", ("Difference of", "Figure", "Among", "Value", "Interval"), tuple(rows))


def _comparison(comparison: PairedDifference, by: str = "") -> tuple[str, ...]:
    """A row: the two methods, figure, group, their difference, its interval."""
    difference = comparison.difference
    interval = NO_FIGURE
    if difference.low is not None and difference.high is not None:
        interval = f"{number(difference.low)} to {number(difference.high)}"
    among = "decompositions" if comparison.among == "decompositions" else "reward models"
    methods = f"{clean(comparison.method, 60)} − {clean(comparison.against, 60)}"
    return methods, f"{TITLES[comparison.figure]}{by}", among, signed(difference.value), interval


def _audit(table: Mapping[str, Any]) -> dict[str, Any]:
    grid = Grid(
        "The same question to the language model, asked in other ways",
        tuple(clean(cell, 80) for cell in table["header"]),
        tuple(tuple(clean(cell, 120) for cell in row) for row in table["rows"]),
        tuple(clean(note, 1000) for note in table["notes"]),
    )
    return {"verdict": clean(table["verdict"], 1000), "grid": grid.cells(_with_minus)}


def _slices(found: ErrorSlices) -> dict[str, Any]:
    """One method's slices: how they were looked for, a table, and turns of each."""
    grid = slice_grid(found)
    cleaned = replace(grid, notes=(), rows=tuple(tuple(clean(cell, 200) for cell in row) for row in grid.rows))
    examples = [
        {
            "name": clean(kind.name, 200),
            "told": clean(told_by(kind), 600),
            "turns": [
                clean(f"{one.id.episode[0]}, turn {one.id.turn} ({signed(one.reward)}): {one.text}", 300)
                for one in kind.examples
            ],
        }
        for kind in found.kinds
    ]
    title = clean(found.method, 60)
    return {
        "title": title,
        "summary": clean(summary(found), 600),
        "held": len(found.kinds),
        "grid": cleaned.cells(_with_minus),
        "examples": examples,
    }


def _sample(sample: Sample) -> dict[str, str]:
    return {
        "context": clean(sample.context, 3000),
        "before": clean(sample.before, 3000),
        "after": clean(sample.after, 3000),
        "reward_before": number(sample.reward_before),
        "reward_after": number(sample.reward_after),
    }


def _lineage(inputs: ReportInputs) -> Grid:
    rows = []
    for row in inputs.lineage:
        parts = ", ".join(f"{name} {short}" for name, short in row["from"].items())
        cells = (f"{row['stage']}, version {row['version']}", row["unit"], row["content"], parts or NO_FIGURE)
        rows.append(tuple(clean(cell, 300) for cell in cells))
    asked = (
        [clean(f"Judgements are by the language model {inputs.language_model}.", 200)] if inputs.language_model else []
    )
    notes = (*asked, "apportion status CONFIG --provenance FILE tells all that a file of the run was made from.")
    return Grid("What each part rests on", ("Made by", "Of", "Content", "Made from"), tuple(rows), notes)


def _quarantined(rows: Sequence[Mapping[str, Any]]) -> Grid:
    columns = ("stage", "session_id", "unit", "status", "cause")
    cells = tuple(tuple(clean(str(row.get(column) or "–"), CAUSE_LIMIT) for column in columns) for row in rows)
    return Grid("Skipped and quarantined", ("Stage", "Session", "Unit", "Status", "Cause"), cells)


HEADER = ("Source", "Weight", "R² of left-out scores", "Training sessions", "Why")


def mixes(sources: pa.Table | None) -> list[Grid]:
    """A table a method, titled by it and by its seeds where they differ; seeds that say the same are shown once."""
    found: dict[str, dict[int, list[tuple[str, ...]]]] = {}
    for row in [] if sources is None else sources.to_pylist():
        found.setdefault(str(row["method"]), {}).setdefault(int(row["seed"]), []).append(_row(row))
    shown = []
    for method, by_seed in found.items():
        first, *others = by_seed.values()
        alike = all(rows == first for rows in others)
        for seed, rows in list(by_seed.items())[: 1 if alike else None]:
            name = clean(method, 60)
            shown.append(Grid(source_title(name) + ("" if alike else f", seed {seed}"), HEADER, tuple(rows)))
    return shown


def _weight_of(source: str, inputs: ReportInputs) -> float:
    """What a source weighs in the run's method; 0 where it is none of its sources."""
    rows = [] if inputs.sources is None else inputs.sources.to_pylist()
    return max(
        (row["weight"] for row in rows if (row["method"], row["source"]) == (inputs.method, source)), default=0.0
    )


def source_title(method: str) -> str:
    """What the table of a method's sources is called."""
    return f"Sources of {method}"


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        clean(str(row["source"]), 60),
        number(row["weight"]) + _interval(row["low"], row["high"]),
        number(row["explained"]) + _interval(row["explained_low"], row["explained_high"]),
        f"{row['sessions']:,}",
        clean(str(row["reason"]), 300),
    )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"
