"""The verdicts of a corpus: JSON Lines, a dimension a line, with the reasoning that no table has and why one failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, CharacterScores, DimensionScore, off_range
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.llm_client.request import json_line

VERDICTS = "verdicts.jsonl"
"""The file's name, in the folder of the corpus."""


def write_verdicts(folder: Path, verdicts: Iterable[CharacterScores]) -> None:
    """Write the file; by session, judge and person, dimensions in the order of Appendix D.

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    ordered = sorted(verdicts, key=lambda verdict: (verdict.session_id, verdict.judge, verdict.target))
    lines = [json_line(row) + "\n" for verdict in ordered for row in _rows(verdict)]
    write_atomically(folder / VERDICTS, "".join(lines))


def read_verdicts(folder: Path) -> list[CharacterScores]:
    """What `write_verdicts` wrote; nothing where there is no such file.

    Raises
    ------
    InputError
        A line that is damaged, by number; or a person without all dimensions.
    """
    path = folder / VERDICTS
    if not path.exists():
        return []
    found: dict[tuple[str, str, str], dict[str, DimensionScore]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            row = json.loads(line)
            key = (str(row["session_id"]), str(row["judge"]), str(row["target"]))
            dimension = _dimension(row)
            if dimension in found.setdefault(key, {}):
                raise ValueError(f"{dimension} of {row['target']!r:.40} by {row['judge']!r:.40} is there twice")
            found[key][dimension] = _given(row)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{path}: line {number}: no line of a verdict ({error}): {line[:120]!r}") from None
    for (session_id, judge, target), given in found.items():
        if set(given) != set(DIMENSIONS):
            missing = ", ".join(dimension for dimension in DIMENSIONS if dimension not in given)
            raise InputError(f"{path}: session {session_id}, {judge!r} of {target!r}: no line of {missing}")
    return [CharacterScores(*key, given) for key, given in found.items()]


def _rows(verdict: CharacterScores) -> Iterator[dict[str, Any]]:
    for dimension in DIMENSIONS:
        given, (low, high) = verdict.given[dimension], RANGES[dimension]
        yield {
            "session_id": verdict.session_id, "judge": verdict.judge, "target": verdict.target,
            "dimension": dimension, "score": given.score, "low": low, "high": high,
            "reasoning": given.reasoning, "cause": given.cause,
        }  # fmt: skip


def _dimension(row: dict[str, Any]) -> str:
    if row["dimension"] not in DIMENSIONS:
        raise ValueError(f"dimension {row['dimension']!r:.40}; there are {', '.join(DIMENSIONS)}")
    return str(row["dimension"])


def _given(row: dict[str, Any]) -> DimensionScore:
    score = row["score"]
    problem = None if score is None else off_range(row["dimension"], score)
    if problem is not None:
        raise ValueError(f"score {score!r:.40}: {problem}")
    cause = row["cause"]
    return DimensionScore(
        None if score is None else int(score), str(row["reasoning"]), None if cause is None else str(cause)
    )
