"""Blind responses: the policies' names replaced by letters, shuffled anew for every context, and the key to them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import Any

import pyarrow as pa

from apportion.corpus.schema import KEY, RESPONSES
from apportion.foundation.errors import InputError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def blinded(table: pa.Table, seed: int) -> tuple[pa.Table, pa.Table]:
    """RESPONSES with letters for names, and the key (schema KEY); who is A depends on seed, context and name alone."""
    by_context: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        by_context[row["session_id"], row["turn"]].append(row)
    rows, key = [], []
    for (session_id, turn), group in by_context.items():
        ranked = sorted(group, key=lambda row: _rank(seed, session_id, turn, row["policy"]))
        for letter, row in zip(LETTERS, ranked, strict=False):
            rows.append({**row, "policy": letter})
            key.append({"session_id": session_id, "turn": turn, "label": letter, "policy": row["policy"]})
    return pa.Table.from_pylist(rows, schema=RESPONSES.arrow), pa.Table.from_pylist(key, schema=KEY.arrow)


def unblinded(table: pa.Table, key: pa.Table) -> pa.Table:
    """RESPONSES under the policies' own names."""
    names = {(row["session_id"], row["turn"], row["label"]): row["policy"] for row in key.to_pylist()}
    rows = []
    for row in table.to_pylist():
        place = (row["session_id"], row["turn"], row["policy"])
        if place not in names:
            raise InputError(
                f"the key has no letter {place[2]!r} for session {place[0]!r}, turn {place[1]}: it belongs to other "
                "responses. Give the key that was written beside them."
            )
        rows.append({**row, "policy": names[place]})
    return pa.Table.from_pylist(rows, schema=RESPONSES.arrow)


def _rank(seed: int, session_id: str, turn: int, policy: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{session_id}\0{turn}\0{policy}".encode()).digest()
