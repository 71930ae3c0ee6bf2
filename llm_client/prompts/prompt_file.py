"""The text file of a prompt: where it is, what it must hold, and what is wrong with one that cannot be used."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, cast, get_args

from foundation.errors import InputError
from foundation.nearest import nearest

ENTRY_POINTS = "apportion.prompts"
FOLDER = Path(__file__).parents[2] / "decompose" / "prompts"

Units = Literal["judgement", "score", "attribution"]

_SECTION = re.compile(r"^\[(\w+)\][ \t]*\n", re.MULTILINE)
_HEADER = ("title", "units", "low", "high")
_LARGEST_FILE = 1_000_000
_FORM = "A prompt is a header (title, units, low, high), then [system] and [user]; see docs/decompose.md"


@dataclass(frozen=True)
class PromptText:
    """What a prompt's file holds: a header, and two templates."""

    title: str
    units: Units
    low: float | None
    high: float | None
    system: str
    user: str


def prompt_names() -> list[str]:
    """The names of our own prompts and of those that installed packages bring, sorted."""
    return sorted({path.stem for path in FOLDER.glob("*.txt")} | set(_entry_points()))


def is_path(name: str) -> bool:
    """Whether a setting names a file of the user's own rather than a prompt by its name."""
    return name.endswith(".txt") or "/" in name


def find_prompt(name: str) -> Path:
    """The file of the prompt ``name``: one of ours, one that a package brings, or the path of the user's own.

    Raises
    ------
    InputError
        No such prompt (with the nearest name), or a package's prompt cannot be loaded.
    """
    ours = FOLDER / f"{name}.txt"
    if not is_path(name) and ours.is_file():
        return ours
    if is_path(name):
        # Not Path.expanduser: a user that does not exist is no error here, the file is only not found.
        return Path(os.path.expanduser(name))  # noqa: PTH111
    if name in _entry_points():
        return _brought(_entry_points()[name])
    allowed = prompt_names()
    near = nearest(name, allowed)
    hint = f"; did you mean {near!r}?" if near else "."
    raise InputError(
        f"decompose.llm.prompt: no prompt {name!r}{hint} Allowed: {', '.join(allowed)}, or the path of a text file."
    )


def read_prompt(path: Path, environment: Any, blanks: frozenset[str]) -> PromptText:
    """Read and check a prompt's file; ``environment`` is Jinja's, ``blanks`` the names that templates may use.

    Raises
    ------
    InputError
        The file cannot be read, lacks a section or a line of the header, has values that are not allowed there, or
        is no valid template.
    """
    head, *sections = _SECTION.split(_content(path))
    names, texts = sections[::2], sections[1::2]
    if sorted(names) != ["system", "user"]:
        found = ", ".join(f"[{name}]" for name in names) or "none"
        raise _unusable(path, f"its sections are {found}; it needs [system] and [user], each once and on its own line")
    by_name = dict(zip(names, texts, strict=True))
    for name, text in by_name.items():
        _check_template(path, name, text, environment, blanks)
    header = _header(path, head)
    units = _units(path, header)
    low, high = _scale(path, units, header)
    return PromptText(header.get("title", path.stem), units, low, high, by_name["system"], by_name["user"])


def _content(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > _LARGEST_FILE:
            raise _unusable(path, f"{size:,} bytes; a prompt has at most {_LARGEST_FILE:,}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _unusable(path, f"not UTF-8 at byte {error.start}") from None
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(
            f"decompose.llm.prompt: {path} cannot be read ({cause}). Relative paths are relative to the configuration; "
            f"prompts by name are {', '.join(prompt_names())}."
        ) from None


def _header(path: Path, head: str) -> Mapping[str, str]:
    header: dict[str, str] = {}
    for line in head.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or key.strip() not in _HEADER or key.strip() in header:
            allowed = ", ".join(_HEADER)
            raise _unusable(path, f"line {line[:80]!r} before its sections; allowed are {allowed}, each once")
        header[key.strip()] = value.strip()
    return header


def _units(path: Path, header: Mapping[str, str]) -> Units:
    units = header.get("units")
    if units not in get_args(Units):
        raise _unusable(path, f"units: {units or 'missing'}; allowed are {', '.join(get_args(Units))}")
    return cast(Units, units)


def _scale(path: Path, units: Units, header: Mapping[str, str]) -> tuple[float | None, float | None]:
    given = {name: header[name] for name in ("low", "high") if name in header}
    if units == "score":
        if given:
            raise _unusable(path, "low or high with units: score; shares of the score have no bounds")
        return None, None
    try:
        low, high = float(given["low"]), float(given["high"])
    except (KeyError, ValueError):
        raise _unusable(path, f"units: {units} needs low and high, each a number") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise _unusable(path, f"low: {low:g}, high: {high:g}; low must be below high, and both finite")
    if units == "attribution" and (low != 0 or not high.is_integer()):
        raise _unusable(path, f"low: {low:g}, high: {high:g}; an attribution is a whole number from 0 to high")
    return low, high


def _check_template(path: Path, section: str, text: str, environment: Any, blanks: frozenset[str]) -> None:
    from jinja2 import TemplateError, meta

    try:
        tree = environment.parse(text)
        environment.from_string(text)
        used = meta.find_undeclared_variables(tree)
        for name in meta.find_referenced_templates(tree):
            environment.get_template(name or "")
    except TemplateError as error:
        cause = str(error) or type(error).__name__
        raise _unusable(path, f"[{section}] is no valid template: {cause.splitlines()[0]}") from None
    unknown = sorted(used - blanks)
    if unknown:
        known = ", ".join(sorted(blanks))
        raise _unusable(path, f"[{section}] has unknown blanks {', '.join(unknown)}; known are {known}")
    missing = [name for name in ("transcript", "turns") if section == "user" and name not in used]
    if missing:
        raise _unusable(path, f"[user] lacks the blanks {' and '.join(f'{{{{ {name} }}}}' for name in missing)}")


def _unusable(path: Path, problem: str) -> InputError:
    return InputError(f"decompose.llm.prompt: {path}: {problem}. {_FORM}.")


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _brought(point: EntryPoint) -> Path:
    source = f"entry point {point.name!r} of {ENTRY_POINTS} ({point.value})"
    try:
        path = point.load()
    except Exception as error:  # Anything can go wrong while a stranger's module is imported.
        raise InputError(f"{source} cannot be loaded: {type(error).__name__}: {error}. Repair or remove it.") from None
    if not isinstance(path, (str, Path)):
        raise InputError(f"{source} is {path!r}; it must be the path of a prompt's text file.")
    return Path(path)
