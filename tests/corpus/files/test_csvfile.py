import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.files.csvfile import number, read_head, read_table
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=8)


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def rows(path):
    return [row for _, row in read_table(path, path.name).rows]


@given(st.lists(st.lists(cells, min_size=2, max_size=2).filter(any), max_size=6), st.sampled_from([".csv", ".tsv"]))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, table, suffix):
    path = tmp_path_factory.mktemp("t") / f"a{suffix}"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",").writerows([["x", "y"], *table])
    assert rows(path) == table
    assert read_head(path, "a") == (("x", "y"), bool(table))


def test_columns_lines_and_long_cells(tmp_path):
    table = read_table(written(tmp_path, '\ufeff ,a ,b\n\n1,"two\nlines",3\n4,5,6\n'), "a.csv")
    assert table.header == ("", "a", "b") and (table.position("b"), table.optional("c")) == (2, None)
    assert list(table.rows) == [(3, ["1", "two\nlines", "3"]), (5, ["4", "5", "6"])]
    assert shortened("a" * 60) == "a" * 60 and shortened("a" * 61) == "a" * 59 + "…" and number(" 2.5", "", "") == 2.5


def test_a_header_that_is_missing_or_cannot_be_read(tmp_path):
    path = written(tmp_path, "")
    assert (read_table(path, "a.csv").header, rows(path)) == ((), [])
    assert read_head(path, "a.csv") == ((), False)
    table = read_table(written(tmp_path, "user_ids,score\n"), "a.csv")
    with pytest.raises(UnitError, match=r"a.csv: no column 'user_id'; did you mean 'user_ids'\? Found: user_ids"):
        table.position("user_id")
    with pytest.raises(UnitError, match="cannot be read"):
        read_head(tmp_path, "a.csv")
    with pytest.raises(UnitError, match="not readable CSV"):
        read_head(written(tmp_path, "x" * 200_000), "a.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n3\n", r"a.csv, line 3: 1 cells; the first line names 2 columns"),
        ("x,y\n1,2,3\n", r"line 2: 3 cells"),
        ('x,y\n1,"never closed\n3,4\n', r"line 2: not readable CSV \(unexpected end of data\)"),
        ('"x,y\n', r"line 1: not readable CSV"),
        ("x,x\n1,2\n", r"line 1: column 'x' is there twice"),
        (b"x,y\n\xff,2\n", r"not UTF-8 at line 2"),
    ],
)
def test_a_table_that_cannot_be_trusted(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(UnitError, match=words):
        rows(path)


@pytest.mark.parametrize("text", ["", "x", "nan", "-inf", "1,5"])
def test_not_a_number(text):
    with pytest.raises(UnitError, match=r"here: .*a score is needed"):
        number(text, "here", "a score")
