import json
import re
from xml.etree import ElementTree

import pytest

from apportion.foundation.errors import InputError
from apportion.viewer.labels.label import Question, question_on
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.label_studio import (
    AFTER,
    BEFORE,
    MARK,
    export_tasks,
    import_answers,
    interface,
    read_answers,
)
from tests.viewer.labels.given import HOSTILE, LANDING, corpus, label


@pytest.fixture
def made(tmp_path):
    return corpus(tmp_path / "corpus")


def answered(tasks, value, kind="choices", who=1, **more):
    """An export of Label Studio, written by hand as its docs say: one person gave every task the same answer."""
    answer = {"choices": {"choices": [f"{value:g}"]}, "rating": {"rating": value}, "number": {"number": value}}[kind]
    result = [
        {"id": "r1", "from_name": "label", "to_name": "dialogue", "type": kind, "origin": "manual", "value": answer}
    ]
    annotation = {
        "id": 7, "completed_by": who, "result": result, "was_cancelled": False, "ground_truth": False, "lead_time": 3.1,
        "created_at": "2026-11-23T08:00:00.1Z", "updated_at": "2026-11-23T08:00:01.1Z", **more,
    }  # fmt: skip
    return [
        {
            "id": number,
            "data": task["data"],
            "annotations": [{**annotation}],
            "drafts": [],
            "predictions": [],
            "meta": {},
        }
        for number, task in enumerate(tasks, start=1)
    ]


def written(tmp_path, value):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_every_target_turn_is_a_task_that_tells_nothing_of_the_score(made):
    tasks = export_tasks(made, LANDING, "satisfaction", (), None)
    assert [(task["data"]["session_id"], task["data"]["turn"]) for task in tasks.tasks] == [
        (f"s{session}", turn) for session in range(3) for turn in (1, 3, 5, 7)
    ]
    assert not re.search("satisfaction|score|reward|prediction", json.dumps(tasks.tasks))
    dialogue = tasks.tasks[1]["data"]["dialogue"]
    assert [one["author"] for one in dialogue if one["author"].startswith(MARK)] == [f"{MARK}bob"]
    assert json.loads(tasks.to_json()) == list(tasks.tasks)


def test_a_task_shows_a_window_of_a_long_dialogue(tmp_path):
    tasks = export_tasks(corpus(tmp_path / "long", 1, 60), LANDING, None, (), None).tasks
    assert max(len(task["data"]["dialogue"]) for task in tasks) == BEFORE + 1 + AFTER
    assert len(tasks) == 30


def test_hostile_text_is_text_in_the_tasks_and_in_the_interface(made):
    tasks = export_tasks(made, LANDING, None, ("s0",), None)
    text = next(one["text"] for one in tasks.tasks[1]["data"]["dialogue"] if "script" in one["text"])
    assert text == HOSTILE.replace("\u202e", "")
    hostile = Question("landing", f"{HOSTILE[:28]}\"/></View><x y='", 1.0, 5.0, 1.0, "<b>", "\"'>")
    view = ElementTree.fromstring(interface(hostile))
    assert [child.tag for child in view] == ["Paragraphs", "Header", "Choices"]
    assert view.find("Header").get("value").startswith(hostile.asks)
    assert [choice.get("alias") for choice in view.find("Choices")] == ["1", "2", "3", "4", "5"]
    assert view.find("Choices")[0].get("value") == "1 <b>"


def test_a_fine_scale_is_a_number():
    view = ElementTree.fromstring(interface(question_on("0 to 100")))
    assert view.find("Number").attrib == {"name": "label", "toName": "dialogue", "min": "0", "max": "100", "step": "1"}


def test_labels_go_along_as_predictions_only_where_they_are_asked_for(made, tmp_path):
    overlay = Overlay(tmp_path / "o")
    overlay.ask(LANDING)
    overlay.add(label(value=2.0), label(value=4.0, annotator="kim"))
    first, second = export_tasks(made, LANDING, None, ("s0",), overlay).tasks[:2]
    told = [(one["model_version"], one["result"][0]["value"]) for one in first["predictions"]]
    assert told == [("eve", {"choices": ["2"]}), ("kim", {"choices": ["4"]})]
    assert second["predictions"] == []
    overlay.add(label("s9"))
    with pytest.raises(InputError, match="session 's9', turn 1"):
        export_tasks(made, LANDING, None, ("s0",), overlay)


@pytest.mark.parametrize("kind", ["choices", "rating", "number"])
@pytest.mark.parametrize(("who", "named"), [(3, "label-studio:3"), ({"id": 3, "email": "a@b.org"}, "a@b.org")])
def test_what_was_answered_there_is_a_label_here(made, tmp_path, kind, who, named):
    tasks = export_tasks(made, LANDING, None, (), None).tasks
    path = written(tmp_path, answered(tasks, 4.0, kind, who))
    overlay = Overlay(tmp_path / "o")
    answers = import_answers(path, made, overlay, LANDING)
    standing = overlay.labels().standing
    assert len(standing) == 12 and answers.notes == ()
    assert {(one.annotator, one.value, one.blind) for one in standing.values()} == {(named, 4.0, True)}


def test_skipped_tasks_are_told_and_the_last_annotation_of_a_person_counts(made, tmp_path):
    first, second, third = answered(export_tasks(made, LANDING, None, ("s0",), None).tasks[:3], 2.0)
    first["annotations"].insert(0, {**answered([first], 5.0, updated_at="2026-11-24")[0]["annotations"][0]})
    second["annotations"][0] |= {"was_cancelled": True}
    third["annotations"][0] |= {"result": [{"from_name": "other", "type": "textarea", "value": {"text": ["x"]}}]}
    answers = read_answers(written(tmp_path, [first, second, third]), made, LANDING)
    assert [one.value for one in answers.labels] == [5.0]
    assert answers.notes == (
        "1 annotations without an answer", "1 earlier annotations by the same person", "1 skipped tasks",
    )  # fmt: skip


