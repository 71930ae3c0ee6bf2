"""The contributor's map is true: what it names is there."""

import ast
import re

import pytest

from tests.docs.pages import ROOT, read

ARCHITECTURE = "docs/explanations/architecture.md"
LADDER = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "demo"}


@pytest.mark.parametrize("page", [ARCHITECTURE, "CONTRIBUTING.md"])
def test_every_path_that_is_named_exists(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.[a-z]+)?|[a-z_]+/)[:`]", read(page))
    whole = [path for path in named if (ROOT / path.partition("/")[0]).is_dir()]
    assert len(whole) >= 20
    assert not [path for path in whole if not (ROOT / path).exists()]


def test_every_package_and_folder_names_its_files():
    unnamed = []
    for package in sorted(LADDER):
        for init in sorted((ROOT / package).rglob("__init__.py")):
            words = set(re.findall(r"\w+", ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""))
            files = {path.stem for path in init.parent.glob("*.py")} - {"__init__", "__main__"}
            rooms = {path.parent.name for path in init.parent.glob("*/__init__.py") if not path.parent.is_symlink()}
            unnamed += [f"{init.relative_to(ROOT)}: {name}" for name in sorted((files | rooms) - words)]
    assert not unnamed


def test_every_package_is_on_the_ladder():
    ladder = read(ARCHITECTURE).partition("## The stages")[0]
    assert set(re.findall(r"^\| `([a-z_]+)/` \|", ladder, re.MULTILINE)) == LADDER
