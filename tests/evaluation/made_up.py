"""Small episodes and tables that the evaluation's tests are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import REWARDS, SPLITS, TURN_LABELS, UTTERANCE_FEATURES
from apportion.corpus.session import Episode, Rating, Turn
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.evaluate import evaluate
from apportion.evaluation.evaluation import Evaluation
from apportion.evaluation.inputs import Evidence, MethodRemarks, MethodValues


def episode(session_id: str, turns: int, score: float, rater: str = "user", target: str = "bot") -> Episode:
    """``turns`` target turns with even numbers, each followed by the rater's reply with an odd one."""
    said = [Turn(i, target if i % 2 == 0 else rater, f"turn {i}") for i in range(2 * turns)]
    return Episode(session_id, tuple(said), Rating(rater, target, "liking", score, 0.0, 100.0))


def rewards(
    episodes: Iterable[Episode],
    values: Mapping[str, Sequence[float]],
    method: str = "m",
    seed: int = 0,
    raw: Mapping[str, Sequence[float]] | None = None,
) -> pa.Table:
    """A REWARDS table from the values of each session's target turns."""
    rows = [
        {
            **dict(zip(("session_id", "rater", "target", "name"), e.key, strict=True)),
            "turn": turn,
            "method": method,
            "seed": seed,
            "reward": value,
            "raw_reward": None if raw is None else raw[e.session_id][i],
        }
        for e in episodes
        if e.session_id in values
        for i, (turn, value) in enumerate(zip(e.target_turns, values[e.session_id], strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def splits(**of_split: Sequence[str]) -> pa.Table:
    rows = [{"session_id": s, "split": name} for name, sessions in of_split.items() for s in sessions]
    return pa.Table.from_pylist(rows, schema=SPLITS.arrow)


def features(rows: Iterable[tuple[str, int, str, str, str, float | None]]) -> pa.Table:
    """Rows of (session_id, turn, person, window, feature, mean)."""
    names = ("session_id", "turn", "person", "window", "feature", "mean")
    dicts = [{**dict(zip(names, row, strict=True)), "coverage": 1.0} for row in rows]
    return pa.Table.from_pylist(dicts, schema=UTTERANCE_FEATURES.arrow)


def labels(rows: Iterable[tuple[str, int, str | None, float]], low: float | None = 1.0, high: float = 5.0) -> pa.Table:
    """Rows of (session_id, turn, annotator, value) on one scale."""
    names = ("session_id", "turn", "annotator", "value")
    dicts = [{**dict(zip(names, row, strict=True)), "name": "quality", "low": low, "high": high} for row in rows]
    return pa.Table.from_pylist(dicts, schema=TURN_LABELS.arrow)


def corpus(sessions: int, seed: int = 0) -> tuple[list[Episode], dict[str, np.ndarray]]:
    """Episodes of 4 to 9 target turns whose score is 50 plus the sum of hidden turn values, and those values."""
    rng = np.random.default_rng(seed)
    hidden = {f"s{i:04d}": rng.normal(0.0, 3.0, size=rng.integers(4, 10)) for i in range(sessions)}
    return [episode(s, len(v), float(np.clip(50 + v.sum(), 0, 100))) for s, v in hidden.items()], hidden


def evaluated(**inputs: Any) -> Evaluation:
    """What `evaluate` says of the fields of its arguments, each by its own name."""
    values, evidence, remarks = (
        kind(**{field.name: inputs.pop(field.name) for field in fields(kind) if field.name in inputs})
        for kind in (MethodValues, Evidence, MethodRemarks)
    )
    episodes = SplitEpisodes(inputs.pop("episodes"), inputs.pop("splits"))
    return evaluate(values, episodes, evidence, remarks=remarks, **inputs)
