import pytest

from apportion.study.demo import AFTER, BEFORE, EACH_ITEM, TITLE, make_demo, planted, simulated_names
from tests.study.studies import responses


@pytest.mark.parametrize(("contexts", "expected"), [(3, 3), (11, 3), (12, 4), (31, 9)])
def test_as_many_come_as_give_each_item_three_answers(tmp_path, contexts, expected):
    study = make_demo(responses(contexts, (BEFORE, AFTER)), tmp_path / "study")
    names = simulated_names(study)
    assert len(names) == len(set(names)) == expected and names[0] == "simulated-001"
    assert len(names) * study.settings.items_per_annotator >= EACH_ITEM * len(study.counted)


def test_a_place_is_left_for_who_looks_at_the_pages(tmp_path):
    table = responses(11, (BEFORE, AFTER))
    alone, together = make_demo(table, tmp_path / "alone"), make_demo(table, tmp_path / "two", own_place=True)
    assert alone.settings.annotators_per_item == EACH_ITEM == together.settings.annotators_per_item - 1
    assert simulated_names(alone) == simulated_names(together)


def test_what_annotators_read_names_no_policy_and_says_that_answers_are_simulated(tmp_path):
    study = make_demo(responses(11, (BEFORE, AFTER)), tmp_path / "study")
    assert study.settings.title == TITLE and "simulated annotators" in TITLE
    assert not [name for name in (BEFORE, AFTER) if name in f"{TITLE} {study.instructions} {study.consent}"]
    assert planted(study).effects == {AFTER: 1.0} and planted(study).careless == {"simulated-001"}
