import json
import math
from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from apportion.evaluation.human_agreement.two_way_anova import mean_of_answers
from apportion.foundation.errors import InputError
from apportion.study.design.unblinding_key import read_key
from apportion.study.report.make import report_of
from apportion.study.report.tables import unblinded
from apportion.study.report.write import as_json
from tests.study.made_up import answered, made_study
from tests.study.studies import responses, study_in


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    study, key = made_study(tmp_path_factory.mktemp("study") / "s", contexts=21, items_per_annotator=10)
    rows = answered(study, key, people=6, effects={"ppo": 0.9}, careless=1)
    return study, key, rows, report_of(study, key, rows, resamples=200)


def marks(study, key, rows, criterion):
    """Straight from the rows: by policy, what each (item, annotator) said."""
    reversed_ = study.criteria.by_name[criterion].reversed
    found = {policy: {} for policy in key.policies}
    for row in (row for row in rows if row.item not in study.checks):
        for response in study.items[row.item].responses:
            value = float((response.id in row.answers[criterion]) != reversed_)
            found[key.policy_of[row.item, response.id]][row.item, row.annotator] = value
    return found


@pytest.mark.parametrize("criterion", ["social", "fluency"])
def test_alpha_and_mcnemar_are_those_of_others_on_the_rows_themselves(made, criterion):
    study, key, rows, report = made
    found = marks(study, key, rows, criterion)
    people = sorted({row.annotator for row in rows})
    items = [item.item for item in study.counted]
    ratings = [[found[p].get((item, who), np.nan) for p in key.policies for item in items] for who in people]
    (table,) = (one for one in report.people.criteria if one.criterion == criterion)
    assert table.alpha == pytest.approx(krippendorff.alpha(ratings, level_of_measurement="nominal"))
    compared = report.people.difference(criterion, "ppo")
    both = [(found["ppo"][place], found["base"][place]) for place in found["base"]]
    table_2x2 = [[sum(pair == (a, b) for pair in both) for b in (1.0, 0.0)] for a in (1.0, 0.0)]
    assert compared.marks.p == pytest.approx(mcnemar(table_2x2, exact=True).pvalue)
    assert compared.difference.value == pytest.approx(np.mean([a - b for a, b in both]))


def test_all_comparisons_of_the_table_are_corrected_together(made):
    *_, report = made
    raw = [one.difference.p for one in report.people.compared]
    assert len(raw) == 18
    assert [one.p_holm for one in report.people.compared] == pytest.approx(multipletests(raw, method="holm")[1])


def test_splits_are_every_third_item(made):
    study, key, rows, report = made
    found = marks(study, key, rows, "social")["base"]
    items = sorted({item for item, _ in found})
    means = [np.mean([value for (item, _), value in found.items() if items.index(item) % 3 == k]) for k in range(3)]
    (table,) = (one for one in report.people.criteria if one.criterion == "social")
    assert (table.cells[0].splits.mean, table.cells[0].splits.sd) == pytest.approx((np.mean(means), np.std(means)))


def test_the_table_without_flagged_annotators_is_that_of_the_others_alone(made):
    study, key, rows, report = made
    assert [one.annotator for one in report.flagged] == ["simulated-001"]
    rest = report_of(study, key, [row for row in rows if row.annotator != "simulated-001"], resamples=200)
    assert report.unflagged.criteria == rest.people.criteria
    assert report.unflagged.annotators == report.people.annotators - 1
    assert rest.unflagged is None


def test_simulated_annotators_are_named_first(made):
    study, key, rows, report = made
    assert report.simulated == len(report.annotators) and "Simulated annotators, no people: all of" in report.notes[0]
    mixed = [replace(row, annotator="a001") if row.annotator == "simulated-002" else row for row in rows]
    assert (
        f"{report.simulated - 1} of {report.simulated} annotators are simulated"
        in report_of(study, key, mixed, resamples=20, mixed=False).notes[0]
    )


def test_checks_and_times(made):
    study, _, rows, report = made
    checks = [row for row in rows if row.item in study.checks]
    assert report.checks == len(checks) and report.failed_checks >= 1
    seconds = [row.seconds for row in rows if row.item not in study.checks]
    assert (report.times.low_s, report.times.median_s) == pytest.approx(tuple(np.quantile(seconds, [0.25, 0.5])))