def test_an_export_that_is_imported_again_undoes_nothing_newer(made, tmp_path):
    tasks = export_tasks(made, LANDING, None, ("s0",), None).tasks
    path = written(tmp_path, answered(tasks, 2.0, who="eve", updated_at="2026-11-23T10:00:00+05:00"))
    overlay = Overlay(tmp_path / "o")
    assert len(import_answers(path, made, overlay, LANDING).labels) == 4
    size = overlay.path.stat().st_size
    overlay.add(label("s0", 1, 5.0, at="2026-11-23T06:00:00+00:00"), label("s0", 3, None, at="2026-11-23T06:00:00Z"))
    overlay.add(label("s0", 5, 4.0, at="2026-11-23T04:00:00Z"))
    added = overlay.path.stat().st_size
    again = import_answers(path, made, overlay, LANDING)
    assert [(one.turn, one.value) for one in again.labels] == [(5, 2.0)]
    assert again.notes == ("3 answers that the labels have already, or newer ones than those",)
    assert {key[1]: one.value for key, one in overlay.labels().standing.items()} == {1: 5.0, 5: 2.0, 7: 2.0}
    assert size < added < overlay.path.stat().st_size < added + size / 2


def test_the_last_annotation_is_told_by_its_time_and_not_by_how_that_is_written(made, tmp_path):
    (task,) = answered(
        export_tasks(made, LANDING, None, ("s0",), None).tasks[:1], 2.0, updated_at="2026-11-24T02:00:00+05:00"
    )
    (later,) = answered([task], 5.0, updated_at="2026-11-24T00:00:00Z")
    task["annotations"] += later["annotations"]
    (kept,) = read_answers(written(tmp_path, [task]), made, LANDING).labels
    assert kept.value == 5.0
    assert label(at="soon").moment < label(at="1999-01-01").moment < label(at="1999-01-01T00:00:01Z").moment


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: {"a": 1}, "no list of tasks"),
        (lambda e: [3], "no list of tasks"),
        (lambda e: [{"id": 1, "label": "4", "annotator": 1, "session_id": "s0"}], "the short form of the export"),
        (lambda e: [{"id": 9, "data": {"text": "hello"}}], "task 9: its data do not say which turn it is"),
        (lambda e: [{**e[0], "data": {**e[0]["data"], "turn": True}}], "do not say which turn"),
        (lambda e: [{**e[0], "data": {**e[0]["data"], "session_id": "s77"}}], "has not: session 's77', turn 1"),
        (lambda e: [{**e[0], "data": {**e[0]["data"], "turn": 2_000}}], "has not: session 's0', turn 2000"),
        (lambda e: [{**e[0], "data": {**e[0]["data"], "said": "x"}}], "other words than .*: session 's0', turn 1"),
        (lambda e: [{**e[0], "data": {**e[0]["data"], "question": "tone"}}], "answers 'tone', not 'landing'"),
        (lambda e: [{"id": 1, "data": e[0]["data"]}], "no list of annotations"),
        (lambda e: [{**e[0], "annotations": [{"result": None}]}], "without a list of results"),
        (lambda e: [{**e[0], "annotations": []}], "no answer to 'landing' in 1 tasks"),
        (lambda e: answered(e[:1], 9.0), "the answer '9' is not on the scale 1 to 5 by steps of 1"),
        (lambda e: answered(e[:1], float("nan"), "rating"), "the answer nan is not on the scale"),
        (lambda e: answered(e[:1], 4.0, who=None), "does not say who gave it"),
        (lambda e: answered(e[:1], 4.0, who="computed:x"), "task 1: the annotator's name 'computed:x'"),
        (lambda e: answered(e[:1], 4.0, who="\u202e"), "U\\+202E"),
    ],
)
def test_what_is_no_export_of_these_tasks_is_refused_by_name(made, tmp_path, change, said):
    export = answered(export_tasks(made, LANDING, None, ("s0",), None).tasks, 4.0)
    overlay = Overlay(tmp_path / "o")
    with pytest.raises(InputError, match=said):
        import_answers(written(tmp_path, change(export)), made, overlay, LANDING)
    assert not overlay.path.exists(), "nothing of it is kept"


def test_two_answers_and_an_answer_of_another_kind_are_refused(made, tmp_path):
    export = answered(export_tasks(made, LANDING, None, ("s0",), None).tasks[:1], 4.0)
    results = export[0]["annotations"][0]["result"]
    results.append(dict(results[0]))
    with pytest.raises(InputError, match="2 answers in one annotation"):
        read_answers(written(tmp_path, export), made, LANDING)
    results[:] = [{**results[0], "type": "taxonomy"}]
    with pytest.raises(InputError, match=r"of the type 'taxonomy'. Allowed are choices, rating, number"):
        read_answers(written(tmp_path, export), made, LANDING)


def test_what_cannot_be_exported_is_said(made):
    with pytest.raises(InputError, match="no session 's9'"):
        export_tasks(made, LANDING, None, ("s9",), None)
    with pytest.raises(InputError, match=r"no rating 'satisfactoin'; did you mean 'satisfaction'"):
        export_tasks(made, LANDING, "satisfactoin", (), None)


def test_a_corpus_without_ratings_has_no_turns_to_label(tmp_path):
    made = corpus(tmp_path / "c")
    bare = type(made).of(made.root, {**made.tables, "ratings": made.ratings.slice(0, 0)})
    with pytest.raises(InputError, match="no turns to label"):
        export_tasks(bare, LANDING, None, (), None)
