import sys
from dataclasses import replace

import pytest

from apportion.foundation.errors import InputError
from apportion.study.all_answers import gathered
from apportion.study.import_export.exchange import bring
from apportion.study.rows import IMPORTED, JUDGED, rows_text
from apportion.study.simulated_annotators import SimulatedAnnotators
from apportion.study.store.rows import Answer
from apportion.study.store.store import Store
from tests.study.import_export.test_mturk_results import filled, written
from tests.study.made_up import answered, made_study


def answer_through_the_store(study, key, people=2):
    """Simulated annotators who come by links and answer all that they are given."""
    simulated, store = SimulatedAnnotators(study, key), Store.open(None, study)
    for link in store.add_links(people):
        annotator = store.enter(link.token).id
        store.agree(annotator)
        store.read_instructions(annotator)
        while (place := store.next_place(annotator)).item is not None:
            given = simulated.answer(annotator, study.items[place.item])
            answer = Answer(given.answers, given.reason, given.seconds, given.focus_lost)
            store.save(annotator, place.item, answer, 0, f"{annotator}-{place.item}")
        store.finish(annotator)
    rows = store.answers()
    store.close()
    return rows


def test_answers_of_the_pages_of_elsewhere_and_of_judges(tmp_path):
    study, key = made_study(tmp_path / "study")
    assert gathered(study).people == ()
    own = answer_through_the_store(study, key)
    rows = answered(study, key)
    for folder, some in ((IMPORTED, rows[:3]), (JUDGED, rows[3:5])):
        (study.path / folder).mkdir()
        (study.path / folder / "x.jsonl").write_text(rows_text(some))
    found = gathered(study)
    assert [row for row in found.people if row.annotator.startswith("a")] == own
    assert len(found.people) == len(own) + 3 and len(found.judges) == 2


def test_an_item_that_was_answered_here_and_elsewhere(tmp_path):
    study, key = made_study(tmp_path / "study")
    own = answer_through_the_store(study, key, people=1)
    (study.path / IMPORTED).mkdir()
    (study.path / IMPORTED / "x.jsonl").write_text(rows_text(own[:1]))
    with pytest.raises(InputError, match=r"answered item .* on the study's pages, and in .*imported, too"):
        gathered(study)
    (study.path / IMPORTED / "x.jsonl").unlink()
    lines, _ = filled(study, key, workers=1)
    counted = {row.item for row in own}
    lines = [{**line, "WorkerId": own[0].annotator} for line in lines if line["Input.item"] in counted]
    with pytest.raises(InputError, match=r"and did so on the study's own pages\. Nothing was kept"):
        bring(study.path, written(lines, tmp_path / "r.csv"))
    assert not list((study.path / IMPORTED).iterdir())


def test_without_what_reads_a_database_it_says_what_to_install(tmp_path, monkeypatch):
    study, key = made_study(tmp_path / "study")
    answer_through_the_store(study, key, people=1)
    monkeypatch.setitem(sys.modules, "apportion.study.store.store", None)
    with pytest.raises(InputError, match=r"study\.store\.store is needed .*`pip install 'apportion\[study\]'"):
        gathered(study)


def test_a_database_that_is_named_is_there(tmp_path):
    study, _ = made_study(tmp_path / "study")
    with pytest.raises(InputError, match=r"away.sqlite: no such database. Name the one that"):
        gathered(study, tmp_path / "away.sqlite")
    assert not (tmp_path / "away.sqlite").exists()


@pytest.mark.parametrize("folder", [IMPORTED, JUDGED])
@pytest.mark.parametrize(
    ("criteria", "answers", "message"),
    [
        ("negotiation", {"fair": {"rX": 3}}, "'fair': .*rX"),
        ("negotiation", {"fair": "3"}, "'fair': "),
        ("negotiation", {"fair": 9999}, "'fair': "),
        ("geli", {"fluency": "A"}, "'fluency': "),
        ("geli", {"fluency": ["rX"]}, "'fluency': .*rX"),
        ("geli", {"nice": []}, "'nice': no such criterion"),
        ("pairs", {"better": "A"}, "'better': "),
        ("turns", {"good": {"0": 99}}, ""),
    ],
)
def test_what_a_file_beside_a_study_has_is_an_answer_to_what_was_asked(tmp_path, folder, criteria, answers, message):
    study, key = made_study(tmp_path / "study", criteria)
    first, second, *_ = (row for row in answered(study, key) if row.item in {item.item for item in study.counted})
    (study.path / folder).mkdir()
    rows = rows_text([first]) + rows_text([replace(second, answers=answers)])
    (study.path / folder / "x.jsonl").write_text(rows)
    told = rf"x\.jsonl, line 2: annotator {second.annotator}, item {second.item}, {message}"
    with pytest.raises(InputError, match=told):
        gathered(study)


def test_an_item_that_the_study_has_not(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    (study.path / IMPORTED).mkdir()
    (study.path / IMPORTED / "x.jsonl").write_text(rows_text([replace(answered(study, key)[0], item="i9999")]))
    with pytest.raises(InputError, match=r"x\.jsonl, line 1: annotator .* answers item 'i9999', which .* has not"):
        gathered(study)