def test_a_judge_is_a_table_of_its_own_with_its_agreement(made):
    study, key, rows, report = made
    judged = [
        replace(row, annotator=name)
        for name in ("judge:m", "judge:m#2")
        for row in {row.item: row for row in answered(study, key, seed=8, effects={"ppo": 2.0, "grpo": 0.5})}.values()
    ]
    beside = report_of(study, key, rows, judged, resamples=200)
    assert beside.people == report.people and beside.annotators == report.annotators
    (judge,) = beside.judges
    assert judge.name == "m" and [cell.items for cell in judge.table.criteria[0].cells] == [20, 20, 20]
    (social,) = (one for one in judge.agreement if one.criterion == "social")
    means = [
        [next(c for c in table.criteria if c.criterion == "social").cells[k].value for k in range(3)]
        for table in (judge.table, report.people)
    ]
    assert social.correlation == pytest.approx(pearsonr(*means).statistic)
    assert social.rank_correlation == pytest.approx(spearmanr(*means).statistic)
    people = unblinded(study, key, rows).criteria["social"]
    own = unblinded(study, key, judged[: len(judged) // 2]).criteria["social"]
    ratings = np.full((len(people.judged.by_unit()), people.judged.by_unit().shape[1] + 1), np.nan)
    ratings[:, :-1] = people.judged.by_unit()
    units = np.unique(people.judged.items)
    ratings[np.searchsorted(units, own.judged.items), -1] = own.judged.values[:, 0]
    assert social.alpha_with == pytest.approx(krippendorff.alpha(ratings.T, level_of_measurement="nominal"))
    assert social.alpha_people == pytest.approx(report.people.criteria[4].alpha)


def test_pairs_are_told_as_shares_won(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs", contexts=20, items_per_annotator=20)
    rows = answered(study, key, people=8, effects={"ppo": 1.5})
    report = report_of(study, key, rows, resamples=100)
    won = {(cell.system, cell.other): cell for cell in report.people.pairs}
    assert won["ppo", "base"].value + won["base", "ppo"].value == pytest.approx(1)
    assert won["ppo", "base"].value > 0.7 and won["ppo", "base"].low > 0.5
    compared = report.people.difference("better", "ppo").difference.value
    assert compared == pytest.approx(2 * won["ppo", "base"].value - 1)


def test_systems_that_no_answer_shows_together_are_compared_by_means(tmp_path):
    study, key = made_study(tmp_path / "study", "negotiation", contexts=20, items_per_annotator=20)
    report = report_of(study, key, answered(study, key, people=9, effects={"ppo": 1.5}), resamples=100)
    compared = report.people.difference("fair", "ppo")
    cells = {cell.system: cell.value for cell in next(c for c in report.people.criteria if c.criterion == "fair").cells}
    assert compared.difference.value == pytest.approx(cells["ppo"] - cells["base"])
    assert compared.marks is None and report.people.uncompared == ()


def test_turns_are_means_a_turn(tmp_path):
    study, key = made_study(tmp_path / "study", "turns")
    rows = answered(study, key)
    report = report_of(study, key, rows, resamples=100)
    one = unblinded(study, key, rows).criteria["landed"].answers
    expected = mean_of_answers(one.values[:, 0], one.items, one.annotators)
    (cell,) = report.people.criteria[0].cells
    assert (cell.value, cell.low, cell.high) == (expected.value, expected.low, expected.high)
    assert report.people.compared == () and report.base is None


def test_what_is_not_finished_or_not_to_be_told_apart_is_said(tmp_path):
    study, key = made_study(tmp_path / "study")
    rows = answered(study, key, people=1)
    report = report_of(study, key, rows, resamples=20)
    assert any("Not finished: 11 items" in note for note in report.notes)
    assert report.people.compared[0].difference.p is None and report.people.compared[0].mixed is None
    json.loads(as_json(report))


def test_identical_responses_are_said_before_the_figures(tmp_path):
    def alike(policies):
        table = responses(6, ("base", "grpo", "ppo"))
        rows = [{**row, "response": "Ok."} if row["policy"] in policies else row for row in table.to_pylist()]
        return table.from_pylist(rows, schema=table.schema)

    for policies, told in (
        (("base", "ppo"), "Two or more of the responses are identical in 5 items"),
        (("base", "grpo", "ppo"), "Identical responses in 5 items"),
    ):
        study = study_in(tmp_path / "-".join(policies), table=alike(policies), base="base", items_per_annotator=5)
        key = read_key(study.path)
        found = report_of(study, key, answered(study, key, people=3), resamples=20, mixed=False).notes
        assert [note.partition(" (")[0] for note in found if "dentical" in note] == [told]


def test_without_a_base_nothing_is_compared_and_that_is_said(tmp_path):
    study, key = made_study(tmp_path / "study", base=None)
    rows = answered(study, key)
    report = report_of(study, key, rows, resamples=20)
    assert report.people.compared == () and any("No base was named" in note for note in report.notes)
    named = report_of(study, key, rows, base="grpo", resamples=20)
    assert {one.system for one in named.people.compared} == {"base", "ppo"}
    with pytest.raises(InputError, match=r"base 'gpro': no such policy; there are base, grpo, ppo\. .*grpo"):
        report_of(study, key, rows, base="gpro")


def test_no_answer_is_no_report(tmp_path):
    study, key = made_study(tmp_path / "study")
    with pytest.raises(InputError, match="no answer yet to an item that counts"):
        report_of(study, key, [row for row in answered(study, key) if row.item in study.checks])


def test_as_json_it_is_all_there_and_numbers_are_numbers(made):
    *_, report = made
    document = json.loads(as_json(report), parse_constant=lambda text: pytest.fail(text))
    assert document["format"] == 1 and document["simulated_annotators"] == report.simulated
    first = document["people"]["compared"][0]
    assert first["difference"]["value"] == report.people.compared[0].difference.value
    assert all(math.isfinite(cell["value"]) for one in document["people"]["criteria"] for cell in one["cells"])


@pytest.mark.parametrize("package", ["krippendorff", "statsmodels"])
def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch, package):
    study, key = made_study(tmp_path / "study", "pairs")
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None if name == package else 1)
    with pytest.raises(InputError, match=rf"needs {package}. Install it with `pip install 'apportion\[study\]'`"):
        report_of(study, key, ())
