"""What an agent has learned by playing, as a JSON file: rows of numbers by name, with a hash; nothing in it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from apportion.environments.environment import Observation
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home, canonical_json, digest, write_atomically

MOST_BYTES, MOST_ROWS, MOST_NUMBERS = 4_000_000, 50_000, 512
"""Of a file, of its rows, and of the numbers of one row."""


@dataclass(frozen=True)
class LearnedTable:
    """Rows of numbers that one method has learned in one game.

    ``method``, ``game``, ``roles``: What was trained, where, and of which cast (sorted). ``rows``: Numbers by name.
    ``about``: How it was trained, as JSON. ``place``: Its file, for errors.
    """

    method: str
    game: str
    roles: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    def check(self, view: Observation) -> None:
        """Raise InputError where it was trained in another game, or of another cast, than is played."""
        roles = cast_of(view.facts.rules)
        if (self.game, self.roles) != (view.kind, roles):
            raise InputError(
                f"agent '{self.method}@{self.place}': trained in {self.game} of {', '.join(self.roles)}; this is "
                f"{view.kind} of {', '.join(roles)}. Train one for it: "
                f"apportion train player {self.method} {view.kind} FILE"
            )

    def write(self, path: Path) -> None:
        """Write the file; equal tables give equal bytes. Raises InputError: it cannot be written."""
        body = {"about": self.about, "game": self.game, "method": self.method, "roles": self.roles, "rows": self.rows}
        try:
            write_atomically(path, canonical_json({**body, "sha256": digest(body)}) + "\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error}); name another file") from None

    @classmethod
    def read(cls, place: str, method: str) -> LearnedTable:
        """The table of a file.

        Raises InputError: there is no such file, it is too large, torn or changed, or another method's.
        """
        named, advice = f"agent '{method}@{place}'", f"make one with `apportion train player {method} GAME FILE`"
        try:
            with at_home(place).open("rb") as file:
                text = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise InputError(f"{named}: {error.strerror or error}; {advice}") from None
        if len(text) > MOST_BYTES:
            raise InputError(f"{named}: more than {MOST_BYTES:,} bytes; {advice}")
        try:
            body = json.loads(text)
            told = body.pop("sha256")
            if told != digest(body):
                raise ValueError("its hash is that of other content: it was cut or changed")
            rows = {str(name): tuple(float(one) for one in row) for name, row in body["rows"].items()}
            if len(rows) > MOST_ROWS or any(len(row) > MOST_NUMBERS for row in rows.values()):
                raise ValueError(f"more than {MOST_ROWS:,} rows, or {MOST_NUMBERS} numbers in one")
            if not all(isfinite(one) for row in rows.values() for one in row):
                raise ValueError("a number is not finite")
            roles, about = tuple(map(str, body["roles"])), dict(body["about"])
            found = cls(str(body["method"]), str(body["game"]), roles, rows, about, place)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{named}: no table of a trained player ({error}); {advice}") from None
        if found.method != method:
            raise InputError(f"{named}: trained as {found.method!r}; write {found.method}@{place}")
        return found


def cast_of(rules: Any) -> tuple[str, ...]:
    """The roles that some rules deal, sorted; of a game whose cast is fixed none."""
    return tuple(sorted(getattr(rules, "roles", ())))
