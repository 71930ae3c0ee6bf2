from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.table import footnotes, grids, render, render_markdown
from apportion.foundation.tables.numbers import NO_FIGURE
from tests.evaluation.made_up import evaluated, features, rewards, splits
from tests.evaluation.test_evaluate import EPISODES, HIDDEN, NAMES, TRAINING_MEAN, guessed, inputs, people


def test_the_table_shows_every_method_aligned(usual):
    text = render(usual)
    models, decompositions, gains, known, calibration = grids(usual)
    assert models.header == ("Method", "Global loss", "Below Mean", "Local difference", "Spearman", "AUC")
    beside = ["Mean", "Mode", "Random", "place", "length", "One annotator"]
    assert [row[0] for row in models.rows] == ["far", "near", *beside]
    assert [row[0] for row in decompositions.rows] == ["near", "Mean", "Mode", "Random", "One annotator"]
    assert calibration.header == ("Method", "Slope", "Intercept", "Calibration error")
    assert [[row[0] for row in grid.rows] for grid in (gains, known)] == [["far", "near"]] * 2
    assert [row[0] for row in calibration.rows] == ["near"]  # far is no better than the Mean
    assert decompositions.header == ("Method", "Sum residual", "Local difference", "Spearman", "AUC")
    lines = text.splitlines()
    header = next(line for line in lines if line.startswith("Method"))
    row = next(line for line in lines if line.startswith("near"))
    assert row[header.index("Below Mean") - 2 : header.index("Below Mean")] == "  "
    assert "20 test sessions" in lines[0] and "95% percentile bootstrap" in text


def test_columns_without_figures_are_dropped_with_the_reason():
    found = evaluated(**inputs(utterance_features=None, turn_labels=None))
    models = grids(found)[0]
    assert models.header == ("Method", "Global loss", "Below Mean")
    text = render(found)
    assert "Local difference: not given; the corpus has no recordings of behaviour" in text
    assert "Spearman: not given; the corpus has no labels of turns by people" in text
    assert next(row for row in models.rows if row[0] == "Mean")[2] == NO_FIGURE


def test_the_table_says_what_tells_a_happy_face_and_why(usual):
    line = "Local difference by smile: no emotion model measured happiness."
    assert line in render(usual).splitlines() and f"- {line}" in render_markdown(usual).splitlines()
    smiles = inputs()["utterance_features"]
    measured = smiles.set_column(smiles.schema.get_field_index("feature"), "feature", [["happiness"] * len(smiles)])
    text = render(evaluated(**inputs(utterance_features=measured)))
    assert "Happy: happiness >= 0.5" in text and "Local difference by" not in text


def test_notes_on_the_methods_stand_below_the_tables():
    note = "near: made up | for a test."
    found = evaluated(**inputs(notes=[note]))
    assert note in render(found).splitlines() and render(found.to_json()) == render(found)
    assert r"- near: made up \| for a test." in render_markdown(found).splitlines()


def test_a_row_in_units_of_its_own_takes_no_decimals_from_the_others_and_is_noted(usual):
    huge = {session: values * 1000 for session, values in HIDDEN.items()}
    scores = pa.concat_tables([inputs()["scores"], rewards(EPISODES, huge, "signal-raw")])
    given = inputs(scores=scores, offsets={**inputs()["offsets"], "signal-raw": 0.0})
    plain, noted = evaluated(**given), evaluated(**given, own_units=("signal-raw", "elsewhere"))
    column = [{row[0]: row[3] for row in grids(found)[0].rows}["near"] for found in (plain, noted)]
    before = {row[0]: row[3] for row in grids(usual)[0].rows}["near"]
    assert column[1] == before != column[0]
    assert "signal-raw: rewards in units of their own" in render(noted) and "in units of their own" not in render(plain)
    assert next(row for row in grids(noted)[0].rows if row[0] == "signal-raw")[3] == NO_FIGURE
    assert "Local difference in units of their own, of which the sign alone counts: signal-raw" in render(noted)


