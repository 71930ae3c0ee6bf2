from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Missing
from apportion.evaluation.evaluation import Evaluation
from apportion.evaluation.table import footnotes, grids, render
from tests.evaluation.made_up import evaluated, labels
from tests.evaluation.test_evaluate import HIDDEN, inputs, people


def computed(by: str, sign: float = 1.0, name: str = "quality") -> pa.Table:
    """The hidden values as somebody's labels."""
    rows = [(s, 2 * i, by, sign * float(v)) for s, values in HIDDEN.items() for i, v in enumerate(values)]
    table = labels(rows, -50.0, 50.0)
    return table.set_column(table.schema.get_field_index("name"), "name", [[name] * len(table)]).cast(table.schema)


def judged_by(*tables: pa.Table, **changes: object) -> Evaluation:
    return evaluated(**inputs(turn_labels=pa.concat_tables(tables), **changes))


@pytest.fixture(scope="module")
def both() -> Evaluation:
    return judged_by(people(), computed("computed:rollouts"), computed("computed:wrong", -1.0))


def test_of_people_alone_nothing_is_new(both, usual):
    alone = usual
    assert alone.computed == () and "computed" not in alone.to_json()
    # People's figures are the same bits whatever was computed beside them.
    assert replace(both, computed=()) == alone
    assert grids(both)[:2] == grids(alone)[:2]


def test_computed_figures_are_those_that_one_person_with_the_same_labels_would_have(both):
    person = judged_by(computed("ann"))
    rollouts, wrong = both.computed
    assert (rollouts.by, wrong.by) == ("computed:rollouts", "computed:wrong")
    of_person = {row.method: (row.spearman, row.auc) for row in (*person.reward_models, *person.baselines)}
    assert {r.method: (r.spearman, r.auc) for r in rollouts.reward_models}.items() <= of_person.items()
    assert {"near", "far", "Random"} == {row.method for row in rollouts.reward_models}
    divided = {row.method: (row.spearman, row.auc) for row in person.decompositions}
    assert {r.method: (r.spearman, r.auc) for r in rollouts.decompositions if r.method != "Random"} == divided
    assert rollouts.counts == person.agreement
    paired = {(c.figure, c.method, c.against): c.difference for c in person.comparisons if c.among == "reward_models"}
    for c in rollouts.comparisons:
        if c.among == "reward_models":
            assert c.difference == paired[c.figure.removeprefix("computed_"), c.method, c.against]


def test_two_computations_are_never_averaged(both):
    rollouts, wrong = ({row.method: row.spearman.value for row in found.reward_models} for found in both.computed)
    assert rollouts["near"] > 0.9 and wrong["near"] == pytest.approx(-rollouts["near"])


def test_the_tables_say_whose_labels_they_are(both):
    text = render(both)
    assert (
        "Reward models and labels of computed:rollouts: " in text
        and "Decompositions and labels of computed:wrong" in text
    )
    assert "Spearman (computed)" in text and "nobody judged these turns" in text
    notes = " ".join(footnotes(both))
    assert "People: labels 'quality'." in notes and "computed:rollouts, which nobody judged: labels 'quality'." in notes
    assert Evaluation.from_json(both.to_json()) == both


def test_without_people_the_agreement_with_people_is_missing():
    found = judged_by(computed("computed:rollouts"))
    assert found.agreement == Missing("the corpus has no labels of turns by people")
    assert isinstance(found.human, Missing) and all(isinstance(row.spearman, Missing) for row in found.reward_models)
    assert len(found.computed) == 1
    header = grids(found)[0].header
    assert "Spearman" not in header and "AUC" not in header


def test_names_are_chosen_for_both_and_several_computed_ones_stand_side_by_side():
    tables = people(), computed("computed:rollouts"), computed("computed:rollouts", name="goal")
    settings = inputs()["settings"]
    found = judged_by(*tables)
    assert [c.counts.label for c in found.computed] == ["goal", "quality"] and found.agreement.label == "quality"
    (chosen,) = judged_by(*tables, settings=settings.model_copy(update={"label": "quality"})).computed
    assert chosen.counts.label == "quality"


def test_labels_of_other_sessions_give_a_reason():
    elsewhere = labels([("nowhere", 0, "computed:rollouts", 2.0)])
    found = judged_by(people(), elsewhere)
    assert found.computed[0].counts == Missing("no held-out target turn has a label 'quality'")
    assert "computed:rollouts: no held-out target turn has a label 'quality'." in footnotes(found)
    assert np.all([isinstance(row.auc, Missing) for row in found.computed[0].reward_models])
