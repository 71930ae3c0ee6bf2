from dataclasses import replace

import pytest

from apportion.study.design.randomization import lettered
from apportion.study.report.annotators import FlagRules, annotator_figures
from apportion.study.report.tables import unblinded
from tests.study.made_up import answered, made_study


def figures(study, key, rows, rules=None):
    return {one.annotator: one for one in annotator_figures(study, rows, unblinded(study, key, rows), rules)}


@pytest.fixture
def made(tmp_path):
    return made_study(tmp_path / "study", "geli", contexts=25, items_per_annotator=12, checks_every=4)


def test_the_careless_are_flagged_and_nobody_else(made):
    found = figures(*made, answered(*made, people=6, careless=1, effects={"ppo": 1.5}))
    first, *others = found.values()
    assert first.simulated and first.failed == first.checks == 3
    assert any("failed 3 of 3 attention checks" in flag for flag in first.flags)
    assert any("s an item, where the median annotator took" in flag for flag in first.flags)
    assert [one.flags for one in others] == [()] * len(others)


def test_one_failed_check_of_three_is_forgiven(made):
    study, key = made
    rows = answered(study, key)
    place = next(number for number, row in enumerate(rows) if row.item in study.checks)
    name = rows[place].annotator
    rows[place] = replace(rows[place], answers={**rows[place].answers, study.checks[rows[place].item].criterion: []})
    assert (figures(study, key, rows)[name].failed, figures(study, key, rows)[name].flags) == (1, ())
    strict = figures(study, key, rows, FlagRules(failed_checks=0.2))[name]
    assert strict.flags == (f"failed 1 of {strict.checks} attention checks",)


def test_who_always_chooses_the_first_letter_is_flagged(made):
    study, key = made
    rows = []
    for row in answered(study, key):
        if row.annotator == "simulated-003" and row.item not in study.checks:
            first = lettered(row.annotator, study.settings.seed, study.items[row.item])[0].id
            row = replace(row, answers={name: [first] for name in row.answers})
        rows.append(row)
    flags = figures(study, key, rows)["simulated-003"].flags
    assert any(flag == "chose the same letters in all 12 items" for flag in flags)


@pytest.mark.parametrize(("criteria", "given"), [("geli", []), ("pairs", "tie"), ("negotiation", 3)])
def test_one_answer_to_everything_is_flagged(tmp_path, criteria, given):
    study, key = made_study(tmp_path / "study", criteria, contexts=12, items_per_annotator=10)

    def alike(row):
        rated = criteria == "negotiation"
        return {name: dict.fromkeys(value, given) if rated else given for name, value in row.answers.items()}

    rows = [
        replace(row, answers=alike(row)) if row.annotator == "simulated-001" else row for row in answered(study, key)
    ]
    flags = figures(study, key, rows)["simulated-001"].flags
    assert any("gave the same answer to all 10 items" in flag for flag in flags)


def test_who_answers_the_contrary_of_the_others_is_flagged(made):
    study, key = made
    rows = answered(study, key, people=7, effects={"ppo": 3.0, "base": -3.0})
    others = {response.id for item in study.counted for response in item.responses}
    contrary = [
        replace(
            row,
            answers={
                name: sorted({r.id for r in study.items[row.item].responses} & others - set(value))
                for name, value in row.answers.items()
            },
        )
        if row.annotator == "simulated-004" and row.item not in study.checks
        else row
        for row in rows
    ]
    found = figures(study, key, contrary)
    assert [name for name, one in found.items() if any("agrees less" in flag for flag in one.flags)] == [
        "simulated-004"
    ]
    assert found["simulated-004"].kappa < 0 < found["simulated-001"].kappa


def test_of_few_annotators_nobody_is_unlike_the_others(made):
    found = figures(*made, answered(*made, people=3, careless=1))
    assert not any("agrees less" in flag for one in found.values() for flag in one.flags)


def test_times_that_nobody_knows_flag_nobody(made):
    rows = [replace(row, seconds=0.0) for row in answered(*made)]
    assert all(one.seconds is None and not one.flags for one in figures(*made, rows).values())
