"""Table 6 of the Stackelberg Speaker: how near answers come to what the speaker wanted, by epoch of training."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.figures import Figure, mean
from apportion.environments.report_tables.table import Cell, Table
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

START = 0
"""The epoch before any training."""


@dataclass(frozen=True)
class CosineSimilarity:
    """One instance: by a Refiner of an epoch, the mean cosine of the answer that came and the K that were desired."""

    epoch: int
    session: str
    turn: int
    similarity: float


def read_nearness(path: Path) -> tuple[CosineSimilarity, ...]:
    """A file of JSON Lines with ``epoch``, ``session``, ``turn`` and ``similarity``; further fields are passed over.

    Raises
    ------
    InputError
        It cannot be read, is empty, or a line has something else, by number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not to be read as similarities ({error})") from None
    found = tuple(_nearness(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise InputError(f"{path}: holds no similarity; write it with `apportion train refiner-eval`")
    return found


def table_6(instances: tuple[CosineSimilarity, ...], sampling: Sampling) -> Table:
    """By epoch the mean similarity, and what it is more than at the start, on the same instances.

    Parameters
    ----------
    instances : tuple of Nearness
        None at all: the table says that it is not there.
    sampling : Sampling
        Sessions are drawn whole.
    """
    title = "Table 6 of the Stackelberg Speaker: cosine of the answer that came and the desired ones"
    if not instances:
        return Table("table_6", title, absent="no file of similarities was given")
    epochs = sorted({one.epoch for one in instances})
    rows: list[tuple[Cell, ...]] = []
    means: list[Figure | None] = []
    for epoch in epochs:
        mine = [one for one in instances if one.epoch == epoch]
        figure = mean([one.session for one in mine], [one.similarity for one in mine], sampling)
        means.append(figure)
        rows.append((epoch, figure, _more(instances, epoch, sampling)))
    picture = chart(
        "Table 6: nearness to the desired answers", [str(epoch) for epoch in epochs], {"mean cosine": means},
        "epoch of training", (min(0.0, *(one.similarity for one in instances)), 1.0),
    )  # fmt: skip
    notes = (
        "mean [95 % interval] over instances, n of them, sessions drawn whole; more: less epoch 0, paired by instance",
        "cosines of different embeddings are not comparable: the paper's are of another model",
    )
    return Table("table_6", title, ("Epoch", "Cosine", "more than at the start"), tuple(rows), notes, picture=picture)


def _more(instances: tuple[CosineSimilarity, ...], epoch: int, sampling: Sampling) -> Figure:
    start = {(one.session, one.turn): one.similarity for one in instances if one.epoch == START}
    pairs = [
        (one.session, one.similarity - start[one.session, one.turn])
        for one in instances
        if one.epoch == epoch != START and (one.session, one.turn) in start
    ]
    if not pairs:
        return Missing("epoch 0 is the start" if epoch == START else "epoch 0 has none of these instances")
    return mean([session for session, _ in pairs], [value for _, value in pairs], sampling)


def _nearness(path: Path, number: int, line: str) -> CosineSimilarity:
    try:
        row: Any = json.loads(line)
        epoch, session, turn, similarity = row["epoch"], row["session"], row["turn"], row["similarity"]
        whole = type(epoch) is int and type(turn) is int and min(epoch, turn) >= 0
        if not (whole and isinstance(session, str) and type(similarity) in (int, float) and math.isfinite(similarity)):
            raise ValueError("epoch and turn are whole numbers from 0, session is text, similarity a number")
        if not -1.000001 <= similarity <= 1.000001:
            raise ValueError(f"similarity = {similarity}; a cosine lies between -1 and 1")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: line {number}: no similarity of an instance ({error}): {line[:120]!r}") from None
    return CosineSimilarity(epoch, session, turn, float(similarity))
