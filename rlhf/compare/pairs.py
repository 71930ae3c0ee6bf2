"""Two policies' responses to one context, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import pyarrow as pa

from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Pair:
    """Responses of the policies ``left`` and ``right`` to the same ``context``."""

    session_id: str
    turn: int
    seed: int
    context: str
    left: str
    right: str
    left_text: str
    right_text: str

    @property
    def place(self) -> str:
        """Where the responses stand, for messages."""
        return f"session {self.session_id!r}, turn {self.turn}"

    @property
    def same(self) -> bool:
        """Whether there is nothing to choose between."""
        return self.left_text.split() == self.right_text.split()


def pairs_of(table: pa.Table) -> list[Pair]:
    """Every two policies on every context that both have answered, policies in the order of the table.

    Raises
    ------
    InputError
        One policy only, two contexts for one turn, or no context that two policies share.
    """
    policies = list(dict.fromkeys(table["policy"].to_pylist()))
    if len(policies) < 2:
        raise InputError(
            f"the responses are those of {len(policies)} policies ({', '.join(policies) or 'none'}); at least 2 are "
            "needed. Let the others answer the same contexts, in one run."
        )
    contexts: dict[tuple[str, int, int], str] = {}
    answers: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in table.to_pylist():
        place = (row["session_id"], row["turn"], row["seed"])
        if contexts.setdefault(place, row["context"]) != row["context"]:
            raise InputError(
                f"session {place[0]!r}, turn {place[1]}: the policies were given different contexts, so their "
                "responses cannot be compared. Generate them in one run."
            )
        answers.setdefault(place, {})[row["policy"]] = row["response"]
    pairs = [
        Pair(*place, contexts[place], left, right, texts[left], texts[right])
        for left, right in combinations(policies, 2)
        for place, texts in answers.items()
        if left in texts and right in texts
    ]
    if not pairs:
        raise InputError(
            "no two policies answered the same context, so nothing can be compared. Generate their responses in one "
            "run."
        )
    return pairs
