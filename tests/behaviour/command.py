"""The command line as a user has it: a process of its own; or the same without one, which saves seconds a call."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from apportion.cli import main
from apportion.pipeline import assembly

ROOT = Path(__file__).resolve().parents[2]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return {**kept, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", **changes}


def apportion(*arguments: object, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run `apportion ARGUMENTS` to its end."""
    command = [sys.executable, "-m", "apportion", *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(**changes), capture_output=True, text=True)


def read(done: subprocess.CompletedProcess[str]) -> Any:
    """What it said with --json."""
    return json.loads(done.stdout)


@contextmanager
def threads(*arguments: Any) -> Iterator[Executor]:
    """In place of `pipeline.execution.runner._process_pool`: a thread, which does not load every library again."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@contextmanager
def without_workers() -> Iterator[None]:
    """Runs of this process start no others; nothing is left of an earlier run, as a worker has nothing of it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("apportion.pipeline.execution.runner._process_pool", threads)
        assembly._kept.clear()
        yield


@contextmanager
def _logged(stream: io.StringIO) -> Iterator[None]:
    """What is logged goes where a process without handlers of its own writes it; pytest's hide it."""
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def in_process(monkeypatch: pytest.MonkeyPatch, *arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """`apportion ARGUMENTS` without a process of its own or of workers; nothing is left of an earlier run."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with monkeypatch.context() as patched, without_workers(), redirect_stdout(out), redirect_stderr(err), _logged(err):
        for name, value in changes.items():
            patched.setenv(name, value)
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(["apportion"], code, out.getvalue(), err.getvalue())


def config(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def chosen_methods(*names: str) -> str:
    """The lines of a configuration that choose these methods; the last is the run's own."""
    return f'method = "{names[-1]}"\ncompare = {json.dumps(names[:-1])}\n'
