"""A foreign module that hides a package of ours is named before anything of ours is imported."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from apportion.own_names import OWN_NAMES, hiding_files
from tests.behaviour.command import ROOT, environment


def test_every_installed_package_that_a_command_imports_is_looked_at() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    installed = {
        name.split(".")[0].rstrip("*") for name in declared["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    # `apportion` is what looks; `dags` and `demo` are found by their file.
    assert set(OWN_NAMES) == installed - {"apportion", "dags", "demo"}


def test_in_a_checkout_nothing_is_hidden() -> None:
    assert hiding_files() == {}


def test_a_name_that_is_nowhere_hides_nothing() -> None:
    assert hiding_files(("no_such_package",)) == {}


def test_a_checkout_behind_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(ROOT)
    assert hiding_files(home=tmp_path / "linked") == {}


@pytest.mark.parametrize("arguments", [["--help"], ["doctor"], ["run", "none.toml"]])
@pytest.mark.parametrize("name", ["features", "foundation"])
def test_a_module_in_the_current_folder_is_named_with_what_to_do(
    tmp_path: Path, name: str, arguments: list[str]
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    done = _apportion(tmp_path, *arguments)
    assert done.returncode == 2
    assert f"`{name}` is {tmp_path / name}.py, and not {ROOT / name}" in done.stderr
    assert "Rename" in done.stderr and "pipx install" in done.stderr
    assert "imported" not in done.stderr and "Traceback" not in done.stderr


def test_a_package_on_the_path_is_named_too_but_not_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "viewer").mkdir()
    (tmp_path / "corpus" / "__init__.py").touch()
    done = _apportion(tmp_path, "--help")
    assert done.returncode == 2
    assert f"`corpus` is {tmp_path}/corpus/__init__.py" in done.stderr
    assert "viewer" not in done.stderr


def _apportion(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`apportion` from ``folder``, which `python -m` looks into first."""
    command = [sys.executable, "-m", "apportion", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
