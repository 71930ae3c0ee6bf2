"""What `make` does before the demo and the tests: the face mesh comes where it can be had."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def make(venv: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    command = ["make", "-C", str(ROOT), f"VENV={venv}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment that counts as complete, whose `apportion` writes down what it is asked and fails to fetch."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "apportion"
    command.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\ntest "$1" != models || exit 1\n')
    command.chmod(0o755)
    (tmp_path / ".ready").touch()
    return tmp_path


@pytest.mark.parametrize("target", ["demo", "test", "test-slow"])
def test_the_mesh_is_fetched_first(venv: Path, target: str) -> None:
    lines = make(venv, "-n", target).stdout.splitlines()
    fetched = [number for number, line in enumerate(lines) if "apportion models fetch mesh" in line]
    worked = [number for number, line in enumerate(lines) if "apportion demo" in line or "-m pytest" in line]
    assert len(fetched) == 1 and fetched[0] < min(worked)


def test_where_it_cannot_be_had_the_demo_runs_all_the_same_and_says_so(venv: Path) -> None:
    done = make(venv, "demo")
    assert done.returncode == 0 and "haar finds and reads the faces instead" in done.stdout
    assert (venv / "asked").read_text() == "models fetch mesh\ndemo\n"


def test_the_check_of_every_submission_runs_the_tests_by_make() -> None:
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text()
