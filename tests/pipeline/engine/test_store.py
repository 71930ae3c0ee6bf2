import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Session, Turn
from apportion.foundation.errors import UnitError
from apportion.foundation.files import FileLeases, canonical_json, digest, write_atomically
from apportion.pipeline.engine.store import JOINED_AT_ONCE, InputHashes, Store, joined

KEY = "a" * 64


def committed(store: Store, **documents):
    scratch = store.scratch()
    (scratch / "model").mkdir()
    (scratch / "model" / "weights.bin").write_bytes(b"\0\1\2")
    return store.commit("stage", KEY, scratch, {"t": pa.table({"a": [1, 2]})}, documents or {"d": {"x": 1.5}})


def test_an_artifact_comes_back_as_it_was_written(tmp_path):
    committed(Store(tmp_path))
    found = Store(tmp_path).find("stage", KEY)
    assert found is not None
    assert found.table("t").to_pydict() == {"a": [1, 2]}
    assert found.document("d") == {"x": 1.5}
    assert sorted(found.files) == ["d.json", "model/weights.bin", "t.parquet"]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_a_table_is_read_by_no_thread_of_arrows(tmp_path):
    """One that still held the file's bytes, a Python object, while Python ended aborted the whole process."""
    committed(Store(tmp_path))
    script = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from apportion.pipeline.engine.store import Store
        artifact = Store(Path(sys.argv[1])).find("stage", "a" * 64)
        before = os.listdir("/proc/self/task")
        assert artifact.table("t").to_pydict() == {"a": [1, 2]}
        assert os.listdir("/proc/self/task") == before
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[3])
    assert done.returncode == 0


def test_equal_content_has_equal_bytes_and_hash(tmp_path):
    one, other = committed(Store(tmp_path / "1")), committed(Store(tmp_path / "2"))
    assert one.output_hash == other.output_hash
    assert (one.folder / "t.parquet").read_bytes() == (other.folder / "t.parquet").read_bytes()


def test_a_missing_artifact_is_none(tmp_path):
    assert Store(tmp_path).find("stage", KEY) is None


@pytest.mark.parametrize("damage", ["change", "shorten", "remove", "manifest", "no manifest"])
def test_a_damaged_artifact_is_found_out_and_made_anew(tmp_path, damage):
    folder = committed(Store(tmp_path)).folder
    if damage == "change":
        (folder / "model" / "weights.bin").write_bytes(b"\0\1\3")
    elif damage == "shorten":
        (folder / "t.parquet").write_bytes((folder / "t.parquet").read_bytes()[:-1])
    elif damage == "remove":
        (folder / "d.json").unlink()
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    else:
        (folder / "manifest.json").unlink()
    assert Store(tmp_path).find("stage", KEY) is None
    committed(Store(tmp_path))
    assert Store(tmp_path).find("stage", KEY) is not None


def test_a_table_changed_after_it_was_verified_is_refused(tmp_path):
    artifact = committed(Store(tmp_path))
    (artifact.folder / "t.parquet").write_bytes(b"no")
    with pytest.raises(UnitError, match="does not hold what was written there"):
        artifact.table("t")


def test_the_second_writer_of_the_same_artifact_keeps_the_first(tmp_path):
    first = committed(Store(tmp_path))
    second = committed(Store(tmp_path))
    assert first.folder == second.folder
    assert not any((tmp_path / "tmp").iterdir())


def test_scratch_of_killed_processes_is_cleared_and_that_of_living_ones_kept(tmp_path):
    left_by_killed = """
import sys
from pathlib import Path
from apportion.corpus.session import Session, Turn
from apportion.pipeline.engine.store import InputHashes, Store
Store(Path(sys.argv[1])).scratch()
"""
    subprocess.run([sys.executable, "-c", left_by_killed, str(tmp_path)], cwd=Path(__file__).parents[3], check=True)
    store = Store(tmp_path)
    (left,) = (tmp_path / "tmp").iterdir()
    own, leases = store.scratch(), FileLeases(tmp_path / "leases")
    with leases.hold("ours"):
        (tmp_path / "leases" / "of the dead").touch()
        store.clear_scratch()
        assert [path.name for path in (tmp_path / "leases").iterdir()] == ["ours"]
    assert not left.exists()
    assert own.exists()


def test_write_atomically_replaces_and_leaves_nothing_else(tmp_path):
    write_atomically(tmp_path / "a" / "f.txt", "one")
    write_atomically(tmp_path / "a" / "f.txt", b"two")
    assert (tmp_path / "a" / "f.txt").read_text() == "two"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["f.txt"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_a_digest_depends_on_the_value_alone(value):
    again = json.loads(canonical_json(value))
    assert digest(again) == digest(value)


def test_a_digest_refuses_nan():
    with pytest.raises(ValueError):
        digest({"x": float("nan")})


def test_the_language_of_a_session_counts_where_it_is_not_english(tmp_path):
    def hashed(language, *reads):
        session = Session("s", (Turn(0, "u", "Hallo"),), language=language)
        return InputHashes(tmp_path, tmp_path / "store").session(session, ("turns", "ratings", *reads))

    assert hashed(None) == hashed(None, "language") == hashed("en-GB", "language") == hashed("de")
    assert len({hashed(language, "language") for language in (None, "de", "de+en", "zh")}) == 4


def _turns(numbers: list[int]) -> pa.Table:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(numbers, 3), pa.float32()), 3)
    return pa.table({"name": pa.array(map(str, numbers), pa.string()), "vector": vectors, "seed": numbers})


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6), st.sampled_from([["vector"], None]))
def test_tables_are_joined_with_their_vectors_in_one_block(parts, columns):
    tables = [_turns(part).cast(_turns([1]).schema).select(columns or ["name", "vector", "seed"]) for part in parts]
    whole = joined(iter(tables))
    assert whole.equals(pa.concat_tables(tables))
    assert whole.column("vector").num_chunks == 1


def test_many_small_tables_become_few_blocks_and_none_is_none():
    tables = [_turns([number]) for number in range(2 * JOINED_AT_ONCE + 1)]
    whole = joined(tables)
    assert whole.equals(pa.concat_tables(tables))
    assert whole.column("name").num_chunks == 3
    assert joined([]) is None


def test_vectors_stay_in_a_file_without_a_name_where_a_folder_is_given(tmp_path):
    tables = [_turns(part) for part in ([1, 2], [3])]
    whole, stored = joined(tables), joined(tables, tmp_path)
    assert not list(tmp_path.iterdir()) and len(stored) == 3
    assert stored.others.equals(whole.drop_columns(["vector"])) and stored.column("seed").equals(whole.column("seed"))
    assert np.asarray(stored.vectors["vector"]).tolist() == whole.column("vector").to_pylist()
    assert joined([], tmp_path) is None


def test_a_row_without_a_vector_is_not_joined():
    vectors = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    with pytest.raises(ValueError, match="column 'vector': a row without a vector"):
        joined([pa.table({"vector": vectors})])


def test_tables_of_other_columns_are_not_joined():
    with pytest.raises(pa.ArrowInvalid):
        joined([_turns([1]), _turns([2]).select(["vector", "name"])])
