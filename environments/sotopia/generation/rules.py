"""A rule that something generated is held to, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from apportion.environments.sotopia.sources.space import TaskSpace

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Rule(Generic[_Made]):
    """Its ``name``, its ``words``, and ``problem``: what looks wrong with something in a task space; None: nothing."""

    name: str
    words: str
    problem: Callable[[_Made, TaskSpace], str | None]


@dataclass(frozen=True)
class Findings:
    """Names of the rules that hold, and of those that do not each with what looks wrong and the rule's words."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]


def findings(rules: Sequence[Rule[_Made]], made: _Made, space: TaskSpace) -> Findings:
    """What every rule says."""
    passed, failed = [], []
    for rule in rules:
        problem = rule.problem(made, space)
        if problem is None:
            passed.append(rule.name)
        else:
            failed.append(f"{rule.name}: {problem} ({rule.words})")
    return Findings(tuple(passed), tuple(failed))
