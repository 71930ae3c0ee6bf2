import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.account import opened
from apportion.corpus.builder import CorpusBuild
from apportion.corpus.files.csvfile import decimal_mark, number, parsed, read_head, read_table, whole
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=8)


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def rows(path):
    return [row for _, row in read_table(path, path.name).rows]


@given(
    st.lists(st.lists(cells, min_size=2, max_size=2).filter(lambda row: any(map(str.strip, row))), max_size=6),
    st.sampled_from([".csv", ".tsv"]),
)
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


def test_cells_of_columns_that_nobody_asks_for_are_left_out_by_name(tmp_path):
    with opened() as account:
        table = read_table(written(tmp_path, "a,b,,c,d\n1,2,,3,4\n5,6,,7,8\n"), "a.csv")
        table.position("a"), table.optional("b"), table.optional("e"), table.use("d"), list(table.rows)
    (cells,) = account.settled(CorpusBuild({}))
    assert (cells.read, cells.kept) == (10, 6)
    assert cells.left_out == {"in columns without a name": (2, ("a.csv",)), "in column 'c'": (2, ("a.csv",))}


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
        (b"\xff\xfex\0,\0y", r"not UTF-16 at byte offset 6"),
        (b"x\0,\0y\0\n\0", r"line 1: zero bytes, so it is UTF-16"),
        ("sep=x\nx,y\n", r"line 1: sep='x'; allowed: comma, semicolon, tab"),
        ("x,y,\n1,2,\n1,2,3\n", r"line 3: '3' is in a column without a name"),
        ("x,y\n1,2,\n1,2\n", r"line 3: 2 cells"),
        ("X,y,x\n", r"column 'x' is there twice"),
    ],
)
def test_a_table_that_cannot_be_trusted(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(UnitError, match=words):
        list(read_table(path, path.name, ("x",)).rows)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x;y\n1,5;2\n", "a.csv"),
        ('"sep=;"\r\nx;y\r\n1,5;2\r\n', "a.tsv"),
        ("x\ty\n1,5\t2\n", "a.csv"),
        ('x,y\n"1,5",2\n', "a.tsv"),
        ('X, Y\n"1,5", "2"\n', "a.csv"),
        ("\ufeff\n \nx|y\n1,5|2\n", "a.csv"),
        ("X;y, as it is called here\n1,5;2\n", "a.csv"),
        ("x;y\n1,5;2;;\n".encode("utf-16"), "a.csv"),
    ],
)
def test_how_the_cells_are_divided_is_seen(tmp_path, text, name):
    path = written(tmp_path, text, name)
    table = read_table(path, name, ("x",))
    assert table.header[0] == "x" and [row for _, row in table.rows] == [["1,5", "2"]]
    assert read_head(path, name, ("x",)) == (table.header, True)


def test_a_row_that_the_first_bytes_cut_off_is_one(tmp_path):
    assert read_head(written(tmp_path, 'x,y\n1,"2'), "a.csv") == (("x", "y"), True)


@pytest.mark.parametrize(
    ("cells", "delimiter", "mark"),
    [
        (["3,5", "4"], ";", ","),
        (["0,500"], "\t", ","),
        (["1234,500"], ";", ","),
        (["1,500", "3,5"], ";", ","),
        (["1,500"], ";", "."),
        (["3,5", "3.5"], ";", "."),
        (["3,5"], ",", "."),
        (["1.234", "4"], ";", ""),
        (["1.234", "0.5"], ";", "."),
        (["1.234"], "\t", "."),
    ],
)
def test_a_decimal_comma_only_where_it_is_certain(cells, delimiter, mark):
    assert decimal_mark(cells, delimiter) == mark


def test_figures_are_ascii_and_finite():
    odd = ("", "1_0", "٣", "0x1", "inf", "1e999", "3,5", "4 of 5", "4/5", "1 000", "1.2.3")
    assert [parsed(text) for text in odd] == [None] * len(odd)
    assert [parsed(text) for text in (" 7 ", "\u22123", ".5", "1.", "1e-2")] == [7.0, -3.0, 0.5, 1.0, 0.01]
    assert (parsed("-3,5", ","), parsed("1.000,5", ","), parsed("1,0,0", ",")) == (-3.5, None, None)
    assert [whole(text) for text in ("7", " -3 ", "1.5", "1_0", "٣", "9" * 5000)] == [7, -3, None, None, None, None]


@pytest.mark.parametrize("text", ["", "x", "nan", "-inf", "1,5"])
def test_not_a_number(text):
    with pytest.raises(UnitError, match=r"here: .*a score is needed"):
        number(text, "here", "a score")
