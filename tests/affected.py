"""Which of the dear test files a change reaches, for `.ci/run`: `python -m tests.affected [--base COMMIT]`.

A test file is reached where it imports, directly or through others, a file that differs from the base commit.
Imports inside functions count, and so do names of modules in strings: methods and agents are loaded by them. A changed
file that is no Python counts as a change of the modules beside it. The nearest files come first, at most `MOST` of a
kind; of the others a tenth takes its turn with every commit. `make test-all` runs everything.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("slow", "browser", "dags", "deepspeed", "trainers")
MOST = {"slow": 30, "browser": 6, "dags": 4, "deepspeed": 1, "trainers": 4}
EVERYTHING = ("pyproject.toml", "Makefile", ".ci/", "tests/conftest.py")
"""A change of these reaches every test."""
TURNS = 10
SESSION_S = 4 * 3600
"""Commits this much older than the newest are of an earlier change, where no base is named."""
NAMED = re.compile(r"(?:apportion|tests|benchmarks)(?:\.\w+)+")


def chosen(kind: str, near: Mapping[str, int], turn: int, root: Path = ROOT) -> tuple[list[str], int]:
    """The files of ``kind`` to run, nearest first, and how many that are reached are left out."""
    files = of_kind(kind, root)
    reached = sorted((path for path in files if path in near), key=lambda path: (near[path], path))
    others = [path for path in files if path not in near]
    return reached[: MOST[kind]] + others[turn % TURNS :: TURNS], max(0, len(reached) - MOST[kind])


def of_kind(kind: str, root: Path = ROOT) -> list[str]:
    """The test files that hold a test of this kind, sorted."""
    marks = re.compile(rf"mark\.{kind}\b")
    found = (
        path
        for path in (root / "tests").rglob("test_*.py")
        if path.parent.name == kind or marks.search(path.read_text(encoding="utf-8"))
    )
    return sorted(path.relative_to(root).as_posix() for path in found)


def distances(changed: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """By file that the change reaches, over how many imports (0: it is changed itself)."""
    changed = list(changed)
    importers: dict[str, set[str]] = defaultdict(set)
    files = {module_of(path): path for path in python_files(root)}
    for path in files.values():
        for name in imported(root / path):
            if (place := file_of(name, files)) is not None and place != path:
                importers[place].add(path)
    if any(path.startswith(EVERYTHING) for path in changed):
        changed = list(files.values())
    beside = defaultdict(set)
    for path in files.values():
        beside[path.rpartition("/")[0]].add(path)
    edge = set().union(*({path} if path.endswith(".py") else nearest(path, beside) for path in changed))
    found = dict.fromkeys(edge, 0)
    while edge:
        edge = set().union(*(importers[path] for path in edge)) - set(found)
        found |= dict.fromkeys(edge, max(found.values()) + 1)
    return found


def nearest(path: str, beside: Mapping[str, set[str]]) -> set[str]:
    """The Python files in the folder of ``path``, or in the first above it that has some; none of the root's."""
    folder = path.rpartition("/")[0]
    while folder and not beside.get(folder):
        folder = folder.rpartition("/")[0]
    return beside.get(folder, set()) if folder else set()


def imported(path: Path) -> set[str]:
    """Every dotted name of ours that a file imports or names in a string."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n\n" not in node.value:
            names |= set(NAMED.findall(node.value))
    return names


def python_files(root: Path) -> list[str]:
    """Every Python file of the packages, tests and benchmarks, by its path."""
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted(
        path.relative_to(root).as_posix()
        for folder in folders
        for path in folder.rglob("*.py")
        if not any(parent.is_symlink() for parent in path.parents)
    )


def module_of(path: str) -> str:
    """How a file is imported: `corpus/session.py` as `apportion.corpus.session`."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.split(".")[0] in ("apportion", "tests", "benchmarks") else f"apportion.{name}"


def file_of(name: str, files: Mapping[str, str]) -> str | None:
    """The file of a module, or of the module that has ``name`` in it."""
    return files.get(name) or files.get(name.rpartition(".")[0])


def main(arguments: list[str] | None = None) -> None:
    """Print a line a kind: its name, then its files; what is left out goes to the error stream."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit to compare with; by default the last one of an earlier change")
    given = parser.parse_args(arguments)
    changed = _git("diff", "--name-only", "--no-renames", given.base or _earlier(), "HEAD").splitlines()
    near, turn = distances(changed), int(_git("rev-list", "--count", "HEAD"))
    for kind in KINDS:
        files, left = chosen(kind, near, turn)
        print(kind, *files)
        if left:
            sys.stderr.write(f"{left} more files with {kind} tests are reached: make test-all runs them\n")


def _earlier() -> str:
    newest = int(_git("log", "-1", "--format=%ct"))
    found = _git("rev-list", "-1", f"--before={newest - SESSION_S}", "HEAD")
    return found or _git("rev-list", "--max-parents=0", "HEAD").splitlines()[0]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
