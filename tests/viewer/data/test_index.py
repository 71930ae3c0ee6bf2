import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pyarrow.parquet as pq
import pytest

from apportion.foundation.errors import InputError
from apportion.viewer.data import run as served_run
from apportion.viewer.data.build import build, main
from apportion.viewer.data.index import Index, index_path, stamp
from apportion.viewer.data.listing import Query, listing
from apportion.viewer.data.run import ServedRun, serve_run
from apportion.viewer.data.run_location import open_place


@pytest.fixture
def run(viewed_run, tmp_path):
    shutil.copytree(viewed_run.parent, tmp_path / "copy", ignore=shutil.ignore_patterns("viewer"))
    return tmp_path / "copy" / "run"


@pytest.fixture
def indexed(run):
    """The same with its index, made here: a process of its own takes a second."""
    build(open_place(run), index_path(open_place(run)))
    return run


def double_rewards(run):
    table = pq.read_table(run / "rewards.parquet")
    place = table.schema.get_field_index("reward")
    doubled = [2 * value for value in table["reward"].to_pylist()]
    pq.write_table(table.set_column(place, table.schema.field(place), [doubled]), run / "rewards.parquet")


def follow(run: ServedRun, seconds: float = 60.0) -> None:
    """Look at the run until its index is up to date."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        run.look()
        if run.index.is_of(run.place.fingerprint()) and not run.notice:
            return
        time.sleep(0.05)
    raise AssertionError(run.notice)


def test_it_is_made_once_and_used_again(run):
    first = serve_run(open_place(run))
    made = first.index.path.stat()
    assert first.index.path == run / "viewer" / "sessions.sqlite"
    again = serve_run(open_place(run))
    assert again.index.path.stat().st_mtime_ns == made.st_mtime_ns
    assert not [path for path in (run / "viewer").iterdir() if path.name != "sessions.sqlite"]


def test_a_run_that_may_not_be_written_to_has_its_index_in_the_cache(run, tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    (run / "viewer").write_text("a file where the folder should be")
    served = serve_run(open_place(run))
    assert tmp_path / "cache" in served.index.path.parents and listing(served.index, Query()).page.found == 12
    monkeypatch.setenv("APPORTION_CACHE", str(run / "viewer"))
    with pytest.raises(InputError, match=r"can be written neither there nor into"):
        index_path(open_place(run))


def test_a_folder_that_leads_elsewhere_is_not_written_to(run, tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    (tmp_path / "elsewhere").mkdir()
    (run / "viewer").symlink_to(tmp_path / "elsewhere")
    assert tmp_path / "cache" in serve_run(open_place(run)).index.path.parents
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_it_is_read_where_nothing_may_be_written(indexed):
    served = serve_run(open_place(indexed))
    served.index.path.parent.chmod(0o555)
    try:
        with served.index.connect() as connection, pytest.raises(sqlite3.OperationalError):
            connection.execute("DELETE FROM facts")
        assert listing(served.index, Query()).page.found == 12
    finally:
        served.index.path.parent.chmod(0o755)


def test_a_changed_run_is_taken_up_and_read_as_it_was_until_then(indexed, monkeypatch):
    monkeypatch.setattr(served_run, "LOOK_S", 0.0)
    served = serve_run(open_place(indexed))
    before = {row.session_id: row.total for row in listing(served.index, Query(method="uniform")).rows}
    double_rewards(indexed)
    served.look()
    served.look()
    assert "it is being read anew" in served.notice
    assert {row.session_id: row.total for row in listing(served.index, Query(method="uniform")).rows} == before
    follow(served)
    after = {row.session_id: row.total for row in listing(served.index, Query(method="uniform")).rows}
    assert after == {name: pytest.approx(2 * value) for name, value in before.items()}


@pytest.mark.slow
def test_two_viewers_of_one_run_take_it_up_both(indexed, monkeypatch):
    monkeypatch.setattr(served_run, "LOOK_S", 0.0)
    one, other = serve_run(open_place(indexed)), serve_run(open_place(indexed))
    double_rewards(indexed)
    for _ in range(3):
        one.look()
        other.look()
    follow(one)
    follow(other)
    assert listing(one.index, Query()).page.found == listing(other.index, Query()).page.found == 12


@pytest.mark.slow
def test_a_run_that_is_half_written_keeps_its_old_index_and_says_so(indexed, monkeypatch):
    monkeypatch.setattr(served_run, "LOOK_S", 0.0)
    served = serve_run(open_place(indexed))
    whole = (indexed / "rewards.parquet").read_bytes()
    (indexed / "rewards.parquet").write_bytes(whole[: len(whole) // 2])
    stop = time.monotonic() + 60
    while "cannot be read" not in served.notice and time.monotonic() < stop:
        served.look()
        time.sleep(0.05)
    assert "cannot be read" in served.notice and listing(served.index, Query()).page.found == 12
    (indexed / "rewards.parquet").write_bytes(whole)
    follow(served)


def test_a_run_that_is_gone_and_comes_back(indexed, monkeypatch):
    monkeypatch.setattr(served_run, "LOOK_S", 0.0)
    served = serve_run(open_place(indexed))
    indexed.rename(indexed.with_name("away"))
    with pytest.raises(InputError, match=r"the run is no longer there"):
        served.look()
    indexed.with_name("away").rename(indexed)
    follow(served)


def test_a_viewer_that_ends_stops_what_it_has_begun(indexed, monkeypatch):
    monkeypatch.setattr(served_run, "LOOK_S", 0.0)
    served = serve_run(open_place(indexed))
    double_rewards(indexed)
    served.look()
    served.look()
    maker = served._maker
    assert maker is not None
    served.close()
    assert maker.poll() is not None


def test_a_process_that_is_killed_leaves_no_index_or_the_old_one(run):
    place = open_place(run)
    path = index_path(place)
    command = [sys.executable, "-m", "apportion.viewer.data.build", str(place.folder), str(place.corpus), str(path)]
    maker = subprocess.Popen(command)
    time.sleep(0.7)
    maker.kill()
    maker.wait()
    assert not path.exists() or Index(path).is_of(place.fingerprint())
    assert serve_run(place).index.is_of(place.fingerprint())


def test_nothing_is_imported_from_the_folder_that_it_is_started_in(run, tmp_path, monkeypatch):
    for name in ("corpus", "viewer", "json", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    served = serve_run(open_place(run))
    assert listing(served.index, Query()).page.found == 12 and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("how", ["cut", "zeroed", "a table less", "another version", "no database"])
def test_a_damaged_index_is_made_anew_at_the_start(indexed, how):
    place = open_place(indexed)
    path = serve_run(place).index.path
    whole = path.read_bytes()
    if how == "cut":
        path.write_bytes(whole[: len(whole) * 19 // 20])
    elif how == "zeroed":
        path.write_bytes(whole[: 4096 * (len(whole) // 8192)] + bytes(4096) + whole[4096 * (len(whole) // 8192 + 1) :])
    elif how == "no database":
        path.write_bytes(b"no database at all")
        assert Index(path).fact("methods") is None
    else:
        change = "UPDATE facts SET value = '0:' || value WHERE name = 'fingerprint'"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TABLE episodes" if how == "a table less" else change)
            connection.commit()
    assert not (Index(path).is_whole() and Index(path).is_of(place.fingerprint()))
    index = serve_run(place).index
    assert index.is_whole() and index.is_of(place.fingerprint()) and listing(index, Query()).page.found == 12


def test_what_cannot_be_made_is_said_in_one_line(run, capsys):
    place = open_place(run)
    assert main([str(run / "none"), str(place.corpus), str(run / "i.sqlite")]) == 2
    assert "the run is no longer there" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"the index of .* cannot be made"):
        build(place, run / "rewards.parquet" / "i.sqlite")
    (run / "rewards.parquet").write_bytes(b"PAR1")
    (run / "viewer" / "sessions.sqlite").unlink(missing_ok=True)
    with pytest.raises(InputError, match=r"the index of .* cannot be made"):
        serve_run(place)
    assert stamp("x").endswith(":x") and not list((run / "viewer").iterdir())
