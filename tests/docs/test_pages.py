import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, ROOT, WRITTEN, name, read

MOST_WORDS = 54_000
MADE = ("cli", "settings", "stages", "presets", "api", "tables", "rows", "strangers")
REFERENCE = {f"reference/{page}.md" for page in MADE}


def targets(page):
    """What a page links to: a path from the page's folder, and an anchor; addresses are left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", read(page), flags=re.DOTALL)
    return [target.partition("#")[::2] for target in re.findall(r"\]\(([^)\s:]+)\)", text)]


def anchors(page):
    """The anchors of a page's headings, as the site makes them."""
    text = re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in heads}


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_every_link_leads_somewhere(page):
    for path, anchor in targets(page):
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(DOCS) and str(target.relative_to(DOCS)) in REFERENCE:
            continue  # made by docs/make_reference.py
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def navigation(entries):
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else navigation(below)


def test_every_page_is_in_the_navigation():
    listed = list(navigation(yaml.safe_load(read("mkdocs.yml"))["nav"]))
    assert len(listed) == len(set(listed))
    assert set(listed) == {str(page.relative_to(DOCS)) for page in WRITTEN if page.is_relative_to(DOCS)} | REFERENCE


def test_pages_are_short():
    words = {name(page): len(read(page).split()) for page in WRITTEN}
    assert words["README.md"] <= 400
    assert sum(words.values()) + len(read("docs/columns.toml").split()) <= MOST_WORDS


def test_the_first_screen_is_short():
    first = read("README.md").partition("## What it is good for")[0]
    assert first.count("![") == 1 and first.count("\n") <= 22
    assert all(command in first for command in ("make demo", "make test", "apportion start", "apportion run"))


def test_the_glossary_has_at_most_forty_words():
    assert len(re.findall(r"^\| (?!word|---)", read("docs/explanations/glossary.md"), flags=re.MULTILINE)) <= 40


def test_every_picture_is_shown():
    shown = {Path(path).name for page in WRITTEN for path, _ in targets(page)}
    assert {picture.name for picture in (DOCS / "images").iterdir()} <= shown


def test_no_page_has_a_blank_left_to_fill():
    assert not [name(page) for page in (*WRITTEN, ROOT / "benchmarks" / "README.md") if "@@" in read(page)]


def test_columns_have_no_table_too_many():
    assert "sessions" in tomllib.loads(read("docs/columns.toml"))
