"""The contracts of `lint-imports` catch what they are for: each is broken once on purpose, in a copy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests")
BREAKS = {
    "A package imports only from packages below it": ("features/time_series.py", "import apportion.rlhf.settings"),
    "The LLM client knows nothing of dialogue": ("llm_client/usage.py", "import apportion.corpus.schema"),
    "Evaluation does not know how the values were made": (
        "evaluation/confidence_intervals/bootstrap.py",
        "import apportion.features.registry",
    ),
    "No file and no folder imports its sibling in a circle": ("corpus/schema.py", "import apportion.corpus.corpus"),
    "Simulated dialogues need no trainer": ("environments/__init__.py", "import torch"),
    "Pages need no trainer; what they read may load one when it is used": ("viewer/__init__.py", "import peft"),
    "A study needs no trainer; what it reads may load one when it is used": (
        "study/__init__.py",
        "import transformers",
    ),
}
BELOW_ENVIRONMENTS = {"foundation", "corpus", "llm_client"}
ABOVE_ENVIRONMENTS = {
    "features", "reward_model", "decompose", "evaluation", "rlhf", "pipeline", "study", "viewer", "dags"
}  # fmt: skip
TRAINERS = {"torch", "transformers", "trl", "peft"}


def lint(folder):
    command = [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports_command as lint; lint()"]
    done = subprocess.run([*command, "--no-cache"], cwd=folder, capture_output=True, text=True)
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)$", done.stdout, re.MULTILINE)), done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_each_contract_is_broken_by_what_it_forbids(copy):
    for file, line in BREAKS.values():
        path = copy / file
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    states, said = lint(copy)
    assert states == dict.fromkeys(BREAKS, "BROKEN"), said


def test_environments_import_the_three_packages_below_them_and_no_other(copy):
    assert BELOW_ENVIRONMENTS | ABOVE_ENVIRONMENTS | {"environments"} == set(PACKAGES) - {"apportion", "demo"}
    path = copy / "environments" / "play.py"
    imports = [f"import apportion.{name}\n" for name in sorted(BELOW_ENVIRONMENTS | ABOVE_ENVIRONMENTS)]
    path.write_text("".join(imports), encoding="utf-8")
    states, said = lint(copy)
    assert states["A package imports only from packages below it"] == "BROKEN", said
    told = set(re.findall(r"environments\.play -> apportion\.(\w+) \(l\.\d+\)", said))
    assert told == ABOVE_ENVIRONMENTS, said


WITHOUT_TRAINER = ("environments", "viewer", "study", "foundation", "corpus", "decompose", "reward_model")


def test_packages_are_imported_without_a_trainer():
    """One process for all: a trainer is that of the first package that is told with it."""
    code = (
        "import importlib, sys\n"
        f"for name in {WITHOUT_TRAINER}:\n"
        "    importlib.import_module(f'apportion.{name}')\n"
        f"    print(name, *sorted({TRAINERS} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == [*WITHOUT_TRAINER], done.stdout + done.stderr
