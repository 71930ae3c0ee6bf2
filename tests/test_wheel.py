"""The wheel in an empty environment, outside of the checkout: only the libraries are the checkout's, our files not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).resolve().parents[1]
LARGEST_BYTES = 20e6
LINKED = tuple(sorted(path.name for path in (ROOT / "apportion").iterdir() if path.is_symlink()))
COMMON_NAMES = ("features", "pipeline", "evaluation", "demo", "corpus", "decompose", "rlhf")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the checkout, so that nothing left of an earlier build comes into it."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("apportion", *LINKED, "pyproject.toml", "README.md", "LICENSE"):
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(place, folder)
    _run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--no-build-isolation", "--wheel-dir", str(folder / "dist"), "."),
        cwd=folder,
    )
    [built] = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel alone, which looks for libraries where this process does."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder), cwd=folder)
    python = folder / "bin" / "python"
    _run(
        *(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-index", str(wheel)),
        cwd=folder,
    )
    own = Path(_run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # A folder of the path and no more: the .pth files in it, among them the checkout's editable install, are not read.
    libraries = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (own / "libraries.pth").write_text("".join(f"import sys; sys.path.append({place!r})\n" for place in libraries))
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty folder to run in."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_it_holds_every_file_of_the_packages_and_nothing_that_made_the_demo(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {
        f"{prefix}{path.relative_to(ROOT).as_posix()}"
        for name, prefix in (("apportion", ""), *((name, "apportion/") for name in LINKED))
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    # How the demo was made, and recorded episodes and games, which no command of ours looks for, stay in the checkout.
    recorded = ("social", "negotiation", "reactions_en", "deduction", "stackelberg")
    left = tuple(f"apportion/demo/{name}/" for name in ("builders", *recorded))
    assert held == {name for name in files if not name.startswith(left)}


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_BYTES


def test_one_name_is_installed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [listed] = [name for name in archive.namelist() if name.endswith("top_level.txt")]
        assert archive.read(listed).split() == [b"apportion"]


def test_our_modules_come_from_the_environment_and_libraries_from_elsewhere(installed: Path, empty: Path) -> None:
    names = ", ".join(("apportion", *(f"apportion.{name}" for name in LINKED), "apportion.reward_model.model", "torch"))
    code = f"import sys, {names}\nfor name in {names.split(', ')!r}: print(sys.modules[name].__file__)"
    files = [Path(line) for line in _run(str(installed / "bin" / "python"), "-c", code, cwd=empty).splitlines()]
    assert len(files) == len(names.split(", "))
    assert all(file.is_relative_to(installed) for file in files[:-1]), files
    assert not files[-1].is_relative_to(installed)


def test_the_api_is_there(installed: Path, empty: Path) -> None:
    code = "from apportion import RewardModel, decompose_dialogue as f; print(callable(f), RewardModel.__name__)"
    assert _run(str(installed / "bin" / "python"), "-c", code, cwd=empty).split() == ["True", "RewardModel"]


def test_help(installed: Path, empty: Path) -> None:
    assert "apportion demo" in _run(str(installed / "bin" / "apportion"), "--help", cwd=empty)


def test_a_project_with_packages_of_the_same_names_is_not_in_the_way(installed: Path, empty: Path) -> None:
    for name in COMMON_NAMES:
        (empty / name).mkdir()
        (empty / name / "__init__.py").write_text("raise SystemExit('the other project was imported')\n")
    code = "from apportion import decompose_dialogue as f, RewardModel; import apportion.pipeline.config; print('ours')"
    assert _run(str(installed / "bin" / "python"), "-c", code, cwd=empty) == "ours\n"
    assert "nothing was done (--dry-run)" in _run(str(installed / "bin" / "apportion"), "demo", "--dry-run", cwd=empty)


def test_the_demo_runs_in_an_empty_folder_and_writes_nothing_elsewhere(installed: Path, empty: Path) -> None:
    before = _files(installed)
    printed = _run(str(installed / "bin" / "apportion"), "demo", cwd=empty)
    assert f"next: open {empty / 'runs' / 'demo' / 'report.html'}" in printed
    assert [path.name for path in empty.iterdir()] == ["runs"]
    for name in ("report.html", "rewards.parquet", "evaluation.json", "reward_models", "policy"):
        assert (empty / "runs" / "demo" / name).exists(), name
    assert _files(installed) == before


def _run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _environment() -> dict[str, str]:
    """This process's, without the ways by which a Python finds the checkout."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "OPENAI_API_KEY")
    return {**{name: value for name, value in os.environ.items() if name not in dropped}, "HF_HUB_OFFLINE": "1"}


def _files(folder: Path) -> dict[Path, int]:
    """Every file below ``folder`` but compiled modules, with when it was written."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.stat().st_mtime_ns for path in paths}
