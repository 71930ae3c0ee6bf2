"""An evaluation as tables: for the terminal, as Markdown, and as rows that a page can show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Figure, Missing
from apportion.evaluation.evaluation import ComputedAgreement, Evaluation, HeldOutCounts, MethodFigures
from apportion.evaluation.figures.agreement import AgreementCounts
from apportion.evaluation.figures.consistency import Consistency
from apportion.evaluation.figures.local_difference import rule_of
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
from apportion.foundation.tables.numbers import NO_FIGURE

FEWEST_TURNS = 10
"""Turns with a happy face, and others, from which on a local difference is shown; fewer are a session or two."""
READABLE_SLOPES = (0.5, 2.0)
"""Slopes outside are shown only where the method beats the Mean; else its predictions hardly differ: any line fits."""
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
}
"""Fields of ``MethodFigures``, figures of the agreement with computed labels, and what their columns are called."""
MODEL_COLUMNS = ("global_loss", "below_mean", "local_difference", "spearman", "auc")
CALIBRATION_COLUMNS = ("slope", "intercept", "calibration_error")
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
    "local_difference": "Local difference: mean reward while the rater's face is happy, less that of others (Eq. 7).",
    "spearman": "Spearman: with the mean human label of the turns, within a session, averaged over sessions.",
    "auc": "AUC: chance that a turn that people labelled above the middle outranks one below it.",
    "slope": "Slope, Intercept: of the line of given on predicted session scores; 1 and 0 where they can be taken at "
    "their word; below 1 they are too far apart.",
    "calibration_error": "Calibration error: mean |given - predicted| of bins of predicted scores, each weighing as "
    "many sessions as it holds; chance alone makes it larger than 0.",
    "computed_spearman": "Spearman, AUC (computed): with computed labels in the place of people's; nobody judged these "
    "turns.",
}
Row = tuple[str, Mapping[str, Figure]]


def grids(evaluation: Evaluation) -> tuple[Grid, ...]:
    """The reward models with all baselines, the decompositions themselves (left out where there are none), and how far
    the reward models' session scores can be taken at their word.

    Columns without a single figure are dropped, and the reason becomes a note.
    """
    counts = evaluation.counts
    few = _few_faces(evaluation)
    beside = [_row(figures, few) for figures in evaluation.baselines]
    person = {"spearman": evaluation.one_annotator.spearman, "auc": evaluation.one_annotator.auc}
    people: list[Row] = [("One annotator", person)] if _given(person.values()) else []
    title = "Reward models and baselines" if evaluation.reward_models else "Baselines"
    basis = _basis(counts.scored_sessions, counts.scored_episodes)
    predicted = [*(_row(figures, few) for figures in evaluation.reward_models), *beside]
    own = evaluation.own_units
    tables = [_grid(f"{title}: {basis}", MODEL_COLUMNS, [*predicted, *people], own)]
    if evaluation.decompositions:
        both = (*evaluation.decompositions, *evaluation.decomposition_baselines)
        divided = [*(_row(figures, few) for figures in both), *people]
        title = f"Decompositions: {_basis(counts.decomposed_sessions, counts.decomposed_episodes)}"
        tables.append(_grid(title, DECOMPOSITION_COLUMNS, divided, own))
    tables.append(_grid(f"Calibration of the session score: {basis}", CALIBRATION_COLUMNS, predicted, own))
    for computed in evaluation.computed:
        tables += _computed_grids(computed, evaluation.counts)
    if evaluation.consistency:
        tables.append(_consistency_grid(evaluation.consistency))
    return tuple(tables)


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
    if not isinstance(faces, Missing):
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
    if unread := [row.method for row in evaluation.reward_models if _is_unread(row)]:
        notes.append(
            f"Slope, Intercept: left out of {', '.join(unread)}, which the Mean is as good as: their predictions "
            "hardly differ, and a line through them cannot be read."
        )
    if not isinstance(agreement, Missing):
        notes.append(f"People: {_rests_on_labels(agreement, evaluation)}")
    notes += [_computed_note(computed, evaluation) for computed in evaluation.computed]
    shown_methods = {row[0] for grid in figures_only for row in grid.rows}
    if own := [name for name in evaluation.own_units if name in shown_methods]:
        notes.append(
            f"{', '.join(own)}: rewards in units of their own, not projected onto the score (so are VA and LS in "
            "LLM-GELI's Table 4). Their global loss, sum residual and local difference do not compare with the rest."
        )
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


def _row(figures: MethodFigures, few_faces: Missing | None) -> Row:
    """A method's figures, those left out that cannot be read as they stand."""
    row = {column: getattr(figures, column) for column in TITLES if column not in COMPUTED_COLUMNS}
    if few_faces is not None and isinstance(figures.local_difference, Estimate):
        row["local_difference"] = few_faces
    if _is_unread(figures):
        row |= dict.fromkeys(("slope", "intercept"), Missing("a line through predictions that hardly differ"))
    return figures.method, row


def _is_unread(figures: MethodFigures) -> bool:
    """Whether a slope is there that says nothing: without an interval, or far from 1 where the Mean is as good."""
    slope, gain = figures.slope, figures.below_mean
    if isinstance(slope, Missing):
        return False
    low, high = READABLE_SLOPES
    beats = isinstance(gain, Estimate) and gain.above_zero
    return slope.low is None or not (beats or low <= slope.value <= high)


def _few_faces(evaluation: Evaluation) -> Missing | None:
    """Why no local difference is shown: too few faces on one side; None where there are enough, or none at all."""
    faces = evaluation.faces
    if isinstance(faces, Missing) or min(faces.happy, faces.other) >= FEWEST_TURNS:
        return None
    return Missing(
        f"{faces.happy} turns with a happy face and {faces.other} without are too few to be read "
        f"({FEWEST_TURNS} of each)"
    )


def _basis(sessions: int, episodes: int) -> str:
    text = f"{sessions} test session{'' if sessions == 1 else 's'}"
    return text if episodes == sessions else f"{text}, {episodes} scores"


def _given(figures: Any) -> list[Estimate]:
    return [figure for figure in figures if isinstance(figure, Estimate)]


def _grid(title: str, columns: Sequence[str], rows: Sequence[Row], own_units: Collection[str]) -> Grid:
    shown, notes, cells = [], [], [[name] for name, _ in rows]
    for column in columns:
        figures = [of_row.get(column, Missing("")) for _, of_row in rows]
        if not _given(figures):
            reasons = sorted({figure.reason for figure in figures if isinstance(figure, Missing)} - {""})
            notes.append(f"{TITLES[column]}: not given; {'; '.join(reasons)}.")
            continue
        shown.append(TITLES[column])
        others = [figure for (name, _), figure in zip(rows, figures, strict=True) if name not in own_units]
        decimals = _decimals(_given(others) or _given(figures))
        for row, cell in zip(cells, (_cell(figure, decimals) for figure in figures), strict=True):
            row.append(cell)
    return Grid(title, ("Method", *shown), tuple(tuple(row) for row in cells), tuple(notes))


def _decimals(figures: Sequence[Estimate]) -> int:
    """As many for a whole column as its largest figure asks for."""
    largest = max(max(abs(x) for x in (f.value, f.low or 0.0, f.high or 0.0)) for f in figures)
    return next(d for limit, d in ((100, 1), (10, 2), (0.1, 3), (0.01, 4), (0.0, 5)) if largest >= limit)


def _cell(figure: Figure, decimals: int) -> str:
    return NO_FIGURE if isinstance(figure, Missing) else figure.text(decimals)
