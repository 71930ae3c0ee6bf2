import json
import xml.etree.ElementTree as ElementTree

import pytest

from apportion.foundation.errors import InputError
from apportion.study.import_export.label_studio import interface_xml, read_export, tasks_json
from apportion.study.simulated_annotators import SimulatedAnnotators
from tests.study.made_up import made_study


def export(study, key, people=(7, 8)):
    """A JSON export as Label Studio writes it, of simulated annotators; and what they answered."""
    controls = {one.get("name") for one in ElementTree.fromstring(interface_xml(study)) if one.get("toName")}
    simulated, given, tasks = SimulatedAnnotators(study, key), {}, json.loads(tasks_json(study))
    for number, task in enumerate(tasks, start=1):
        item = study.items[task["data"]["item"]]
        letter_of = {name: letter for letter, name in task["data"]["ids"].items()}
        number_of = {str(place): str(turn) for turn, place in enumerate(item.positions, start=1)}
        task |= {"id": number, "annotations": []}
        for person in people:
            answer = simulated.answer(f"P{person}", item)
            given[f"label-studio-{person}", item.item] = answer
            chosen = {}
            for name, value in answer.answers.items():
                if isinstance(value, dict):
                    chosen |= {f"{name}_{(letter_of | number_of)[place]}": [str(n)] for place, n in value.items()}
                elif isinstance(value, list):
                    chosen[name] = [letter_of[one] for one in value]
                else:
                    chosen[name] = [letter_of.get(value, value)]
            result = [
                {"from_name": name, "to_name": "dialogue", "type": "choices", "value": {"choices": choices}}
                for name, choices in chosen.items()
                if choices
            ]
            result += [{"from_name": "reason", "type": "textarea", "value": {"text": [answer.reason]}}]
            assert {one["from_name"] for one in result} - {"reason"} <= controls
            task["annotations"].append(
                {"completed_by": person, "result": result, "lead_time": 31.5, "updated_at": "2026-11-23T10:00:00Z"}
            )
    return tasks, given


def written(tasks, path):
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


@pytest.mark.parametrize("criteria", ["geli", "pairs", "turns", "savoir", "negotiation"])
def test_what_was_answered_elsewhere_is_what_comes_back(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria)
    tasks, given = export(study, key)
    arrived = read_export(written(tasks, tmp_path / "export.json"), study)
    assert {place: row.answers for place, row in arrived.rows.items()} == {k: v.answers for k, v in given.items()}
    assert {row.seconds for row in arrived.rows.values()} == {31.5}
    assert all(row.reason == given[place].reason for place, row in arrived.rows.items())


def test_no_policy_is_named_and_markup_stays_text(tmp_path):
    study, key = made_study(tmp_path / "study")
    text = tasks_json(study) + interface_xml(study)
    assert not [name for name in key.policies if f'"{name}"' in text]
    root = ElementTree.fromstring(interface_xml(study))
    assert [one.get("value") for one in root.findall("Header")][-1] == study.criteria.reason.question


def test_skipped_tasks_and_what_is_missing_are_counted_and_an_address_is_not_kept(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    tasks, _ = export(study, key, people=(7,))
    tasks[0]["annotations"][0]["was_cancelled"] = True
    tasks[1]["annotations"][0]["result"] = []
    tasks[2]["annotations"][0]["completed_by"] = {"email": "ann@example.org"}
    arrived = read_export(written(tasks, tmp_path / "e.json"), study)
    assert arrived.notes() == ("1 answers without better", "1 skipped tasks")
    names = {annotator for annotator, _ in arrived.rows}
    assert len(names) == 2 and not [name for name in names if "@" in name or "ann" in name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda task: task.update(data={}), "its data do not say which item it is"),
        (lambda task: task["data"].update(item="i9"), "a task of another study"),
        (lambda task: task["data"].update(study="0" * 64), "a task of another study"),
        (lambda task: task["data"].update(ids={"A": "rffff"}), "'rffff' is no response"),
        (lambda task: task.pop("annotations"), "no list of annotations"),
        (lambda task: task.update(annotations=[{}]), "an annotation without a list of results"),
        (lambda task: task["annotations"][0].pop("completed_by"), "does not say who gave it"),
        (
            lambda task: task["annotations"][0]["result"][0]["value"].update(choices=["7"]),
            "7 is no whole number from 1 to 5",
        ),
        (lambda task: task["annotations"][0]["result"][0]["value"].update(choices=["so"]), "'so' is no whole number"),
        (lambda task: task["annotations"][0]["result"][0]["value"].update(choices=["--3"]), "'--3' is no whole number"),
        (
            lambda task: task["annotations"][0]["result"][0]["value"].update(choices=["9" * 5_000]),
            "'9+ is no whole number",
        ),
        (lambda task: task["annotations"][0]["result"][0]["value"].update(choices=["1", "2"]), "2 choices, where one"),
        (lambda task: task["annotations"][0]["result"][0]["value"].update(choices="1"), "'1' are no choices"),
    ],
)
def test_what_cannot_be_is_refused_with_its_task(tmp_path, change, message):
    study, key = made_study(tmp_path / "study", "negotiation")
    tasks, _ = export(study, key, people=(7,))
    change(tasks[0])
    with pytest.raises(InputError, match=rf"e\.json, task 1: .*{message}"):
        read_export(written(tasks, tmp_path / "e.json"), study)


def test_a_file_of_something_else(tmp_path):
    study, _ = made_study(tmp_path / "study")
    with pytest.raises(InputError, match="not an export of Label Studio"):
        read_export(written({"a": 1}, tmp_path / "e.json"), study)


def test_the_later_annotation_counts_in_whatever_zone_its_time_is(tmp_path):
    study, key = made_study(tmp_path / "study", "pairs")
    tasks, _ = export(study, key, people=(7, 7))
    first, second = tasks[0]["annotations"]
    first.update(updated_at="2026-11-23T20:00:00-05:00", lead_time=1)
    second.update(updated_at="2026-11-23T23:30:00Z", lead_time=2)
    arrived = read_export(written(tasks[:1], tmp_path / "e.json"), study)
    assert [row.seconds for row in arrived.rows.values()] == [1]
