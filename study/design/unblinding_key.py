"""Whose response is which: ``key.jsonl``, read by reports once answers are in, and never by what serves pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

KEY_FILE = "key.jsonl"


@dataclass(frozen=True)
class KeyRow:
    """A response of an item, the policy whose it is, and the seed that it was sampled by."""

    item: str
    response: str
    policy: str
    seed: int


@dataclass(frozen=True)
class Key:
    """All of a study's key; ``base`` is the policy that others are compared to, None where none was named."""

    rows: tuple[KeyRow, ...]
    base: str | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies' names, in order."""
        return tuple(sorted({row.policy for row in self.rows}))

    @cached_property
    def policy_of(self) -> Mapping[tuple[str, str], str]:
        """The policy of an item's response."""
        return {(row.item, row.response): row.policy for row in self.rows}


def key_text(rows: Sequence[KeyRow], base: str | None) -> str:
    """The file: a first line with the base, then a line a response."""
    lines: list[dict[str, Any]] = [{"base": base}]
    lines += [{"item": row.item, "response": row.response, "policy": row.policy, "seed": row.seed} for row in rows]
    return "".join(f"{canonical_json(line)}\n" for line in lines)


def read_key(folder: Path) -> Key:
    """The key of the study in a folder; who has a page to show must not call this. Raises InputError: it cannot be
    read, or a line is none of a key.
    """
    path = folder / KEY_FILE
    rows, base = [], None
    seen: set[tuple[str, str]] = set()
    for number, line in read_jsonl(path):
        if set(line) == {"base"} and (line["base"] is None or isinstance(line["base"], str)):
            base = line["base"]
            continue
        values = [line.get(name) for name in ("item", "response", "policy", "seed")]
        *texts, seed = values
        if set(line) != {"item", "response", "policy", "seed"} or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}, line {number}: item, response, policy and seed are needed, got {line!r:.120}.")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InputError(f"{path}, line {number}: seed {seed!r:.40} is no whole number.")
        rows.append(KeyRow(str(texts[0]), str(texts[1]), str(texts[2]), seed))
        if (rows[-1].item, rows[-1].response) in seen:
            raise InputError(
                f"{path}, line {number}: item {texts[0]}, response {texts[1]} is there twice. Keep one line."
            )
        seen.add((rows[-1].item, rows[-1].response))
    key = Key(tuple(rows), base)
    if base is not None and base not in key.policies:
        raise InputError(f"{path}: the base {base!r} is none of the policies {', '.join(key.policies)}.")
    return key
