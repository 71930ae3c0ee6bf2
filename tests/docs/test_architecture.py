"""The contributor's map is true: what it names is there."""

import ast
import re
from pathlib import Path

import pytest

from apportion.pipeline.stages.registry import STAGES

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/architecture.md", "CONTRIBUTING.md", "docs/README.md", "README.md")
LADDER = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "demo"}


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_exists(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.[a-z]+)?|[a-z_]+/)[:`]", read(page))
    whole = [path for path in named if (ROOT / path.partition("/")[0]).is_dir() and path != "viewer/app.py"]
    assert len(whole) >= (0 if page.endswith("README.md") else 20)
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


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    folder = (ROOT / page).parent
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(page))
    assert links and not [link for link in links if not (folder / link).exists()]


def test_every_page_is_in_the_index():
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\]\(([a-z_]+\.md)\)", read("docs/README.md")))


def test_every_package_is_on_the_ladder():
    ladder = read("docs/architecture.md").partition("Inside the larger packages")[0]
    assert set(re.findall(r"^\| `([a-z_]+)/` \|", ladder, re.MULTILINE)) == LADDER


def test_the_picture_shows_the_stages():
    drawn = set(re.findall(r"^  (\S+) --> (\S+)$", read("docs/architecture.md"), re.MULTILINE))
    assert drawn == {(need, stage.name) for stage in STAGES for need in stage.needs}


def test_the_readme_s_first_screen_is_short():
    first = read("README.md").partition("## What it does")[0]
    (table,) = re.findall(r"```text\n(.*?)```", first, re.DOTALL)
    assert table.count("\n") <= 15 and first.count("](docs/") <= 4


def test_no_page_has_a_blank_left_to_fill():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]
    assert not [page.name for page in pages if "@@" in page.read_text(encoding="utf-8")]
