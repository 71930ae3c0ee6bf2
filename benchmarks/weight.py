"""The weight of the house, beside what it was on 2026-11-28 and may be: `python -m benchmarks.weight`.

Lines are those of Python files after the formatter, words those of Markdown files. Print it before and after a change.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import ROOT

LINKED = sorted(path.name for path in (ROOT / "apportion").iterdir() if path.is_symlink())


def main() -> None:
    """Print a line a figure: what it is, what it was, what it may be."""
    product = [path for name in ("apportion", *LINKED) for path in tracked(name, ".py")]
    print(f"{'':<36}{'now':>10}{'2026-11-28':>14}{'at most':>10}")
    tell("product: lines of Python", lines(product), 118_256, 108_000)
    tell("product: files", len(product), 1_159)
    tell("product: median lines of a file", int(median(map(_lines, product))), 90)
    tell("tests: lines of Python", lines(tracked("tests", ".py")), 93_848, 86_000)
    tell("benchmarks: lines of Python", lines(tracked("benchmarks", ".py")), 9_987, 4_500)
    tell("docs: words", words([*tracked("docs", ".md"), *tracked("benchmarks", ".md")]), 113_139, 55_000)
    tell("README: words", words([ROOT / "README.md"]), 925, 400)
    tell("top-level commands", commands(), 41, 17)
    tell("keys that `apportion init` writes", keys(), 281, 15)
    tell("installed top-level packages", 1, 15, 1)


def tell(figure: str, now: int, was: int, most: int | None = None) -> None:
    """One line."""
    print(f"{figure:<36}{now:>10,}{was:>14,}{'' if most is None else format(most, ','):>10}")


def tracked(folder: str, suffix: str) -> Iterator[Path]:
    """The files of a folder that git knows, without links."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (ROOT / name for name in listed.stdout.splitlines() if name.endswith(suffix))
    return (path for path in paths if path.is_file() and not path.is_symlink())


def lines(paths: Iterator[Path] | list[Path]) -> int:
    """Lines of all files together."""
    return sum(map(_lines, paths))


def words(paths: list[Path]) -> int:
    """Words of all files together."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def commands() -> int:
    """Words that `apportion --help` lists."""
    from apportion.cli import cli

    return sum(not command.hidden for command in cli.commands.values())


def keys() -> int:
    """Keys of the file that `apportion init` writes for the demo's corpus, commented ones among them."""
    from apportion.pipeline.template import template_for

    text, *_ = template_for(ROOT / "demo" / "corpus", None)
    return sum(re.match(r"(# )?[a-z_]+ =( |$)", line) is not None for line in text.splitlines())


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


if __name__ == "__main__":
    main()
