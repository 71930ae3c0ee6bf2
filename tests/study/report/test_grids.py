from dataclasses import replace

import pytest

from apportion.study.report.grids import (
    agreement_grid,
    annotator_grid,
    difference_grids,
    facts,
    interval_grids,
    judge_grid,
    pair_grids,
    paper_grids,
)
from apportion.study.report.make import report_of
from tests.study.made_up import answered, made_study


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    study, key = made_study(tmp_path_factory.mktemp("grids") / "study", contexts=25, items_per_annotator=8)
    rows = answered(study, key, effects={"ppo": 3.0}, careless=1, people=10)
    judged = [
        replace(row, annotator="judge:m") for row in {row.item: row for row in answered(study, key, seed=4)}.values()
    ]
    return report_of(study, key, rows, judged, resamples=100)


def test_the_paper_s_table_has_a_row_a_system_and_stars_of_corrected_ps(report):
    (grid,) = paper_grids(report.people)
    assert grid.header == ("system", *(one.criterion for one in report.people.criteria))
    assert [row[0] for row in grid.rows] == ["base", "grpo", "ppo"]
    place = grid.header.index("social")
    assert "*" not in grid.rows[0][place]
    marks = {cell: row[k].count("*") for row in grid.rows for k, cell in enumerate((row[0], c) for c in grid.header)}
    for one in report.people.compared:
        assert marks[one.system, one.criterion] == (one.p_holm < 0.05) + (one.p_holm < 0.01)
    assert sum(marks.values()) > 0
    assert "splits of the answered items (the first, fourth" in grid.notes[0]


def test_intervals_say_what_is_reversed(report):
    (grid,) = interval_grids(report.people)
    assert grid.notes == (
        "Reversed (100 - % marked), so that more is better: fluency, sensible, specific, inclination.",
    )


def test_differences_carry_every_test_beside(report):
    (grid,) = difference_grids(report.people, report.base)
    assert grid.header[2:] == (
        "difference, points", "p", "p, corrected", "mixed model", "bootstrap of items", "McNemar",
    )  # fmt: skip
    row = next(row for row in grid.rows if row[:2] == ("social", "ppo"))
    found = report.people.difference("social", "ppo")
    assert row[2].startswith(f"+{100 * found.difference.value:.1f} [")
    assert row[-1].startswith(f"{found.marks.only_first} / {found.marks.only_other}, p ")
    assert "for all 18 comparisons" in grid.notes[1]


def test_how_little_intervals_of_few_people_rest_on_is_said(tmp_path):
    study, key = made_study(tmp_path / "study", contexts=41, items_per_annotator=40)
    for people, told in ((2, True), (3, True), (9, True), (10, False)):
        rows = answered(study, key, people=3) if people == 3 else by_many(study, key, people)
        (grid,) = difference_grids(report_of(study, key, rows, resamples=20, mixed=False).people, "base")
        wanted = f"With {people} items or annotators a t has {people - 1} degree{'' if people == 2 else 's'} of freedom"
        assert any(wanted in note for note in grid.notes) == told, people
        assert any("of freedom" in note for note in grid.notes) == told, people


def by_many(study, key, people):
    """As many annotators as are asked for, each with items of their own."""
    rows = [row for row in answered(study, key, people=3) if row.annotator == "simulated-001"]
    names = [f"p{number}" for number in range(people)]
    return [replace(row, annotator=names[place % people]) for place, row in enumerate(rows)]


def test_agreement_annotators_and_judge(report):
    assert len(agreement_grid(report.people).rows) == 9
    annotators = annotator_grid(report)
    assert annotators.rows[0][0] == "simulated-001 (simulated)" and annotators.rows[-1][-1] == "none"
    judge = judge_grid(report.judges[0])
    assert len(judge.rows) == 9 and {len(row) for row in judge.rows} == {len(judge.header)}
    assert dict(facts(report))["flagged"] == "1"


def test_pairs_of_three_systems_are_a_table(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", base=None, contexts=20, items_per_annotator=20)
    report = report_of(study, key, answered(study, key, people=9), resamples=20)
    (grid,) = pair_grids(report.people)
    assert grid.header == ("preferred", "base", "grpo", "ppo")
    assert all(grid.rows[k][k + 1] == "–" for k in range(3))
    assert report.base is None and difference_grids(report.people, None) == []


def test_of_two_systems_the_shares_say_it_already(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", ("base", "ppo"))
    report = report_of(study, key, answered(study, key), resamples=20)
    assert report.people.pairs and pair_grids(report.people) == []
    (grid,) = difference_grids(report.people, "base")
    assert grid.header[2] == "won against the base, %"


def test_ratings_say_their_scale(tmp_path):
    study, key = made_study(tmp_path / "study", "negotiation", items_per_annotator=30)
    report = report_of(study, key, answered(study, key), resamples=20)
    (grid,) = interval_grids(report.people)
    assert grid.notes == ("Scale: 1 to 5.",)
