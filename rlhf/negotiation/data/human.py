"""The human negotiations of Deal or No Deal as dialogues of acts, and the contexts that agents play about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apportion.corpus.importers.dealornodeal import Row, read_rows
from apportion.environments.negotiation.act_parser import UNKNOWN as NO_KNOWN_ACT
from apportion.environments.negotiation.act_parser import acts_of
from apportion.environments.negotiation.action_encoding import END, act_code
from apportion.environments.negotiation.contexts import Context, broken, read_contexts
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.data.dialogues import NOT_TAKEN, OTHERS, OWN, UNKNOWN, Dialogues

CONTEXTS_FILE = "selfplay.txt"


@dataclass(frozen=True)
class HumanData:
    """What the published folder holds.

    ``dialogues``: The training rows, each as one of its two people sees it. ``contexts``: What agents play about while
    they learn: the 4,086 published ones. ``held_out``: Those of the rows of ``test``, then of ``val``, from both sides,
    each once, in their order.
    """

    dialogues: Dialogues
    contexts: tuple[Context, ...]
    held_out: tuple[Context, ...]


def read_human(folder: Path) -> HumanData:
    """Read the folder of ``data``, ``val``, ``test`` and ``selfplay``; rows that are damaged are passed over.

    Raises InputError: A file is missing or cannot be read.
    """
    parts, _ = read_rows(folder)
    found = [path for path in (folder / CONTEXTS_FILE, folder / f"{CONTEXTS_FILE}.gz") if path.is_file()]
    if not found or "test" not in parts:
        raise InputError(f"{folder}: {CONTEXTS_FILE} and test.txt are needed beside data.txt: contexts to play about.")
    held_out = _contexts([*parts["test"], *parts.get("val", ())])
    return HumanData(dialogues_of(parts["train"]), read_contexts(found[0]), held_out)


def dialogues_of(rows: Sequence[Row]) -> Dialogues:
    """Rows as arrays; what is said and is no act stays as `UNKNOWN`, since somebody had the turn."""
    coded = [_coded(row) for row in rows]
    longest = max((len(acts) for acts, _ in coded), default=1)
    acts = np.full((len(rows), longest), -1, dtype=np.int64)
    roles = np.zeros_like(acts)
    taken = np.full((len(rows), 6), NOT_TAKEN, dtype=np.int64)
    for place, (row, (numbers, who)) in enumerate(zip(rows, coded, strict=True)):
        acts[place, : len(numbers)], roles[place, : len(who)] = numbers, who
        if row.end == "agreed" and row.selected is not None:
            taken[place] = [*row.selected, *(n - k for n, k in zip(row.counts, row.selected, strict=True))]
    counts = np.array([row.counts for row in rows], dtype=np.int64).reshape(-1, 3)
    return Dialogues(acts, roles, counts, np.array([row.own for row in rows], dtype=np.int64).reshape(-1, 3), taken)


def _coded(row: Row) -> tuple[list[int], list[int]]:
    """The acts of a row by number, its ``end`` included, and who does each."""
    numbers, who = [], []
    for mine, (kind, split) in acts_of(row):
        known = kind != NO_KNOWN_ACT
        number = UNKNOWN
        if split is not None:
            number = split + (act_code("insist", (0, 0, 0)) if kind == "insist" else 0)
        elif known:
            number = act_code(kind)
        numbers.append(number)
        who.append(OWN if mine else OTHERS)
    return [*numbers, END], [*who, OWN if row.ended_by_you else OTHERS]


def _contexts(rows: Sequence[Row]) -> tuple[Context, ...]:
    found: dict[Context, None] = {}
    for row in rows:
        for values in ((row.own, row.other), (row.other, row.own)):
            context = Context(row.counts, values)
            if broken(context) is None:
                found[context] = None
    return tuple(found)
