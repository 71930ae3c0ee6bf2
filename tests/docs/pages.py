"""The pages that readers have, and what stands in them: commands, configuration, Python."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
WRITTEN = [page for page in PAGES if page.parent != DOCS / "reference"]
"""All but what docs/make_reference.py makes."""


def name(page: Path) -> str:
    """Its path from the root, for the names of tests."""
    return str(page.relative_to(ROOT))


def read(page: Path | str) -> str:
    """Its text; a page may be named by its path from the root."""
    return (ROOT / page).read_text(encoding="utf-8")


def fenced(page: Path | str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)


def indented(page: Path | str) -> list[str]:
    """The indented blocks, without their indentation."""
    blocks = re.findall(
        r"(?:^|\n\n)((?:    .*\n(?:\n(?=    ))?)+)", re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)
    )
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


def commands(page: Path | str) -> Iterator[str]:
    """Every command line of ours on a page: lines of blocks, and code in a sentence."""
    blocks = [*indented(page), *fenced(page, "sh"), *fenced(page, "text")]
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    lines += re.findall(r"(?<!`)`(apportion [^`\n]+)`(?!`)", read(page))
    yield from (
        re.sub(r"^\.venv/bin/", "", line) for line in lines if re.match(r"(\.venv/bin/)?apportion [a-z-]", line)
    )
