import numpy as np
import pytest
from scipy.stats import norm

from apportion.foundation.errors import InputError
from apportion.study.design.answers import checked
from apportion.study.simulated_annotators import (
    INDEPENDENT,
    REASON,
    Shared,
    SimulatedAnnotators,
    assigned,
    is_simulated,
    simulated_marks,
    simulated_name,
)
from tests.study.made_up import made_study


@pytest.mark.parametrize("criteria", ["geli", "pairs", "turns", "savoir", "negotiation"])
def test_every_answer_is_one_that_the_study_takes(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria)
    people = SimulatedAnnotators(study, key, careless=frozenset([simulated_name(2)]))
    for item in study.items.values():
        for annotator in map(simulated_name, (1, 2)):
            given = people.answer(annotator, item)
            kept, reason = checked(study.criteria, item, given.answers, given.reason)
            assert kept == given.answers and given.seconds > 0
            assert reason == given.reason == (REASON if criteria == "geli" else "")
    assert is_simulated(annotator) and not is_simulated("a001")


def test_all_but_the_careless_pass_the_checks(tmp_path):
    study, key = made_study(tmp_path / "study", "negotiation", checks_every=2)
    people = SimulatedAnnotators(study, key, careless=frozenset([simulated_name(9)]))
    passed = {
        number: [
            study.checks[item.item].passed(people.answer(simulated_name(number), item).answers)
            for item in study.check_items
        ]
        for number in (1, 9)
    }
    assert all(passed[1]) and not all(passed[9])


def test_the_same_annotator_says_the_same_of_an_item_again(tmp_path):
    study, key = made_study(tmp_path / "study")
    item = study.counted[0]
    one, again = (SimulatedAnnotators(study, key, seed=3).answer("simulated-001", item) for _ in range(2))
    assert one == again
    other = [SimulatedAnnotators(study, key, seed=seed).answer("simulated-001", item) for seed in range(4, 9)]
    assert any(found != one for found in other)


def test_a_policy_with_an_effect_is_marked_as_often_as_that_says(tmp_path):
    study, key = made_study(tmp_path / "study", contexts=60)
    people = SimulatedAnnotators(study, key, {"ppo": 0.8}, shared=INDEPENDENT)
    marked = {policy: [] for policy in key.policies}
    for item in study.counted:
        for number in range(20):
            given = people.answer(simulated_name(number), item).answers["social"]
            for response in item.responses:
                marked[key.policy_of[item.item, response.id]].append(response.id in given)
    # 59 items by 20 people: a standard error of 0.013.
    assert np.mean(marked["base"]) == pytest.approx(0.3, abs=0.05)
    assert np.mean(marked["ppo"]) == pytest.approx(norm.cdf(norm.ppf(0.3) + 0.8), abs=0.05)


def test_an_effect_of_nobody(tmp_path):
    study, key = made_study(tmp_path / "study")
    with pytest.raises(InputError, match="an effect of 'pppo', which is none of the policies base, grpo, ppo"):
        SimulatedAnnotators(study, key, {"pppo": 1.0})


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2, 0.0), (-0.1, 0.0, 0.0, 0.0)])
def test_shares_of_variance_that_cannot_be(shares):
    with pytest.raises(InputError, match="none may be below 0, and all together have to be below 1"):
        Shared(*shares)


def test_everybody_gets_as_many_items_and_none_twice():
    items, people = assigned(20, 3, 7, np.random.default_rng(0))
    assert np.bincount(items).tolist() == [3] * 20
    assert sorted(np.bincount(people)) == [8, 8, 8, 9, 9, 9, 9]
    assert len(set(zip(items.tolist(), people.tolist(), strict=True))) == 60
    with pytest.raises(InputError, match="2 annotators cannot give 3 answers to an item"):
        assigned(20, 3, 2, np.random.default_rng(0))


def test_marks_have_the_shares_that_were_asked_for_and_what_is_shared_correlates_them():
    rng = np.random.default_rng(1)
    items, people = assigned(3000, 2, 3000, rng)
    marks = simulated_marks(
        np.array([[0.2], [0.7]]), Shared(response=0.6, item=0.1, annotator=0.0, taste=0.0), items, people, rng
    )
    assert marks.mean(axis=0)[:, 0] == pytest.approx([0.2, 0.7], abs=0.02)
    of_item = marks[:, 1, 0].reshape(-1, 2)
    # Two answers to one response: the normal numbers below correlate by 0.7.
    assert np.corrcoef(of_item.T)[0, 1] > 0.4