def test_people_s_own_local_difference_is_a_note_since_it_is_in_units_of_the_labels(usual):
    test = set(NAMES[35:55])
    sides: dict[bool, list[float]] = {True: [], False: []}
    means = people().to_pandas().groupby(["session_id", "turn"])["value"].mean()
    for (session, turn), mean in means.items():
        if session in test:
            sides[bool(HIDDEN[session][turn // 2] > 0)].append(mean)  # as the made-up smiles go
    assert isinstance(usual.human, Estimate)
    assert usual.human.value == pytest.approx(np.mean(sides[True]) - np.mean(sides[False]))
    assert f"people's own labels (Human): {usual.human.text(3)}, in units of the labels" in render(usual)
    document = usual.to_json()
    del document["human"]
    others = (evaluated(**inputs(**{missing: None})) for missing in ("turn_labels", "utterance_features"))
    for found in (*others, document):  # the last one is of an earlier version
        assert "Human" not in render(found)


def test_what_cannot_be_read_as_it_stands_is_left_out_with_the_reason(usual):
    no, yes = Estimate(-0.1, -0.3, 0.1, 20), Estimate(0.4, 0.2, 0.6, 20)
    cases = [
        (Estimate(22.0, -5.0, 60.0, 20), no, False),  # hardly any spread
        (Estimate(22.0, 5.0, 60.0, 20), yes, True),
        (Estimate(0.8, 0.1, 1.9, 20), no, False),
        (Missing("constant"), yes, False),
    ]
    for slope, gain, shown in cases:
        row = replace(usual.reward_models[0], slope=slope, below_mean=gain)
        found = replace(usual, reward_models=(row,))
        assert grids(found)[-1].rows[0][1] != NO_FIGURE if shown else "Slope" not in grids(found)[-1].header, slope
        assert any("Calibration: left out of far" in note for note in footnotes(found)) is not shown
    few = replace(usual, counts=replace(usual.counts, scored_episodes=19))
    assert grids(few)[-1].header == ("Method", "Slope", "Intercept")
    assert grids(few)[-1].notes == ("Calibration error: not given; fewer than 20 scores make one bin.",)


def test_a_local_difference_of_few_faces_is_nowhere_and_the_reason_is_told_once():
    smiling = features((s, 2 * i, "user", "during", "smile", float(i == 0 and s < NAMES[40])) for s, _, i in turns())
    found = evaluated(**inputs(utterance_features=smiling))
    told = f"5 turns with a happy face and {len(list(turns())) - 5} without are too few to be read"
    assert render(found).count(told) == 1 and "Human" not in render(found) and "Happy" not in render(found)
    assert not any("Local difference" in grid.header for grid in grids(found))
    assert not any(pair.figure == "local_difference" for pair in found.comparisons)


def turns() -> Iterator[tuple[str, float, int]]:
    """Session, hidden value and place of the held-out turns."""
    return ((s, value, i) for s in NAMES[35:55] for i, value in enumerate(HIDDEN[s]))


def test_the_sum_residual_is_shown_where_it_can_be(usual):
    raw = {s: 2 * v for s, v in HIDDEN.items()}
    shares = {
        e.session_id: (e.score - TRAINING_MEAN) / len(v) + (2 * v - 2 * v.mean())
        for e, v in ((e, HIDDEN[e.session_id]) for e in EPISODES)
    }
    found = evaluated(**inputs(rewards=rewards(EPISODES, shares, "near", raw=raw)))
    assert grids(found)[1].rows[0][1] != NO_FIGURE
    assert grids(usual)[1].rows[0][1] == NO_FIGURE
    assert "no global loss" in render(found)


def test_warnings_and_findings_are_part_of_the_table():
    guess = evaluated(**inputs(scores=rewards(EPISODES, guessed(), "near")))
    found = replace(guess, warnings=("Test sessions: alike.",))
    assert "\nNo reward model has a lower global loss" in render(found) and "warning: Test sessions" in render(found)
    assert "- No reward model" in render_markdown(found) and "> **Warning.** Test sessions" in render_markdown(found)


def test_markdown_is_a_table_and_escapes_names():
    plain = inputs()
    odd = "a|b <script>"
    scores = pa.concat_tables([plain["scores"], rewards(EPISODES, HIDDEN, odd)])
    text = render_markdown(evaluated(**inputs(scores=scores, offsets={**plain["offsets"], odd: TRAINING_MEAN})))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[1].startswith("| --- |")
    assert any(row.startswith(r"| a\|b \<script\> |") for row in rows)
    assert "<script>" not in text


def test_baselines_alone_make_a_table():
    nothing = rewards([], {})
    found = evaluated(**inputs(scores=nothing, rewards=nothing, offsets={}))
    (plain,) = grids(found)
    assert plain.title == "Baselines: 20 test sessions"


def test_tables_of_methods_have_the_baselines_and_every_figure_of_many_sessions_has_an_interval(usual):
    for grid in grids(usual):
        names = [row[0] for row in grid.rows]
        assert grid not in grids(usual)[:2] or {"Mean", "Mode", "Random"} <= set(names)
        assert all("[" in cell for row in grid.rows for cell in row[1:] if cell != NO_FIGURE), grid.title


def test_a_figure_without_an_interval_says_why(usual):
    note = "A figure without an interval rests on a single session"
    assert note in render(evaluated(**inputs(splits=splits(train=NAMES[:30], test=NAMES[35:36]))))
    assert note not in render(usual)


def test_agreement_over_several_scores_of_a_session_is_not_called_one_over_sessions(usual):
    counts = replace(usual.counts, scored_episodes=usual.counts.scored_sessions + 1)
    told, several = (" ".join(footnotes(each)) for each in (usual, replace(usual, counts=counts)))
    assert f"Spearman over {usual.agreement.episodes} sessions (" in told
    assert f"Spearman over {usual.agreement.episodes} scores (" in several
