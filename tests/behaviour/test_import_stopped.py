import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import environment, in_process
from tests.features.clips import tone, write_wav

WRITES: tuple[tuple[Any, str], ...] = (
    (Path, "mkdir"),
    (Path, "write_bytes"),
    (Path, "replace"),
    (Path, "unlink"),
    (os, "fsync"),
    (shutil, "copyfile"),
    (pq, "write_table"),
)
"""What an import changes a disk by."""
STOPPED = """
import importlib, json, os, resource, signal, sys
from tests.behaviour.test_import_stopped import at_write, content
from apportion.cli import main
for name in ("registry", "media", "chat"):
    __import__(f"apportion.corpus.importers.{name}")
importlib.import_module("av")
importlib.import_module("apportion.corpus.languages.identifier").spoken_in(["Hello there."])

def forked(before):
    end, said = os.pipe()
    child = os.fork()
    if child == 0:
        before()
        os.dup2(said, 2)
        main(sys.argv[2:])
    os.close(said)
    with open(end) as told:
        text = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text

def killed(number):
    at_write(setattr, number, lambda: os.kill(os.getpid(), signal.SIGKILL))

def limited(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

for number in json.loads(sys.argv[1]):
    os.system("rm -rf corpus")
    first, said = forked(lambda: killed(number) if number >= 0 else limited(-number))
    again, _ = forked(lambda: None)
    print(json.dumps([first, said, again, {name: data.hex() for name, data in content("corpus").items()}]), flush=True)
"""
"""The import ARGV[2:] in forks of one process: killed at each write N of ARGV[1] (-N: no file may have more than N
bytes), then once more; prints both exit codes, what the first said, and the corpus."""


def stopped(folder: Path, numbers: Sequence[int], *command: str) -> list[tuple[int, str, int, dict[str, str]]]:
    """`STOPPED` in ``folder``."""
    arguments = [sys.executable, "-c", STOPPED, json.dumps(list(numbers)), "import", *command]
    done = subprocess.run(arguments, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")]


LAST_WRITE = 66
"""More than an import of one recording has."""


def at_write(patch: Callable[[Any, str, Any], Any], number: int, end: Callable[[], None]) -> list[str]:
    """Have ``end`` called half way through the ``number``-th write (from 0); returns the names of those that came."""
    came: list[str] = []

    def stopping(name: str, write: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        came.append(name)
        if len(came) != number + 1:
            return write(*arguments, **options)
        target = {"write_bytes": 0, "copyfile": 1, "write_table": 1}.get(name)
        if target is not None:
            with open(arguments[target], "wb") as file:  # noqa: PTH123 - patched is what pathlib writes with
                file.write(b"half")
        end()
        return None

    for owner, name in WRITES:
        write = getattr(owner, name)
        wrapped = partial(stopping, name, write)
        # A partial in a class is not bound to its object; this is.
        patch(owner, name, partialmethod(wrapped) if owner is Path else wrapped)
    return came


def disk_is_full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def no_links(*_: object) -> None:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


def recordings(folder: Path) -> Path:
    session = folder / "recordings" / "call"
    session.mkdir(parents=True)
    write_wav(session / "ann.wav", tone(0.2))
    (session / "transcript.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:00.100\n<v Ann>Hello.\n")
    return folder / "recordings"


def content(folder: Path | str) -> dict[str, bytes]:
    folder = Path(folder)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_disk_that_is_full_at_any_write(tmp_path, monkeypatch):
    command = ("import", "media", recordings(tmp_path), tmp_path / "corpus")
    assert in_process(monkeypatch, *command).returncode == 0
    whole = content(tmp_path / "corpus")
    assert {"import.json", "sessions.parquet", "media/call/ann.wav"} <= whole.keys()
    failed = set()
    for number in count():
        shutil.rmtree(tmp_path / "corpus")
        with monkeypatch.context() as patched:
            patched.setattr(os, "link", no_links)
            came = at_write(patched.setattr, number, disk_is_full)
            done = in_process(monkeypatch, *command)
        if len(came) <= number:
            break
        # Where a temporary file cannot be taken away, the corpus is whole none the less.
        assert (done.returncode, came[number]) in ((2, came[number]), (0, "unlink")), done.stderr
        if done.returncode:
            assert "No space left on device" in done.stderr and "Free some space" in done.stderr
        failed.add(came[number])
        again = in_process(monkeypatch, *command)
        assert again.returncode == 0, (number, came[number], again.stderr)
        assert content(tmp_path / "corpus") == whole
    assert failed >= {name for _, name in WRITES} - {"unlink"}


@pytest.mark.slow
def test_a_file_that_may_not_grow(tmp_path):
    """The system itself refuses: Arrow's writes, too."""
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n")
    for code, said, again, _ in stopped(tmp_path, [-1, -400], "chat", "log.jsonl", "corpus"):
        assert (code, again) == (2, 0), said
        assert "cannot be written" in said and "Free some space" in said


@pytest.mark.slow
def test_a_kill_at_any_write(tmp_path):
    recordings(tmp_path)
    ended = stopped(tmp_path, [*range(0, LAST_WRITE, 3), LAST_WRITE], "media", "recordings", "corpus")
    codes = [code for code, _, _, _ in ended]
    kills = codes.index(0)
    assert codes == [-signal.SIGKILL] * kills + [0] * (len(codes) - kills) and kills >= 10
    assert {again for _, _, again, _ in ended} == {0}
    whole = ended[-1][3]
    assert [number for number, (_, _, _, found) in enumerate(ended) if found != whole] == []
