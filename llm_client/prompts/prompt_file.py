"""The text file of a prompt: where it is, what it must hold, and what is wrong with one that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home
from apportion.foundation.registry import load_brought, points_of
from apportion.llm_client.request import ChatMessage

_SECTION = re.compile(r"^\[(\w+)\][ \t]*\n", re.MULTILINE)
_LARGEST_FILE = 1_000_000


@dataclass(frozen=True)
class PromptText:
    """What a prompt's file holds: the lines of its header by their key, and two templates."""

    header: Mapping[str, str]
    system: str
    user: str


@dataclass(frozen=True)
class PromptKind:
    """The prompts for one purpose: where they are, and what their files may and must hold.

    ``folder`` has ours, ``entry_points`` is the group in which packages name theirs, ``setting`` what a person chooses
    one by, for errors. ``header`` are the keys that may stand before the sections, ``blanks`` the names that templates
    may use, of which ``[user]`` needs those of ``needed``; ``form`` tells a person how such a file looks.
    """

    folder: Path
    entry_points: str
    setting: str
    header: tuple[str, ...]
    blanks: frozenset[str]
    needed: tuple[str, ...]
    form: str

    def names(self) -> list[str]:
        """The names of our own prompts and of those that installed packages bring, sorted."""
        return sorted({path.stem for path in self.folder.glob("*.txt")} | set(_entry_points(self.entry_points)))

    def find(self, name: str) -> Path:
        """The file of the prompt ``name``: one of ours, one that a package brings, or the path of the user's own.

        Raises ``InputError``: no such prompt (with the nearest name), or a package's prompt cannot be loaded.
        """
        ours = self.folder / f"{name}.txt"
        if not is_path(name) and ours.is_file():
            return ours
        if is_path(name):
            return at_home(name)
        brought = _entry_points(self.entry_points)
        if name in brought:
            return _brought(brought[name])
        allowed = self.names()
        near = nearest(name, allowed)
        hint = f"; did you mean {near!r}?" if near else "."
        raise InputError(
            f"{self.setting}: no prompt {name!r}{hint} Allowed: {', '.join(allowed)}, or the path of a text file."
        )

    def read(self, path: Path, environment: Any) -> PromptText:
        """Read and check a prompt's file; ``environment`` is Jinja's.

        Raises ``InputError``: the file cannot be read, lacks a section, has a line in its header that is not allowed
        there, or is no valid template.
        """
        head, *sections = _SECTION.split(self._content(path))
        names, texts = sections[::2], sections[1::2]
        if sorted(names) != ["system", "user"]:
            given = ", ".join(f"[{name}]" for name in names) or "none"
            problem = f"its sections are {given}; it needs [system] and [user], each once and on its own line"
            raise self.unusable(path, problem)
        by_name = dict(zip(names, texts, strict=True))
        for name, text in by_name.items():
            self._check_template(path, name, text, environment)
        return PromptText(self._header(path, head), by_name["system"], by_name["user"])

    def messages(self, name: str, blanks: Mapping[str, str]) -> tuple[ChatMessage, ChatMessage]:
        """The chat that the prompt ``name`` asks with, its blanks filled in.

        Values are filled in once and never read as templates, so that "{{" in what somebody said stays as it was said.

        Raises ``InputError``: as `find` and `read`.
        """
        _, system, user = _usable(self, name)
        return (
            ChatMessage("system", str(system.render(blanks)).strip()),
            ChatMessage("user", str(user.render(blanks)).strip()),
        )

    def header_of(self, name: str) -> Mapping[str, str]:
        """What stands before the sections of the prompt ``name``, by key; raises as `find` and `read`."""
        header: Mapping[str, str] = _usable(self, name)[0]
        return header

    def unusable(self, path: Path, problem: str) -> InputError:
        """The error that tells a person what is wrong with the file at ``path``."""
        return InputError(f"{self.setting}: {path}: {problem}. {self.form}.")

    def _content(self, path: Path) -> str:
        try:
            size = path.stat().st_size
            if size > _LARGEST_FILE:
                raise self.unusable(path, f"{size:,} bytes; a prompt has at most {_LARGEST_FILE:,}")
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise self.unusable(path, f"not UTF-8 at byte {error.start}") from None
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or error
            raise InputError(
                f"{self.setting}: {path} cannot be read ({cause}). Relative paths are relative to the configuration; "
                f"prompts by name are {', '.join(self.names())}."
            ) from None

    def _header(self, path: Path, head: str) -> Mapping[str, str]:
        header: dict[str, str] = {}
        for line in head.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            key, colon, value = line.partition(":")
            if not colon or key.strip() not in self.header or key.strip() in header:
                allowed = ", ".join(self.header)
                raise self.unusable(path, f"line {line[:80]!r} before its sections; allowed are {allowed}, each once")
            header[key.strip()] = value.strip()
        return header

    def _check_template(self, path: Path, section: str, text: str, environment: Any) -> None:
        from jinja2 import TemplateError, meta

        try:
            tree = environment.parse(text)
            environment.from_string(text)
            used = meta.find_undeclared_variables(tree)
            for name in meta.find_referenced_templates(tree):
                environment.get_template(name or "")
        except TemplateError as error:
            cause = str(error) or type(error).__name__
            raise self.unusable(path, f"[{section}] is no valid template: {cause.splitlines()[0]}") from None
        unknown = sorted(used - self.blanks)
        if unknown:
            known = ", ".join(sorted(self.blanks))
            raise self.unusable(path, f"[{section}] has unknown blanks {', '.join(unknown)}; known are {known}")
        missing = [name for name in self.needed if section == "user" and name not in used]
        if missing:
            blanks = " and ".join(f"{{{{ {name} }}}}" for name in missing)
            raise self.unusable(path, f"[user] lacks the blanks {blanks}")


@cache
def _usable(kind: PromptKind, name: str) -> tuple[Mapping[str, str], Any, Any]:
    """The header and the two templates."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    text = kind.read(kind.find(name), environment)
    return text.header, environment.from_string(text.system), environment.from_string(text.user)


def is_path(name: str) -> bool:
    """Whether a setting names a file of the user's own rather than a prompt by its name."""
    return name.endswith(".txt") or "/" in name


def _entry_points(group: str) -> Mapping[str, EntryPoint]:
    return points_of(group)


def _brought(point: EntryPoint) -> Path:
    return Path(load_brought(point, lambda path: isinstance(path, (str, Path)), "the path of a prompt's text file"))
