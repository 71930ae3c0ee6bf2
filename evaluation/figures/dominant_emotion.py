"""The emotion that a face shows most often during a turn, picture by picture (LLM-GELI's Eq. 7 as its code has it)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apportion.evaluation.references.test_set import Bools, TestSet
from apportion.foundation.arrays import Floats

EMOTIONS = ("anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise")
"""AffectNet's eight, as the table of frames names them."""
Pictures = tuple[Floats, Floats]
"""Times (F,) in seconds, in order, and probabilities (F, 8)."""


def most_often(frames: pa.Table, held: TestSet, emotion: str) -> Floats:
    """Whether ``emotion`` is what the rater's face shows most often during each target turn.

    A picture shows its most probable emotion, a turn the emotion of most of its pictures; of equally frequent ones the
    one that is more probable over the turn. A picture counts where all eight are known, or all but contempt, which not
    every network knows.

    ``frames``: FRAMES schema, times in seconds on the session clock. ``held``: E episodes with N target turns. Returns
    float64 [shape=(N,)]: 1 or 0; NaN for a turn without times, or in whose time lies no picture of the rater's face.
    """
    shown = np.full(held.turns, np.nan)
    raters = {(episode.session_id, episode.rating.rater) for episode in held.episodes}
    pictures = {person: seen for person, seen in _pictures(frames, held) if person in raters}
    wanted = EMOTIONS.index(emotion)
    for start, episode in zip(held.starts.tolist(), held.episodes, strict=True):
        seen = pictures.get((episode.session_id, episode.rating.rater))
        if seen is None:
            continue
        times, probabilities = seen
        for at, position in enumerate(episode.target_positions, start):
            turn = episode.turns[position]
            if turn.start_s is not None and turn.end_s is not None:
                first, last = np.searchsorted(times, (turn.start_s, turn.end_s))
                if last > first:
                    shown[at] = _mode(probabilities[first:last]) == wanted
    return shown


def _mode(probabilities: Floats) -> int:
    """The column that is the largest of most rows of (F, 8)."""
    counts = np.bincount(probabilities.argmax(axis=1), minlength=len(EMOTIONS))
    most = np.flatnonzero(counts == counts.max())
    return int(most[probabilities.sum(axis=0)[most].argmax()])


def _pictures(frames: pa.Table, held: TestSet) -> Iterator[tuple[tuple[str, str], Pictures]]:
    """The pictures of each (session, person) of the held-out sessions."""
    of_faces = pc.field("feature").isin(EMOTIONS) & pc.field("session_id").isin(held.session_ids)
    rows = frames.filter(of_faces).sort_by([(name, "ascending") for name in ("session_id", "person", "time_s")])
    if not rows.num_rows:
        return
    session, person = (_codes(rows[name]) for name in ("session_id", "person"))
    time, value = rows["time_s"].to_numpy(), rows["value"].to_numpy()
    new = np.concatenate([[True], (np.diff(session) != 0) | (np.diff(person) != 0) | (np.diff(time) != 0)])
    picture = np.cumsum(new) - 1
    column = pc.index_in(rows["feature"], pa.array(EMOTIONS)).to_numpy()
    probabilities = np.full((picture[-1] + 1, len(EMOTIONS)), np.nan)
    probabilities[picture, column] = value
    contempt = probabilities[:, EMOTIONS.index("contempt")]
    contempt[np.isnan(contempt)] = 0.0
    first = np.flatnonzero(new)
    whole: Bools = np.logical_and.reduce(np.isfinite(probabilities), axis=1)
    changes = np.flatnonzero((np.diff(session[first]) != 0) | (np.diff(person[first]) != 0)) + 1
    for part in np.split(np.arange(len(first)), changes):
        kept = part[whole[part]]
        if len(kept):
            row = int(first[kept[0]])
            yield (
                (rows["session_id"][row].as_py(), rows["person"][row].as_py()),
                (
                    time[first[kept]],
                    probabilities[kept],
                ),
            )


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes
