import csv
import io
import json
import re

import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.answers import TIE
from apportion.study.import_export.mturk import batch_csv, layout_html, read_results
from apportion.study.simulated_annotators import SimulatedAnnotators
from tests.study.made_up import made_study

SETS = ["geli", "pairs", "turns", "savoir", "negotiation"]


def batch(study):
    return list(csv.DictReader(io.StringIO(batch_csv(study), newline="")))


def filled(study, key, workers=3):
    """What the service would give back if simulated annotators filled in the layout; and what they answered."""
    fields = set(re.findall(r'name="([^"]+)"', layout_html(study)))
    people, given, lines = SimulatedAnnotators(study, key), {}, []
    for task in batch(study):
        item = study.items[task["item"]]
        letter_of = {task[f"id_{letter}"]: letter for letter in "ABCDEFGH" if task.get(f"id_{letter}")}
        number_of = {str(place): str(number) for number, place in enumerate(item.positions, start=1)}
        for worker in range(workers):
            answer = people.answer(f"W{worker}", item)
            given[f"W{worker}", item.item] = answer
            boxes = {"reason": answer.reason}
            for name, value in answer.answers.items():
                if isinstance(value, dict):
                    boxes |= {f"{name}.{(letter_of | number_of)[place]}": str(n) for place, n in value.items()}
                elif isinstance(value, list):
                    boxes |= {f"{name}.{letter_of[one]}": "on" for one in value}
                else:
                    boxes[name] = TIE if value == TIE else letter_of[value]
            assert {field for field, text in boxes.items() if text} <= fields
            lines.append(
                {
                    "HITId": f"H{item.item}", "AssignmentId": f"A{worker}{item.item}", "WorkerId": f"W{worker}",
                    "AssignmentStatus": "Approved", "WorkTimeInSeconds": str(30 + worker), "SubmitTime": "2026-11-23",
                    **{f"Input.{column}": cell for column, cell in task.items()},
                    **{f"Answer.{field}": boxes.get(field, "") for field in sorted(fields)},
                }
            )  # fmt: skip
    return lines, given


def written(lines, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(name for line in lines for name in line)))
        table.writeheader()
        table.writerows(lines)
    return path


@pytest.mark.parametrize("criteria", SETS)
def test_what_was_answered_elsewhere_is_what_comes_back(tmp_path, criteria):
    study, key = made_study(tmp_path / "study", criteria)
    lines, given = filled(study, key)
    arrived = read_results(written(lines, tmp_path / "results.csv"), study)
    assert set(arrived.rows) == set(given) and not arrived.notes()
    for place, row in arrived.rows.items():
        assert row.answers == given[place].answers
        assert (row.seconds, row.reason) == (30 + int(place[0][1]), given[place].reason)


def test_the_service_s_own_elements_come_back_as_one_column(tmp_path):
    study, key = made_study(tmp_path / "study")
    lines, given = filled(study, key, workers=1)
    for line in lines:
        nested = {"reason": line["Answer.reason"]}
        for name in [name for name in line if name.startswith("Answer.")]:
            text = line.pop(name)
            field, _, letter = name.removeprefix("Answer.").partition(".")
            if letter:
                nested.setdefault(field, {})[letter] = text == "on"
        line["Answer.taskAnswers"] = json.dumps([nested])
    arrived = read_results(written(lines, tmp_path / "r.csv"), study)
    assert {place: row.answers for place, row in arrived.rows.items()} == {k: v.answers for k, v in given.items()}


def test_letters_between_bars_and_without_ids_are_read_too(tmp_path):
    study, key = made_study(tmp_path / "study")
    lines, given = filled(study, key, workers=1)
    for line in lines:
        marked = "|".join(letter for letter in "ABC" if line.pop(f"Answer.social.{letter}") == "on")
        line["Answer.social"] = marked
        for letter in "ABC":
            del line[f"Input.id_{letter}"]
    arrived = read_results(written(lines, tmp_path / "r.csv"), study)
    assert {place: row.answers for place, row in arrived.rows.items()} == {k: v.answers for k, v in given.items()}


