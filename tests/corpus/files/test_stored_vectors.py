"""Vectors in a file are those that were written, whichever rows are asked for."""

from tempfile import TemporaryFile

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.files.stored_vectors import StoredVectors, VectorTable


@given(st.integers(0, 9), st.integers(1, 4), st.data())
def test_rows_are_those_of_the_array(count, width, data):
    whole = np.arange(count * width, dtype=np.float32).reshape(count, width)
    places = st.lists(st.integers(0, count - 1), max_size=12) if count else st.just([])
    rows, again = (np.array(data.draw(places), np.int64) for _ in range(2))
    again = again[again < len(rows)]
    with TemporaryFile() as file:
        file.write(whole.tobytes())
        stored = StoredVectors(file, whole.dtype, whole.shape)
        assert stored.shape == whole.shape and len(stored) == count
        some = stored.taken(rows)
        for found, expected in (
            (np.asarray(stored), whole),
            (stored[1:3], whole[1:3]),
            (np.concatenate([some, some]), np.concatenate([whole[rows], whole[rows]])),
            (some[again], whole[rows][again]),
            (some.taken(again)[:], whole[rows][again]),
        ):
            assert found.dtype == whole.dtype
            np.testing.assert_array_equal(found, expected)


def test_a_table_of_them_has_all_its_columns():
    others = pa.table({"turn": [0, 1]})
    with TemporaryFile() as file:
        file.write(np.arange(6, dtype=np.float32).tobytes())
        table = VectorTable(others, {"vector": StoredVectors(file, np.float32, (2, 3))})
        assert table["turn"].to_pylist() == [0, 1] and len(table) == 2
        assert table.column("vector").to_pylist() == [[0, 1, 2], [3, 4, 5]]
