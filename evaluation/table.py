"""An evaluation as tables: for the terminal, as Markdown, and as rows that a page can show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Figure, Missing
from apportion.evaluation.evaluation import (
    BesideControls,
    ComputedAgreement,
    Evaluation,
    HeldOutCounts,
    MethodAgreement,
    MethodFigures,
)
from apportion.evaluation.figures.agreement import AgreementCounts
from apportion.evaluation.figures.calibration import FEWEST
from apportion.evaluation.figures.consistency import Consistency
from apportion.evaluation.figures.local_difference import rule_of
from apportion.evaluation.methods import baselines
from apportion.evaluation.methods.controls import LENGTH, PLACE, STATE, TONE
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
from apportion.foundation.tables.numbers import NO_FIGURE

TITLES = {
    "global_loss": "Global loss",
    "below_mean": "Below Mean",
    "sum_residual": "Sum residual",
    "local_difference": "Local difference",
    "spearman": "Spearman",
    "auc": "AUC",
    "slope": "Slope",
    "intercept": "Intercept",
    "calibration_error": "Calibration error",
    "computed_spearman": "Spearman (computed)",
    "computed_auc": "AUC (computed)",
    **{name: name.capitalize() for name in (PLACE, LENGTH, TONE, STATE)},
    "knows_place": "Knows place",
    "knows_state": "Knows state",
    "state_spearman": "State's Spearman",
    "state_auc": "State's AUC",
}
"""Fields of ``MethodFigures``, other figures, and what their columns are called."""
ONE_BIN = Missing(f"fewer than {2 * FEWEST} scores make one bin")
MODEL_COLUMNS = ("global_loss", "below_mean", "local_difference", "spearman", "auc")
CALIBRATION_COLUMNS = ("slope", "intercept", "calibration_error")
GAIN_COLUMNS = (PLACE, LENGTH, TONE, STATE)
STATE_COLUMNS = ("knows_place", "knows_state", "state_spearman", "state_auc")
COMPUTED_COLUMNS = ("computed_spearman", "computed_auc")
DECOMPOSITION_COLUMNS = ("sum_residual", "local_difference", "spearman", "auc")
CONSISTENCY_HEADER = (
    "Method",
    "Samples",
    "Conversations",
    "Turns",
    "Agreement",
    "SD of conversations",
    "SD of pairs of samples",
)
MEANING = {
    "global_loss": "Global loss: mean (score - predicted score)^2, lower is better (Eq. 6).",
    "below_mean": "Below Mean: the Mean baseline's global loss less this one, paired; above 0 is better.",
    "sum_residual": "Sum residual: mean |score - sum of its own values|. It has seen the score: no global loss.",
    "local_difference": "Local difference: mean reward while the rater's face is happy, less that of others (Eq. 7). "
    "As in LLM-GELI's Table 4, Mean and Mode pay all turns alike: theirs is 0.",
    "spearman": "Spearman: with the mean human label of the turns, within a session, averaged over sessions.",
    "auc": "AUC: chance that a turn that people labelled above the middle outranks one below it.",
    "slope": "Slope, Intercept: of the line of given on predicted session scores; 1 and 0 where they can be taken at "
    "their word; below 1 they are too far apart.",
    "calibration_error": "Calibration error: mean |given - predicted| of bins of predicted scores, each weighing as "
    "many sessions as it holds; chance alone makes it larger than 0.",
    PLACE: "Less a control: paired. Controls judge no turn: place (how many of the target's turns came before), "
    "length (words), turn sentiment (VADER of its own text), state only (what a ridge on the "
    "dialogue before the turn foretells of the reward model's own values). Paid: what a policy is paid.",
    "knows_place": "Knows place, state: Spearman with these controls; a policy is to be paid for neither.",
    "computed_spearman": "Spearman, AUC (computed): with computed labels in the place of people's; nobody judged these "
    "turns.",
}
Row = tuple[str, Mapping[str, Figure]]


def grids(evaluation: Evaluation) -> tuple[Grid, ...]:
    """The reward models with all baselines and controls, the decompositions themselves, what reward models have over
    the controls, and how far their session scores can be taken at their word; what there is none of is left out.

    Columns without a single figure are dropped, and the reason becomes a note.
    """
    counts = evaluation.counts
    beside = [_row(figures) for figures in evaluation.baselines]
    controls: list[Row] = [
        (row.method, {"spearman": row.spearman, "auc": row.auc}) for row in evaluation.controls if _is_control(row)
    ]
    person = {"spearman": evaluation.one_annotator.spearman, "auc": evaluation.one_annotator.auc}
    people: list[Row] = [("One annotator", person)] if _given(person.values()) else []
    title = "Reward models and baselines" if evaluation.reward_models else "Baselines"
    basis = _basis(counts.scored_sessions, counts.scored_episodes)
    own = evaluation.own_units
    models = [_row(figures) for figures in evaluation.reward_models]
    tables = [_grid(f"{title}: {basis}", MODEL_COLUMNS, _in_one_unit([*models, *beside, *controls, *people], own), own)]
    if evaluation.decompositions:
        both = (*evaluation.decompositions, *evaluation.decomposition_baselines)
        divided = _in_one_unit([*map(_row, both), *people], own)
        title = f"Decompositions: {_basis(counts.decomposed_sessions, counts.decomposed_episodes)}"
        tables.append(_grid(title, DECOMPOSITION_COLUMNS, divided, own))
    tables += _control_grids(evaluation, basis)
    if spread := [figures for figures in evaluation.reward_models if _is_read(figures, own)]:
        one_bin = {} if counts.scored_episodes >= 2 * FEWEST else {"calibration_error": ONE_BIN}
        calibrated = [(name, {**row, **one_bin}) for name, row in map(_row, spread)]
        tables.append(_grid(f"Calibration of the session score: {basis}", CALIBRATION_COLUMNS, calibrated, own))
    for computed in evaluation.computed:
        tables += _computed_grids(computed, evaluation.counts)
    if evaluation.consistency:
        tables.append(_consistency_grid(evaluation.consistency))
    return tuple(_each_note_once(tables))


def footnotes(evaluation: Evaluation) -> tuple[str, ...]:
    """What the columns and intervals are, and what the figures rest on."""
    settings = evaluation.settings
    figures_only = [grid for grid in grids(evaluation) if grid.header != CONSISTENCY_HEADER]
    shown = {title for grid in figures_only for title in grid.header}
    notes = [
        *(meaning for column, meaning in MEANING.items() if TITLES[column] in shown),
        f"[low, high]: {settings.confidence:.0%} percentile bootstrap over sessions, {settings.bootstrap:,} resamples.",
    ]
    if any("[" not in cell and cell != NO_FIGURE for grid in figures_only for row in grid.rows for cell in row[1:]):
        notes.append("A figure without an interval rests on a single session, or too few resamples define it.")
    if any(figures.seeds > 1 for figures in evaluation.reward_models + evaluation.decompositions):
        notes.append("±: standard deviation over training seeds.")
    faces, agreement = evaluation.faces, evaluation.agreement
    if not isinstance(faces, Missing) and TITLES["local_difference"] in shown:
        if faces.why:
            notes.append(f"Local difference by {faces.feature}: {faces.why}.")
        notes.append(
            f"Happy: {rule_of(faces.feature, faces.threshold)} on the rater's face during the turn; "
            f"{faces.happy} turns happy, {faces.other} not, {faces.unseen} not measured."
        )
    if isinstance(evaluation.human, Estimate) and TITLES["local_difference"] in shown:
        notes.append(
            f"Local difference of people's own labels (Human): {evaluation.human.text(3)}, in units of the labels: its "
            "sign compares with the other rows, not its size."
        )
    if unread := [row.method for row in evaluation.reward_models if not _is_read(row, evaluation.own_units)]:
        notes.append(
            f"Calibration: left out of {', '.join(unread)}, not shown to foretell scores better than their mean does: "
            "nothing can be read from predictions that hardly differ, or are in other units."
        )
    notes += [
        f"Control {row.method}: left out; {row.spearman.reason}."
        for row in evaluation.controls
        if isinstance(row.spearman, Missing)
    ]
    if not isinstance(agreement, Missing):
        notes.append(f"People: {_rests_on_labels(agreement, evaluation)}")
    notes += [_computed_note(computed, evaluation) for computed in evaluation.computed]
    shown_methods = {row[0] for grid in figures_only for row in grid.rows}
    if own := [name for name in evaluation.own_units if name in shown_methods]:
        notes.append(
            f"{', '.join(own)}: rewards in units of their own, not projected onto the score (so are VA and LS in "
            "LLM-GELI's Table 4). Their global loss and sum residual do not compare with the rest."
        )
        both = (*evaluation.reward_models, *evaluation.decompositions)
        told = {row.method: row.local_difference for row in reversed(both) if row.method in own}
        signs = [f"{name} {figure.text(3)}" for name, figure in told.items() if isinstance(figure, Estimate)]
        if signs:
            notes.append(f"Local difference in units of their own, of which the sign alone counts: {', '.join(signs)}.")
    return (*notes, *evaluation.findings, *(rests.text() for rests in evaluation.rests), *evaluation.notes)


def render(evaluation: Evaluation | Mapping[str, Any]) -> str:
    """Plain text with aligned columns, notes and warnings; takes the document of ``evaluation.json`` as well."""
    evaluation = read(evaluation)
    blocks = [grid.text() for grid in grids(evaluation)]
    blocks.append("\n".join(footnotes(evaluation)))
    if evaluation.warnings:
        blocks.append("\n".join(f"warning: {warning}" for warning in evaluation.warnings))
    return "\n\n".join(blocks)


def render_markdown(evaluation: Evaluation | Mapping[str, Any]) -> str:
    """The same as Markdown tables."""
    evaluation = read(evaluation)
    blocks = []
    for grid in grids(evaluation):
        rule = ("---",) * len(grid.header)
        lines = [f"| {' | '.join(escaped(cell) for cell in line)} |" for line in (grid.header, rule, *grid.rows)]
        blocks.append("\n".join([f"**{escaped(grid.title)}**", "", *lines]))
        blocks.append(grid.markdown_notes())
    blocks.append("\n".join(f"- {escaped(note)}" for note in footnotes(evaluation)))
    blocks += [f"> **Warning.** {escaped(warning)}" for warning in evaluation.warnings]
    return "\n\n".join(block for block in blocks if block) + "\n"


def read(evaluation: Evaluation | Mapping[str, Any]) -> Evaluation:
    """The evaluation itself, given it or its document."""
    return evaluation if isinstance(evaluation, Evaluation) else Evaluation.from_json(evaluation)


def _computed_grids(computed: ComputedAgreement, counts: HeldOutCounts) -> list[Grid]:
    """Reward models and decompositions beside labels that nobody gave."""
    groups = (
        ("Reward models", computed.reward_models, _basis(counts.scored_sessions, counts.scored_episodes)),
        ("Decompositions", computed.decompositions, _basis(counts.decomposed_sessions, counts.decomposed_episodes)),
    )
    return [
        _grid(
            f"{title} and labels of {computed.by}: {basis}",
            COMPUTED_COLUMNS,
            [(row.method, {"computed_spearman": row.spearman, "computed_auc": row.auc}) for row in rows],
            (),
        )
        for title, rows, basis in groups
        if rows
    ]


def _computed_note(computed: ComputedAgreement, evaluation: Evaluation) -> str:
    counts = computed.counts
    if isinstance(counts, Missing):
        return f"{computed.by}: {counts.reason}."
    return f"{computed.by}, which nobody judged: {_rests_on_labels(counts, evaluation)}"


def _rests_on_labels(counts: AgreementCounts, evaluation: Evaluation) -> str:
    turns, held = evaluation.settings.labelled_turns, evaluation.counts
    # Where several are rated in a session, it is correlated once for each of them.
    what = "sessions" if held.scored_episodes == held.scored_sessions else "scores"
    return (
        f"labels {counts.label!r}. Spearman over {counts.episodes} {what} (left out: {counts.few} with fewer than "
        f"{turns} labelled turns, {counts.constant} with one label throughout). AUC over {counts.above} turns above "
        f"and {counts.below} below the {counts.middle_is}."
    )


def _consistency_grid(methods: Sequence[Consistency]) -> Grid:
    def percent(share: float | None) -> str:
        return NO_FIGURE if share is None else f"{share:.1%}"

    rows = tuple(
        (
            method.method,
            str(method.samples),
            f"{method.episodes:,}",
            f"{method.turns:,}",
            *(percent(share) for share in (method.agreement, method.sd_episodes, method.sd_pairs)),
        )
        for method in methods
    )
    note = (
        "Agreement: share of turns that two samples put into the same class: above zero, zero or below, null "
        "(appendix J). Over all conversations, not the held-out ones alone; no agreement with people."
    )
    return Grid("Repeated samples of one judge", CONSISTENCY_HEADER, rows, (note,))


def _row(figures: MethodFigures) -> Row:
    return figures.method, {column: getattr(figures, column, Missing("")) for column in TITLES}


def _is_control(row: MethodAgreement) -> bool:
    return isinstance(row.spearman, Estimate) or isinstance(row.auc, Estimate)


def _in_one_unit(rows: Sequence[Row], own_units: Collection[str]) -> list[Row]:
    """Without the local differences that are in other units than the rest, if there is a rest; a note tells them."""
    aside = {baselines.MEAN, baselines.MODE, *own_units}
    if not any(isinstance(row.get("local_difference"), Estimate) for name, row in rows if name not in aside):
        return list(rows)
    hidden = {"local_difference": Missing("in units of its own")}
    return [(name, {**row, **hidden} if name in own_units else row) for name, row in rows]


def _is_read(figures: MethodFigures, own_units: Collection[str]) -> bool:
    """Whether predicted scores are spread out enough for a calibration that says something."""
    gain = figures.below_mean
    beats = isinstance(gain, Estimate) and gain.above_zero
    return beats and isinstance(figures.slope, Estimate) and figures.method not in own_units


def _control_grids(evaluation: Evaluation, basis: str) -> list[Grid]:
    """What reward models, and what a policy is paid by them, have over the controls, and what they know of these."""
    rows: list[tuple[str, BesideControls]] = []
    for row in evaluation.reward_models:
        if row.controls:
            rows.append((row.method, BesideControls(row.spearman, row.auc, row.controls, row.knows)))
        if row.advantage is not None:
            rows.append((f"{row.method}, paid", row.advantage))
    if not rows:
        return []
    gains = [(name, {control: _gain(of, control) for control in GAIN_COLUMNS}) for name, of in rows]
    known = [(name, _of_state(of)) for name, of in rows]
    return [
        _grid(f"Spearman with people, less that of a control: {basis}", GAIN_COLUMNS, gains, (), decimals=2),
        _grid(f"What is known without the turn: {basis}", STATE_COLUMNS, known, (), decimals=2),
    ]


def _gain(of: BesideControls, name: str) -> Figure:
    control = of.controls.get(name)
    sessions = of.spearman.sessions if isinstance(of.spearman, Estimate) else 0
    return Missing("") if control is None else Estimate(control.gain, control.low, control.high, sessions)


def _of_state(of: BesideControls) -> Mapping[str, Figure]:
    nothing: Figure = Missing("")
    state = of.controls.get(STATE)
    return {
        "knows_place": of.knows.get(PLACE, nothing),
        "knows_state": of.knows.get(STATE, nothing),
        "state_spearman": nothing if state is None else state.spearman,
        "state_auc": nothing if state is None else state.auc,
    }


def _each_note_once(tables: Iterable[Grid]) -> Iterable[Grid]:
    """What is amiss with a column of several tables is said below the first."""
    said: set[str] = set()
    for grid in tables:
        yield replace(grid, notes=tuple(note for note in grid.notes if note not in said))
        said.update(grid.notes)


def _basis(sessions: int, episodes: int) -> str:
    text = f"{sessions} test session{'' if sessions == 1 else 's'}"
    return text if episodes == sessions else f"{text}, {episodes} scores"


def _given(figures: Any) -> list[Estimate]:
    return [figure for figure in figures if isinstance(figure, Estimate)]


def _grid(
    title: str, columns: Sequence[str], rows: Sequence[Row], own_units: Collection[str], decimals: int | None = None
) -> Grid:
    """Columns without a figure become a note, or nothing where the reason is told elsewhere."""
    shown, notes, cells = [], [], [[name] for name, _ in rows]
    for column in columns:
        figures = [of_row.get(column, Missing("")) for _, of_row in rows]
        if not _given(figures):
            reasons = sorted({figure.reason for figure in figures if isinstance(figure, Missing)} - {""})
            notes += [f"{TITLES[column]}: not given; {'; '.join(reasons)}."] if reasons else []
            continue
        shown.append(TITLES[column])
        others = [figure for (name, _), figure in zip(rows, figures, strict=True) if name not in own_units]
        places = decimals or _decimals(_given(others) or _given(figures))
        for row, cell in zip(cells, (_cell(figure, places) for figure in figures), strict=True):
            row.append(cell)
    return Grid(title, ("Method", *shown), tuple(tuple(row) for row in cells), tuple(notes))


def _decimals(figures: Sequence[Estimate]) -> int:
    """As many for a whole column as its largest figure asks for."""
    largest = max(max(abs(x) for x in (f.value, f.low or 0.0, f.high or 0.0)) for f in figures)
    return next(d for limit, d in ((100, 1), (10, 2), (0.1, 3), (0.01, 4), (0.0, 5)) if largest >= limit)


def _cell(figure: Figure, decimals: int) -> str:
    return NO_FIGURE if isinstance(figure, Missing) else figure.text(decimals)