def test_what_is_passed_over_is_counted(tmp_path):
    study, key = made_study(tmp_path / "study", "negotiation")
    lines, _ = filled(study, key, workers=2)
    lines[0]["AssignmentStatus"] = "Rejected"
    lines[1]["Answer.fair.A"] = ""
    lines.append({**lines[2], "SubmitTime": "2026-11-24"})
    arrived = read_results(written(lines, tmp_path / "r.csv"), study)
    assert arrived.notes() == (
        "1 answers without fair", "1 earlier answers of the same annotator to the same item", "1 rejected assignments",
    )  # fmt: skip
    assert len(arrived.rows) == len(lines) - 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Input.item": "i9"}, "column Input.item: 'i9' is no item of"),
        ({"Input.id_A": "rffff"}, "'rffff' is no response of item"),
        ({"Answer.fair.A": "very"}, r"column Answer\.fair\.A: 'very' is no whole number"),
        ({"Answer.fair.A": "9" * 5_000}, r"column Answer\.fair\.A: '9+ is no whole number"),
        ({"Answer.fair.A": "9"}, "fair: 9 is no whole number from 1 to 5"),
        ({"WorkerId": " "}, "column WorkerId: it is empty"),
        ({"Answer.taskAnswers": "{"}, r"column Answer\.taskAnswers: '\{' is not a list of one JSON object"),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_its_place(tmp_path, change, message):
    study, key = made_study(tmp_path / "study", "negotiation")
    lines, _ = filled(study, key, workers=1)
    with pytest.raises(InputError, match=rf"r\.csv, line 2: {message}"):
        read_results(written([{**lines[0], **change}], tmp_path / "r.csv"), study)


def test_a_box_is_checked_or_not(tmp_path):
    study, key = made_study(tmp_path / "study")
    lines, _ = filled(study, key, workers=1)
    with pytest.raises(
        InputError, match=r"column Answer\.social\.A: 'perhaps' is neither checked \(on, true\) nor empty"
    ):
        read_results(written([{**lines[0], "Answer.social.A": "perhaps"}], tmp_path / "r.csv"), study)
    lines[0] = {name: cell for name, cell in lines[0].items() if not name.startswith("Answer.social.")}
    with pytest.raises(InputError, match="'Z' is no response of item"):
        read_results(written([{**lines[0], "Answer.social": "A|Z"}], tmp_path / "r.csv"), study)


def test_a_file_of_something_else(tmp_path):
    study, _ = made_study(tmp_path / "study")
    (tmp_path / "x.csv").write_text("WorkerId,b\n1,2\n")
    with pytest.raises(InputError, match=r"no column 'Input\.item'"):
        read_results(tmp_path / "x.csv", study)


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [
        ("Wed Nov 18 10:00:00 PST 2026", "Fri Nov 20 10:00:00 PST 2026", 1),
        ("Fri Nov 20 10:00:00 PST 2026", "Wed Nov 18 10:00:00 PST 2026", 0),
        ("Sun Nov 01 01:30:00 PST 2026", "Sun Nov 01 01:45:00 PDT 2026", 0),  # An hour that comes twice.
        ("Thu Dec 31 23:00:00 PST 2026", "Fri Jan 01 00:10:00 PST 2027", 1),
        ("some day", "Fri Nov 20 10:00:00 PST 2026", 1),
        ("Fri Nov 20 10:00:00 PST 2026", "some day", 1),
    ],
)
def test_the_later_answer_counts_whatever_its_weekday_is_called(tmp_path, first, second, later):
    """Of two whose times are not both known, the one that stands later in the file."""
    study, key = made_study(tmp_path / "study", "pairs")
    lines, _ = filled(study, key, workers=1)
    two = [{**lines[0], "SubmitTime": at, "Answer.reason": f"reason {n}"} for n, at in enumerate((first, second))]
    arrived = read_results(written(two, tmp_path / "r.csv"), study)
    ((_, row),) = arrived.rows.items()
    assert row.reason == f"reason {later}"
    assert arrived.notes() == ("1 earlier answers of the same annotator to the same item",)


@pytest.mark.parametrize(
    ("told", "seconds"), [("inf", 86_400), ("nan", 0), ("-3", 0), ("1e400", 86_400), ("soon", 0), ("9" * 5_000, 86_400)]
)
def test_seconds_are_those_that_a_person_may_have_taken(tmp_path, told, seconds):
    study, key = made_study(tmp_path / "study", "pairs")
    lines, _ = filled(study, key, workers=1)
    arrived = read_results(written([{**lines[0], "WorkTimeInSeconds": told}], tmp_path / "r.csv"), study)
    assert [row.seconds for row in arrived.rows.values()] == [seconds]
