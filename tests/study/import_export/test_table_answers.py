import csv
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from apportion.commands.study.export import export_command, import_command
from apportion.foundation.errors import InputError
from apportion.study.all_answers import gathered
from apportion.study.design.folder import StudyFolder
from apportion.study.import_export.answer_table import read_answer_table, write_answers
from apportion.study.import_export.exchange import bring
from apportion.study.report.make import report_of
from apportion.study.rows import AnswerRow
from tests.study.made_up import answered, made_study

REASON = "=SUM(A1)\nand, “as I said”, <b>more</b>"


def given(study, key):
    """Everybody's answers, checks among them, with what a spreadsheet or a page might trip over."""
    rows = answered(study, key, careless=1)
    told = replace(rows[0], reason=REASON, focus_lost=3, revision=2, at="2026-11-20T10:00:00+00:00")
    return [told, *rows[1:]]


def copy_of(study, out):
    """The same study on another machine, without answers."""
    shutil.copytree(study.path, out)
    return StudyFolder.open(out)


@pytest.mark.parametrize(
    ("criteria", "suffix"),
    [("geli", ".csv"), ("pairs", ".csv"), ("savoir", ".jsonl"), ("turns", ".parquet"), ("negotiation", ".parquet")],
)
def test_a_study_that_was_served_elsewhere_is_reported_here(tmp_path, criteria, suffix):
    study, key = made_study(tmp_path / "study", criteria, checks_every=4)
    here = copy_of(study, tmp_path / "here")
    rows = given(study, key)
    write_answers(study, key, rows, tmp_path / f"all{suffix}")
    brought = bring(here.path, tmp_path / f"all{suffix}")
    assert (brought.answers, brought.notes) == (len(rows), ())
    kept = {(row.annotator, row.item): row for row in gathered(here).people}
    assert kept == {(row.annotator, row.item): row for row in rows}
    told = report_of(here, key, gathered(here).people, resamples=50, mixed=False)
    assert told == report_of(study, key, rows, resamples=50, mixed=False)


def test_what_a_language_model_answered_is_not_taken_for_a_person_s(tmp_path):
    study, key = made_study(tmp_path / "study")
    rows = given(study, key)
    judged = [replace(row, annotator="judge:m", reason="") for row in rows[:2]]
    for suffix in (".csv", ".jsonl"):
        write_answers(study, key, [*rows, *judged], tmp_path / f"all{suffix}")
        brought = bring(copy_of(study, tmp_path / f"here{suffix}").path, tmp_path / f"all{suffix}")
        assert brought.answers == len(rows)
        assert brought.notes == (f"{len(judged)} answers of language models (they belong into STUDY/judged)",)


def test_only_what_is_needed_has_to_be_there_and_policies_names_are_not_looked_at(tmp_path):
    study, key = made_study(tmp_path / "study")
    rows = given(study, key)
    write_answers(study, key, rows, tmp_path / "all.parquet")
    table = pq.read_table(tmp_path / "all.parquet").select(["annotator", "item", "criterion", "judged", "value"])
    pq.write_table(table.append_column("policy", pa.array(["another"] * len(table))), tmp_path / "all.parquet")
    arrived = read_answer_table(tmp_path / "all.parquet", study)
    assert arrived.rows == {(row.annotator, row.item): AnswerRow(row.annotator, row.item, row.answers) for row in rows}


def changed(path, change):
    """Let ``change`` do something to the rows of the CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    change(lines)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)


@pytest.mark.parametrize(
    ("criteria", "change", "message"),
    [
        ("geli", {"item": "i9999"}, r"line 2: 'i9999' is no item of"),
        ("geli", {"session_id": "elsewhere"}, r"line 2: session_id 'elsewhere', and item .* another study's table"),
        ("geli", {"turn": "77"}, r"line 2: turn '77', and item"),
        ("geli", {"criterion": "warm"}, r"line 2: no criterion is called 'warm'"),
        ("geli", {"value": "0.5"}, r"line 2: annotator '.*', item .*, .*: .* are no values of a select"),
        ("geli", {"value": "good"}, r"line 2: column value: 'good'; a number is needed"),
        ("geli", {"judged": "r0"}, r"line 2: .*response 'r.*' of item .* has no value"),
        ("geli", {"seconds": "-1"}, r"column seconds: '-1' is below 0"),
        ("geli", {"seconds": "soon"}, r"column seconds: 'soon'; a number, or nothing, is needed"),
        ("geli", {"annotator": "ann@example.org"}, r"line 2: annotator 'ann@example.org'"),
        ("turns", {"value": "2.5"}, r"2\.5 is no whole number"),
        ("turns", {"value": "9"}, r"9 is no whole number from 1 to 5"),
        ("pairs", {"value": "0.75"}, r"are no values of a pair"),
    ],
)
def test_what_nobody_can_have_answered_is_refused_with_its_line(tmp_path, criteria, change, message):
    study, key = made_study(tmp_path / "study", criteria)
    write_answers(study, key, given(study, key)[:1], tmp_path / "all.csv")

    def first(lines):
        for name in change:
            # What belongs to the whole answer is changed in all of its rows.
            for line in lines if name in ("annotator", "seconds") else lines[:1]:
                line[name] = change[name]

    changed(tmp_path / "all.csv", first)
    with pytest.raises(InputError, match=message):
        bring(study.path, tmp_path / "all.csv")
    assert not (study.path / "imported").exists()


def test_a_row_that_is_there_twice(tmp_path):
    study, key = made_study(tmp_path / "study")
    write_answers(study, key, given(study, key)[:1], tmp_path / "all.csv")
    changed(tmp_path / "all.csv", lambda lines: lines.append(dict(lines[0])))
    with pytest.raises(InputError, match=r"judges 'r.*' of item .* by .* twice\. Keep one row"):
        bring(study.path, tmp_path / "all.csv")


def test_files_that_are_no_table_of_answers(tmp_path):
    study, _ = made_study(tmp_path / "study")
    pq.write_table(pa.table({"annotator": ["a1"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: no column 'item'; a table of answers has annotator, item"):
        bring(study.path, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(InputError, match=r"b\.parquet: not a readable Parquet file"):
        bring(study.path, tmp_path / "b.parquet")
    for name in ("none.parquet", "none.csv", "none.jsonl"):
        with pytest.raises(InputError, match=name):
            bring(study.path, tmp_path / name)
    (tmp_path / "c.csv").write_text("annotator,item,criterion,judged,value\na1\n")
    with pytest.raises(InputError, match=r"c\.csv, line 2: 1 cells"):
        bring(study.path, tmp_path / "c.csv")
    (tmp_path / "d.jsonl").write_text('{"annotator": "a1"}\n')
    with pytest.raises(InputError, match=r"d\.jsonl, line 1: item"):
        bring(study.path, tmp_path / "d.jsonl")


def test_there_and_back_by_the_commands(tmp_path):
    study, key = made_study(tmp_path / "study")
    write_answers(study, key, given(study, key), tmp_path / "first.jsonl")
    bring(study.path, tmp_path / "first.jsonl")
    here = copy_of(study, tmp_path / "here")
    shutil.rmtree(here.path / "imported")
    for folder, command in ((study.path, export_command), (here.path, import_command)):
        done = CliRunner().invoke(command, [str(folder), str(tmp_path / "all.csv")])
        assert done.exit_code == 0, done.output
    assert gathered(here).people == gathered(study).people
