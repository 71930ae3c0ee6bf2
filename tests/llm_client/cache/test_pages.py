import random
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.llm_client.cache.pages import Pages

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=3000),
    st.binary(max_size=3000),
)


def pages(raw, log=b""):
    return Pages(lambda offset, length: raw[offset : offset + length], len(raw), log)


def check_rows(rows, most):
    """Rows of values that SQLite has, and not more of them than the bytes that they came from."""
    assert len(rows) <= most
    for row in rows:
        assert isinstance(row, tuple)
        assert all(value is None or isinstance(value, int | float | str | bytes) for value in row)


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=30), size=st.sampled_from([512, 1024, 4096, 65536]))
def test_every_row_that_sqlite_has_is_read(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("pages") / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute("CREATE TABLE t (a, b, c)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    expected = connection.execute("SELECT * FROM t").fetchall()
    connection.close()
    read = [row for row in pages(path.read_bytes()).rows() if len(row) == 3]
    assert sorted(map(repr, read)) == sorted(map(repr, expected))


@settings(deadline=None, max_examples=200)
@given(raw=st.binary(max_size=4096), log=st.binary(max_size=4096), start=st.sampled_from([b"", b"SQLite format 3\x00"]))
def test_whatever_the_file_is_it_is_read_to_its_end(raw, log, start):
    rows = list(pages(start + raw, log).rows())
    check_rows(rows, len(start + raw) + len(log))


@pytest.mark.parametrize("seed", range(5))
def test_a_file_with_noise_in_it_gives_no_error(tmp_path, seed):
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a, b)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * (n * 97 % 9000)) for n in range(50)])
    connection.commit()
    connection.close()
    raw, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(2000):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    check_rows(list(pages(bytes(raw)).rows()), len(raw))


def test_a_chain_of_pages_that_leads_to_itself_ends(tmp_path):
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (?)", ("x" * 50_000,))
    connection.commit()
    connection.close()
    raw = bytearray(path.read_bytes())
    for page in range(3, len(raw) // 4096 + 1):
        raw[(page - 1) * 4096 : (page - 1) * 4096 + 4] = (page).to_bytes(4, "big")
    # The row has its length, however often a page has led to itself.
    assert [row for row in pages(bytes(raw)).rows() if len(row) == 1] == [("x" * 50_000,)]
