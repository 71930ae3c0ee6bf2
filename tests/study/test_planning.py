import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from apportion.commands.study.power import power_command
from apportion.evaluation.human_agreement.mixed_model import mixed_mean
from apportion.foundation.errors import InputError
from apportion.study.planning import Plan, plan_of, planned
from apportion.study.power import Components, components_of_marks, power
from apportion.study.report.tables import unblinded
from apportion.study.rows import IMPORTED, rows_text
from apportion.study.simulated_annotators import Shared
from tests.study.made_up import answered, made_study


def test_without_a_study_it_is_the_paper_s_size():
    found = planned(Plan(differences=(5.0,)))
    assert (found.design.items, found.design.annotators, found.design.comparisons) == (100, 30, 63)
    (told,) = found.differences
    assert told.power == power(found.design, 0.05, components_of_marks(0.2, 0.25, Shared()))
    assert found.design.with_items(told.items_needed).annotators == told.annotators_needed
    assert found.unit == "points" and 10 < found.smallest < 30


def test_of_a_study_the_size_is_its_own(tmp_path):
    study, key = made_study(tmp_path / "study", contexts=25, items_per_annotator=8)
    plan = plan_of(study.path, Plan(annotators=40))
    assert (plan.items, plan.per_item, plan.annotators) == (24, 3, 40)
    assert (plan.systems, plan.criteria) == (len(key.policies), 9)
    assert plan_of(study.path, Plan()).annotators == 9
    more = plan_of(study.path, Plan(items=80, per_item=4))
    assert (more.items, more.per_item, more.annotators) == (80, 4, 40)


def test_of_ratings_differences_are_steps_of_the_scale():
    found = planned(Plan(sd=1.0, independent=True, systems=2, criteria=1))
    assert found.unit == "steps" and found.smallest < 1
    assert "ratings with sd 1; answers have nothing in common" in found.text()


def test_variances_that_are_known_go_before_what_is_assumed():
    known = Components(0.05, 0.02, 0.3)
    found = planned(Plan(known=known, differences=(10.0,)))
    assert found.differences[0].power == power(found.design, 0.1, known)
    assert "as in the pilot: items 0.05, annotators 0.02, answers 0.3" in found.text()


@pytest.mark.parametrize(("criteria", "sd"), [("geli", None), ("savoir", 1.0)])
def test_a_pilot_tells_how_much_answers_have_in_common(tmp_path, criteria, sd):
    study, key = made_study(tmp_path / "study", criteria, ("base", "ppo"), contexts=25)
    with pytest.raises(InputError, match="no difference of this study has answers enough"):
        plan_of(study.path, Plan(pilot=True, sd=sd))
    rows = answered(study, key, people=9)
    (study.path / IMPORTED).mkdir()
    (study.path / IMPORTED / "x.jsonl").write_text(rows_text(rows))
    plan = plan_of(study.path, Plan(pilot=True, sd=sd))
    kind = "select" if sd is None else "rating"
    of_kind = [one.answers for one in unblinded(study, key, rows).criteria.values() if one.criterion.kind == kind]
    fits = [mixed_mean(a.values[:, 1] - a.values[:, 0], a.items, a.annotators) for a in of_kind]
    assert plan.known.rest == pytest.approx(np.mean([fit.residual_variance for fit in fits]))
    assert "as in the pilot" in planned(plan).text()


def test_a_pilot_without_a_base(tmp_path):
    study, _ = made_study(tmp_path / "study", base=None)
    with pytest.raises(InputError, match="a pilot needs a base to compare to"):
        plan_of(study.path, Plan(pilot=True))


def test_a_difference_that_nobody_can_see():
    found = planned(Plan(items=2, annotators=2, per_item=1, differences=(0.001,)))
    assert found.smallest is None and found.differences[0].items_needed is None
    assert "too many" in found.text() and "smallest difference" not in found.text()
    assert "no difference that can be is told with a power of 0.8 after correction" in found.text()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"differences": (90.0,)}, "a difference of 90 points from a base of 20%"),
        ({"sd": 1.0, "simulate": 5}, "studies are simulated with marks"),
        ({"differences": (0.0,)}, "a difference of 0: a number is needed, and not 0"),
        ({"differences": (math.nan,)}, "a difference of nan: a number is needed"),
        ({"sd": 1.0, "differences": (math.inf,)}, "a difference of inf: a number is needed"),
        ({"differences": (-20.0,)}, "a difference of -20 points from a base of 20%: shares are above 0"),
        ({"wanted": math.nan}, "a wanted power of nan: it has to be above 0 and below 1"),
        ({"wanted": 1.0}, "a wanted power of 1"),
        ({"base_share": math.nan}, "a share of marks of nan: it has to be above 0 and below 1"),
        ({"sd": 0.0}, "a standard deviation of 0: it has to be above 0"),
        ({"pilot": True}, "a pilot is a study that has answers: name its folder"),
    ],
)
def test_what_cannot_be_planned(plan, message):
    with pytest.raises(InputError, match=message):
        planned(Plan(**plan))


def test_a_loss_is_as_clear_as_the_gain_of_what_is_not_marked():
    """8 points less than 92 % marked are 8 points more than 8 % unmarked."""
    (loss,) = planned(Plan(base_share=0.92, differences=(-8.0,))).differences
    (gain,) = planned(Plan(base_share=0.08, differences=(8.0,))).differences
    assert loss.power.corrected == pytest.approx(gain.power.corrected, abs=1e-6)
    assert loss.items_needed == gain.items_needed


@pytest.mark.parametrize(("share", "told"), [(0.2, [2, 3, 5, 7, 10, 13]), (0.92, [2, 3, 5, 7]), (0.99, [-2, -3, -5])])
def test_what_is_told_unasked_fits_the_base(share, told):
    found = [one.difference for one in planned(Plan(base_share=share)).differences]
    assert found[: len(told)] == told and len(found) in (len(told), 6)


def test_the_command_tells_both_ways(tmp_path):
    study, _ = made_study(tmp_path / "study")
    asked = [str(study.path), "--difference", "10", "--simulate", "3", "--systems", "2", "--criteria", "1"]
    shown = CliRunner().invoke(power_command, asked, catch_exceptions=False)
    assert "counted" in shown.output and "11 items, 3 of 5 annotators an item" in shown.output
    told = json.loads(CliRunner().invoke(power_command, [*asked, "--json"], catch_exceptions=False).output)
    assert told["differences"][0]["counted"]["alone"] in (0, 1 / 3, 2 / 3, 1)


@pytest.mark.parametrize(
    ("criteria", "sd", "told"),
    [
        ("pairs", None, r"it asks pair \(better\).*, and power is told of select .*Neither pairs"),
        ("turns", None, r"it asks turns .*Neither pairs, nor turns"),
        ("turns", 1.0, r"it asks turns .*, and power is told of rating"),
        ("negotiation", 1.0, r"it asks rating .*Neither pairs, nor turns, nor ratings of one response"),
        ("geli", 1.0, r"it asks select .*, and power is told of rating .*Leave out --ratings"),
        ("savoir", None, r"it asks .*give --ratings SD"),
    ],
)
def test_what_is_asked_otherwise_is_not_planned_as_marks(tmp_path, criteria, sd, told):
    study, _ = made_study(tmp_path / "study", criteria)
    with pytest.raises(InputError, match=told):
        plan_of(study.path, Plan(sd=sd))
