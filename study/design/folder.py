"""A study's folder: all that is asked, and nothing of whose responses they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from apportion.corpus.files.textfile import read_jsonl, read_text
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.study.design.answers import problem_of
from apportion.study.design.attention_checks import Check
from apportion.study.design.criteria import CriterionSet, read_criteria
from apportion.study.design.items import Item
from apportion.study.design.settings import StudySettings, read_settings

SETTINGS, CRITERIA, ITEMS, CHECKS = "study.toml", "criteria.toml", "items.jsonl", "checks.jsonl"
INSTRUCTIONS, CONSENT = "instructions.md", "consent.md"
ANSWERS = "answers.sqlite"
"""The default database, beside the rest."""

_Row = TypeVar("_Row", Item, Check)


@dataclass(frozen=True)
class StudyFolder:
    """A study as its folder says it; ``key.jsonl`` in it is never opened here (`study.design.unblinding_key` is for
    reports).

    ``items`` has all of them by id, in the file's order: those that count (`counted`), those of practice, and the
    attention checks. ``checks`` has what those expect, by the id of their item. ``instructions`` and ``consent`` are
    plain text: paragraphs, and lines that begin with a hyphen.
    """

    path: Path
    settings: StudySettings
    criteria: CriterionSet
    items: Mapping[str, Item]
    checks: Mapping[str, Check]
    instructions: str
    consent: str

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Read a study's folder. Raises InputError: a file is missing or cannot be read; what it says does not belong
        together, such as a check of an item that is not there.
        """
        if not (path / SETTINGS).is_file():
            raise InputError(
                f"{path}: no study, since {SETTINGS} is not there. Make one with `apportion study init RESPONSES "
                "--criteria NAME STUDY`."
            )
        items = _lines(path / ITEMS, Item.from_json)
        checks = _lines(path / CHECKS, Check.from_json) if (path / CHECKS).is_file() else []
        study = cls(
            path,
            read_settings(path / SETTINGS),
            read_criteria(path / CRITERIA),
            _by_item(path / ITEMS, items),
            _by_item(path / CHECKS, checks),
            read_text(path / INSTRUCTIONS),
            read_text(path / CONSENT),
        )
        study._check()
        return study

    @cached_property
    def counted(self) -> tuple[Item, ...]:
        """The items whose answers count."""
        apart = {*self.settings.practice, *self.checks}
        return tuple(item for item in self.items.values() if item.item not in apart)

    @cached_property
    def check_items(self) -> tuple[Item, ...]:
        """The items that tell whether somebody reads."""
        return tuple(self.items[name] for name in self.checks)

    @cached_property
    def digest(self) -> str:
        """What tells this study from itself before it was changed: sha256 (64 hexadecimal digits) of all that is asked.

        Settings that change nothing of it are left out (`StudySettings.NOT_IN_KEY`).
        """
        parts: dict[str, Any] = {
            "settings": self.settings.model_dump(mode="json", exclude=set(StudySettings.NOT_IN_KEY)),
            "criteria": self.criteria.model_dump(mode="json"),
            "items": [item.to_json() for item in self.items.values()],
            "checks": [check.to_json() for check in self.checks.values()],
            "instructions": self.instructions,
            "consent": self.consent,
        }
        return digest(parts)

    def _check(self) -> None:
        if absent := [name for name in self.settings.practice if name not in self.items or name in self.checks]:
            raise InputError(
                f"{self.path / SETTINGS}: practice names {absent[0]!r}, which is no item of {ITEMS} that could be it."
            )
        if not self.counted:
            raise InputError(f"{self.path / ITEMS}: no item counts; all are practice or checks.")
        for item in self.items.values():
            if fault := _unaskable(item, self.criteria):
                raise InputError(f"{self.path / ITEMS}: item {item.item}: {fault}.")
        for check in self.checks.values():
            if fault := self._untold(check):
                raise InputError(
                    f"{self.path / CHECKS}: the attention check {check.item} cannot be told: {fault}. Correct it, or "
                    f"delete its line there and in {ITEMS}."
                )
        if self.settings.checks_every and not self.checks:
            raise InputError(
                f"{self.path / SETTINGS}: checks_every = {self.settings.checks_every}, and {CHECKS} has no check. "
                "Set it to 0, or write checks."
            )

    def _untold(self, check: Check) -> str | None:
        """Why an attention check could be passed or failed by nobody; None where it can be told."""
        item, criterion = self.items.get(check.item), self.criteria.by_name.get(check.criterion)
        if item is None:
            return f"{ITEMS} has no such item"
        if criterion is None:
            return f"there is no criterion {check.criterion!r} any more"
        return problem_of(criterion, item, check.expected, whole=False)


def _lines(path: Path, read: Callable[[Mapping[str, Any]], _Row]) -> list[_Row]:
    rows = []
    for number, line in read_jsonl(path, allow_empty=True):
        try:
            rows.append(read(line))
        except KeyError as error:
            raise InputError(f"{path}, line {number}: {error.args[0]!r} is missing.") from None
        except (TypeError, ValueError, AttributeError, InputError) as error:
            raise InputError(f"{path}, line {number}: {error}.") from None
    return rows


def _by_item(path: Path, rows: list[_Row]) -> dict[str, _Row]:
    by_item = {row.item: row for row in rows}
    if len(by_item) < len(rows):
        names = [row.item for row in rows]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: item {twice!r} is there twice. Keep one line of it.")
    return by_item


def _unaskable(item: Item, criteria: CriterionSet) -> str | None:
    """Why the criteria cannot be asked of an item; None where they can."""
    if len(item.responses) < criteria.least_responses:
        return f"{len(item.responses)} response, and these criteria need {criteria.least_responses}"
    if criteria.asks_pairs and len(item.responses) != 2:
        return f"{len(item.responses)} responses, and a pair has two"
    if criteria.asks_turns and not item.positions:
        return "the agent has no turn in its context, and turns are to be rated"
    return None
