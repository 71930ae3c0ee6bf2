"""The rater's behaviour told in another order: the same facts at the same turn."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from apportion.corpus.schema import DESCRIPTORS
from apportion.decompose.audit.case import PerturbedEpisode
from apportion.decompose.audit.sampling import shuffled

SEPARATOR = "; "
"""Between the phrases or figures of one descriptor (``features.verbalization``)."""


def shuffle_descriptors(case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
    """Put the parts of every descriptor into another order; one of a single part stays as it is."""
    if case.descriptors is None:
        return case
    rows = [
        {**row, "text": _shuffled(row["text"], seed, row["session_id"], row["turn"], row["person"], row["window"])}
        for row in case.descriptors.to_pylist()
    ]
    return replace(case, descriptors=pa.Table.from_pylist(rows, schema=DESCRIPTORS.arrow))


def _shuffled(text: str, seed: int, *what: object) -> str:
    if text.startswith("{") and text.endswith("}"):  # The variant "json": an object of figures.
        with suppress(ValueError):
            figures = json.loads(text)
            return json.dumps(dict(shuffled(list(figures.items()), seed, *what)), separators=(",", ":"))
    return SEPARATOR.join(shuffled(text.split(SEPARATOR), seed, *what))
