"""Planted sessions as the corpus's tables and as the ground truth file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.demo.builders.planting import LABEL_ANNOTATOR, LABEL_NAME, QUALITIES, SCORE_FORMULA, Planted


def to_corpus(planted: Sequence[Planted], root: Path) -> Corpus:
    """The corpus of all sessions, in memory; ``root`` is the folder that media paths are relative to."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    for one in planted:
        _add(one, rows)
    return Corpus.of(root, {name: pa.Table.from_pylist(rows[name], schema=SCHEMAS[name].arrow) for name in SCHEMAS})


def write_ground_truth(planted: Sequence[Planted], seed: int, path: Path) -> None:
    """Write what was planted as JSON (layout: demo/README.md); equal input gives equal bytes."""
    sessions = [
        {
            "session_id": one.session.session_id,
            "topic": one.topic,
            "qualities": [{"turn": turn, "quality": one.qualities[turn]} for turn in sorted(one.qualities)],
            "events": [asdict(event) for event in one.events],
        }
        for one in planted
    ]
    truth = {"synthetic": True, "seed": seed, "score_formula": SCORE_FORMULA, "sessions": sessions}
    path.write_text(json.dumps(truth, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _add(one: Planted, rows: dict[str, list[dict[str, Any]]]) -> None:
    session, key = one.session, {"session_id": one.session.session_id}
    rows["sessions"].append(
        {**key, "source": session.source, "duration_s": session.duration_s, "language": session.language}
    )
    rows["utterances"] += [{**key, **asdict(turn)} for turn in session.turns]
    rows["ratings"] += [{**key, "annotator": None, **asdict(rating)} for rating in session.ratings]
    rows["media"] += [{**key, **asdict(media)} for media in session.media]
    rows["turn_labels"] += [
        {
            **key,
            "turn": turn,
            "annotator": LABEL_ANNOTATOR,
            "name": LABEL_NAME,
            "value": float(quality),
            "low": float(QUALITIES[0]),
            "high": float(QUALITIES[-1]),
        }
        for turn, quality in one.qualities.items()
    ]
