"""Files written whole or not at all, and one process at a time at them."""

import multiprocessing
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.foundation.files import (
    at_home,
    canonical_json,
    check_file,
    check_path,
    digest,
    file_digest,
    found_from,
    is_temporary,
    locked,
    make_folder,
    place_file,
    place_folder,
    remembered_digest,
    remove_leftovers,
    temporary_name,
    write_atomically,
)
from apportion.foundation.model_hub.names import model_digest


def test_equal_values_have_one_text_and_one_digest():
    assert canonical_json({"b": [1, 2.5], "a": "ä"}) == '{"a":"ä","b":[1,2.5]}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 2, "b": 2})
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": float("nan")})


def test_a_file_s_digest_is_that_of_its_bytes_and_follows_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert file_digest(path) == remembered_digest(path)
    assert file_digest(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    before = remembered_digest(path)
    path.write_bytes(b"abcd")
    assert remembered_digest(path) != before
    path.write_bytes(b"abc")
    assert remembered_digest(path) == before


@pytest.mark.parametrize("content", ["ä", "ä".encode(), lambda path: path.write_text("ä", encoding="utf-8")])
def test_a_file_is_written_in_a_folder_that_is_made(tmp_path, content):
    path = tmp_path / "new" / "file.txt"
    write_atomically(path, content)
    write_atomically(path, content)
    assert path.read_text(encoding="utf-8") == "ä"
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path):
    finished = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    here, dead = platform.node(), int(finished.stdout)
    kept = {f".c.{here}.{os.getppid()}.tmp", ".d.tmp", "e", f"f.{here}.{dead}.tmp", f".a.elsewhere.{dead}.tmp"}
    for name in {*kept, f".a.{here}.{dead}.tmp", f".b.{here}.{os.getpid()}.tmp"}:
        (tmp_path / name).touch()
    (tmp_path / f".folder.{here}.{dead}.tmp").mkdir()
    assert is_temporary(temporary_name(tmp_path / "a.parquet")) and not is_temporary(tmp_path / "e")
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, f".folder.{here}.{dead}.tmp"}
    remove_leftovers(tmp_path / "nowhere")


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def fails(scratch: Path) -> None:
        scratch.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomically(path, fails)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_what_is_placed_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    real = os.fsync
    monkeypatch.setattr("os.fsync", lambda descriptor: (steps.append("sync"), real(descriptor)))
    replace = Path.replace
    monkeypatch.setattr("pathlib.Path.replace", lambda self, to: (steps.append("name"), replace(self, to)))
    (tmp_path / "scratch").write_text("x")
    place_file(tmp_path / "scratch", tmp_path / "file")
    assert steps == ["sync", "name", "sync"]


def test_a_folder_takes_the_place_of_another(tmp_path):
    for name, text in (("scratch", "new"), ("folder", "old")):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / f"{text}.txt").write_text(text)
    place_folder(tmp_path / "scratch", tmp_path / "folder")
    assert [path.name for path in (tmp_path / "folder" / "deep").iterdir()] == ["new.txt"]
    assert not (tmp_path / "scratch").exists()


def hold(path, ready, done):
    with locked(path, "busy", InputError):
        ready.set()
        done.wait(60)


def test_one_process_at_a_time_and_the_lock_ends_with_it(tmp_path):
    path = tmp_path / "folder" / "lock"
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=hold, args=(path, ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(InputError, match=r"^busy$"), locked(path, "busy", InputError):
            pass
    finally:
        other.kill()
        other.join()
    with locked(path, "busy", InputError) as file:
        file.write(b"mine")
    assert path.read_bytes() == b"mine"


def test_a_lock_that_was_taken_away_by_its_owner_is_made_anew(tmp_path):
    path = tmp_path / "lock"
    with locked(path, "busy", InputError):
        path.unlink()
        with locked(path, "busy", InputError):
            assert path.exists()


def test_a_place_that_cannot_be_written_is_the_caller_s_to_explain(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "none" / "lock")
    with pytest.raises(FileNotFoundError), locked(tmp_path / "lock", "busy", InputError):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError), locked(tmp_path / "file" / "lock", "busy", InputError):
        pass


def test_a_path_without_a_file_or_that_cannot_be_looked_at(tmp_path):
    check_path(tmp_path)
    check_path(tmp_path / "nowhere" / "x")
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(InputError, match=r"cannot be looked at \(.*Check the path"):
            check_path(tmp_path / name)
    (tmp_path / "file").write_text("")
    check_file(tmp_path / "file", "x", "y")
    with pytest.raises(InputError, match=r"^the model: a folder\. Give a file\.$"):
        check_file(tmp_path, "the model", "Give a file.")
    with pytest.raises(InputError, match=r"^the model: no such file\. Give a file\.$"):
        check_file(tmp_path / "none", "the model", "Give a file.")


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    make_folder(tmp_path / "a" / "b", "")
    make_folder(tmp_path / "a" / "b", "")
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x", Path("/proc/self/none")):
        with pytest.raises(InputError, match=r"the folder cannot be made \(.*\)\. Try another"):
            make_folder(place, "Try another.")


@pytest.mark.parametrize("path", ["~no-such-user-7/x", "~no-such-user-7"])
def test_a_folder_of_a_user_who_does_not_exist_is_only_not_found(path, tmp_path):
    assert at_home(path) == Path(path) and not at_home(path).exists()
    assert model_digest(path) == path and found_from(tmp_path, path) == tmp_path / path
