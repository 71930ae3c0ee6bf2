import csv
import io
from dataclasses import replace
from html import unescape

from apportion.study.design.items import Response
from apportion.study.import_export.form import form_of, shown_items
from apportion.study.import_export.mturk import batch_csv, layout_html
from tests.study.made_up import made_study

HOSTILE = '=1+1 <script>alert("x")</script> ${item} & more\nsecond line'


def test_every_item_is_a_row_and_no_policy_is_named(tmp_path):
    study, key = made_study(tmp_path / "study", checks_every=4)
    rows = list(csv.DictReader(io.StringIO(batch_csv(study), newline="")))
    assert [row["item"] for row in rows] == [item.item for item in shown_items(study)]
    assert len(rows) == len(study.counted) + len(study.checks)
    for row in rows:
        item = study.items[row["item"]]
        form = form_of(study, item, "mturk")
        for letter, name in form.letters.items():
            assert unescape(row[f"response_{letter}"]) == item.response(name).text and row[f"id_{letter}"] == name
    text = batch_csv(study) + layout_html(study)
    assert not [name for name in key.policies if f'"{name}"' in text or f",{name}," in text]


def test_words_do_nothing_in_the_page_in_a_spreadsheet_or_to_the_service(tmp_path):
    study, _ = made_study(tmp_path / "study")
    first = study.counted[0]
    odd = replace(first, responses=tuple(Response(one.id, HOSTILE) for one in first.responses))
    study = replace(study, items={**study.items, first.item: odd})
    (row,) = (r for r in csv.DictReader(io.StringIO(batch_csv(study), newline="")) if r["item"] == first.item)
    cell = row["response_A"]
    assert cell.startswith("&#61;") and "<script" not in cell and "${" not in cell and "\n" not in cell
    assert unescape(cell.replace("<br>", "\n")) == HOSTILE


def test_the_layout_asks_every_question_in_its_own_words(tmp_path):
    study, _ = made_study(tmp_path / "study", "turns")
    html = layout_html(study)
    assert "How did this turn of the AI land with the User?" in html and "${turn_1}" in html
    assert "3 (neither)" in html and 'name="landed.1"' in html and "<script" not in html
