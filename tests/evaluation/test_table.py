from __future__ import annotations

import pyarrow as pa

from evaluation.evaluate import evaluate
from evaluation.table import NONE, grids, render, render_markdown
from tests.evaluation.made_up import rewards
from tests.evaluation.test_evaluate import EPISODES, HIDDEN, TRAINING_MEAN, guessed, inputs


def test_the_table_shows_every_method_aligned() -> None:
    found = evaluate(**inputs())
    text = render(found)
    models, decompositions = grids(found)
    assert models.header == ("Method", "Global loss", "Below Mean", "Local difference", "Spearman", "AUC")
    assert [row[0] for row in models.rows] == ["far", "near", "Mean", "Mode", "Random", "One annotator"]
    assert decompositions.header == ("Method", "Local difference", "Spearman", "AUC")
    lines = text.splitlines()
    header = next(line for line in lines if line.startswith("Method"))
    row = next(line for line in lines if line.startswith("near"))
    assert row[header.index("Below Mean") - 2 : header.index("Below Mean")] == "  "
    assert "20 test sessions" in lines[0] and "95% percentile bootstrap" in text


def test_the_json_document_renders_alike() -> None:
    found = evaluate(**inputs())
    assert render(found.to_json()) == render(found)


def test_columns_without_figures_are_dropped_with_the_reason() -> None:
    found = evaluate(**inputs(utterance_features=None, turn_labels=None))
    (models, _) = grids(found)
    assert models.header == ("Method", "Global loss", "Below Mean")
    text = render(found)
    assert "Local difference: not given; the corpus has no recordings of behaviour" in text
    assert "Spearman: not given; the corpus has no labels of turns by people" in text
    assert next(row for row in models.rows if row[0] == "Mean")[2] == NONE


def test_the_table_says_what_tells_a_happy_face_and_why() -> None:
    line = "Local difference by smile: no emotion model measured happiness."
    found = evaluate(**inputs())
    assert line in render(found).splitlines() and f"- {line}" in render_markdown(found).splitlines()
    smiles = inputs()["utterance_features"]
    measured = smiles.set_column(smiles.schema.get_field_index("feature"), "feature", [["happiness"] * len(smiles)])
    text = render(evaluate(**inputs(utterance_features=measured)))
    assert "Happy: happiness >= 0.5" in text and "Local difference by" not in text


def test_the_sum_residual_is_shown_where_it_can_be() -> None:
    raw = {s: 2 * v for s, v in HIDDEN.items()}
    shares = {
        e.session_id: (e.score - TRAINING_MEAN) / len(v) + (2 * v - 2 * v.mean())
        for e, v in ((e, HIDDEN[e.session_id]) for e in EPISODES)
    }
    found = evaluate(**inputs(rewards=rewards(EPISODES, shares, "near", raw=raw)))
    assert grids(found)[1].header[1] == "Sum residual"
    assert "no global loss" in render(found)


def test_warnings_are_part_of_the_table() -> None:
    found = evaluate(**inputs(scores=rewards(EPISODES, guessed(), "near")))
    assert "warning: No reward model has a lower global loss" in render(found)
    assert "> **Warning.** No reward model" in render_markdown(found)


def test_markdown_is_a_table_and_escapes_names() -> None:
    plain = inputs()
    odd = "a|b <script>"
    scores = pa.concat_tables([plain["scores"], rewards(EPISODES, HIDDEN, odd)])
    text = render_markdown(evaluate(**inputs(scores=scores, offsets={**plain["offsets"], odd: TRAINING_MEAN})))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[1].startswith("| --- |")
    assert any(row.startswith(r"| a\|b \<script\> |") for row in rows)
    assert "<script>" not in text


def test_baselines_alone_make_a_table() -> None:
    nothing = rewards([], {})
    found = evaluate(**inputs(scores=nothing, rewards=nothing, offsets={}))
    (only,) = grids(found)
    assert only.title == "Baselines: 20 test sessions"
