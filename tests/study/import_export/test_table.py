import csv
import io

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.files.csvfile import original
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.responses import csv_text
from apportion.study.import_export.answer_table import SCHEMA, answer_table, write_answers
from apportion.study.report.tables import unblinded
from apportion.study.rows import AnswerRow, read_row_file
from tests.study.made_up import answered, made_study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    study, key = made_study(tmp_path_factory.mktemp("table") / "study", checks_every=4)
    return study, key, answered(study, key)


def test_all_values_are_there_under_the_policies_names(made, tmp_path):
    study, key, rows = made
    table = answer_table(study, key, rows)
    assert table.schema.equals(SCHEMA)
    lines = table.to_pylist()
    assert len(lines) == len(rows) * 3 * 9
    of_social = [line for line in lines if line["criterion"] == "social" and line["counts_as"] == "item"]
    answers = unblinded(study, key, rows).criteria["social"].answers
    for policy in key.policies:
        values = [line["value"] for line in of_social if line["policy"] == policy]
        assert sum(values) == answers.values[:, answers.place(policy)].sum() and len(values) == len(answers.items)
    assert {line["counts_as"] for line in lines} == {"item", "check"}
    assert {line["policy"] for line in lines if line["counts_as"] == "check"} == {None}


def test_every_format_has_the_same_rows(made, tmp_path):
    study, key, rows = made
    counts = [write_answers(study, key, rows, tmp_path / f"a{suffix}") for suffix in (".csv", ".parquet", ".jsonl")]
    assert counts == [len(rows) * 27, len(rows) * 27, len(rows)]
    table = pq.read_table(tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [original(line["annotator"]) for line in lines] == table["annotator"].to_pylist()
    assert [float(line["value"]) for line in lines] == table["value"].to_pylist()
    kept = {(row.annotator, row.item): row for row in read_row_file(tmp_path / "a.jsonl")}
    assert kept == {(row.annotator, row.item): row for row in rows}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_no_cell_is_run_by_a_spreadsheet_and_all_come_back(words):
    _, (cell,) = csv.reader(io.StringIO(csv_text(["reason"], [[words]]), newline=""))
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) and original(cell) == words


def test_what_cannot_be_written(made, tmp_path):
    study, key, rows = made
    with pytest.raises(InputError, match=r"the name must end in \.csv, \.parquet, \.jsonl"):
        write_answers(study, key, rows, tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="an answer to item 'i9'"):
        answer_table(study, key, [AnswerRow("a1", "i9", {})])
    with pytest.raises(InputError, match="no criterion is called 'warm'"):
        answer_table(study, key, [AnswerRow("a1", "i0001", {"warm": []})])
