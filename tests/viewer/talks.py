"""A synthetic run with all that a session's page can show: times, recordings, intervals, reasons, labels."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import (
    BACKGROUNDS,
    DESCRIPTORS,
    FRAMES,
    MEDIA,
    RATINGS,
    REWARDS,
    SAMPLES,
    SESSIONS,
    SPLITS,
    TURN_LABELS,
    UTTERANCE_FEATURES,
    UTTERANCES,
    TableSchema,
)
from apportion.features.registry import EMOTIONS
from apportion.foundation.files import file_digest
from apportion.pipeline.config import Config, shown_config
from apportion.pipeline.results.run_folder import corpus_place
from tests.behaviour.small import table
from tests.features.clips import flat, tone, write_movie, write_wav

Rows = dict[str, list[dict]]
TURN_S = 2.0
TURNS = 10
WILD = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> javascript:alert(1) \u202egnp.exe"
"""What a page must show and never run."""
OVERLAP = (4, 3, 0.6)
"""Turn 4 begins so many seconds before turn 3 ends."""


def write_talk_run(folder: Path) -> Path:
    """``folder/corpus`` and ``folder/run``, which is returned; sessions ``chat``, ``gone``, ``talk`` and ``wild``."""
    corpus = folder / "corpus"
    rows = _corpus_rows()
    schemas = (SESSIONS, UTTERANCES, RATINGS, MEDIA, TURN_LABELS, BACKGROUNDS)
    Corpus.of(corpus, {schema.name: table(schema, rows[schema.name]) for schema in schemas}).write(corpus)
    length = TURN_S * TURNS
    film = [flat(60 + 10 * (n % 12)) for n in range(int(5 * length))]
    write_movie(corpus / "ann.mp4", film, fps=5, sound=tone(length), codec="libx264")
    write_wav(corpus / "bob.wav", tone(length - 1.0), codec="pcm_s16le")
    (folder / "secret.wav").write_bytes((corpus / "bob.wav").read_bytes())
    (corpus / "link.wav").symlink_to(folder / "secret.wav")
    run = folder / "run"
    (run / "frames").mkdir(parents=True)
    for schema, name in ((REWARDS, "rewards"), (SAMPLES, "samples"), (DESCRIPTORS, "descriptors"), (SPLITS, "splits")):
        _write(schema, rows[name], run / f"{name}.parquet")
    _write(UTTERANCE_FEATURES, rows["utterance_features"], run / "utterance_features.parquet")
    _write(FRAMES, rows["frames"], run / "frames" / "talk.parquet")
    record = {
        "corpus": corpus_place(corpus, run),
        "config": shown_config(Config.model_validate({"corpus": corpus, "output": run})),
        "inputs": {path.name: file_digest(path) for path in sorted(corpus.iterdir()) if path.suffix == ".parquet"},
        "sessions": 4,
    }
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return run


def with_media(run: Path, folder: Path, media: Sequence[tuple[str, str, str, float | None]]) -> Path:
    """A copy of ``run`` in ``folder``, which is returned; the recordings of ``talk`` are other ones there.

    A row of ``media`` is path, speaker, kind and offset.
    """
    shutil.copytree(run.parent, folder / "all", symlinks=True, ignore=shutil.ignore_patterns("viewer"))
    place = folder / "all" / "corpus"
    corpus = Corpus.open(place)
    keys = ("path", "speaker", "kind", "offset_s")
    rows = [{"session_id": "talk", **dict(zip(keys, row, strict=True))} for row in media]
    Corpus.of(place, {**corpus.tables, "media": table(MEDIA, rows)}).write(place)
    return folder / "all" / "run"


def _corpus_rows() -> Rows:
    names = ("sessions", "utterances", "ratings", "media", "turn_labels", "backgrounds", "splits", "frames")
    names += ("rewards", "samples", "descriptors", "utterance_features")
    rows: Rows = {name: [] for name in names}
    _session(rows, "chat", ("ann", "bob"), timed=False)
    _session(rows, "gone", ("ann", "bob"), timed=True)
    _session(rows, "talk", ("ann", "bob"), timed=True)
    _session(rows, "wild", ("ann" + WILD, "bob" + WILD), timed=False, words=WILD)
    score = {"score": 2.0, "low": 1.0, "high": 5.0, "higher_is_better": True, "name": "warmth"}
    rows["ratings"].append({"session_id": "chat", "rater": "ann", "target": "bob", **score})
    media = [("talk", "ann", "video", "ann.mp4", None), ("talk", "bob", "audio", "bob.wav", 0.5)]
    media += [("gone", "ann", "video", "lost.mp4", None), ("gone", "bob", "audio", "../secret.wav", None)]
    media += [("wild", "ann" + WILD, "audio", "link.wav", None), ("wild", "bob" + WILD, "features", "secret.csv", None)]
    keys = ("session_id", "speaker", "kind", "path", "offset_s")
    rows["media"] = [dict(zip(keys, row, strict=True)) for row in media]
    times = np.arange(0.0, TURN_S * TURNS, 0.1)
    measured = {"f0_hz": 180 + 20 * np.sin(times), "nod_yes": (times % 5 < 1).astype(float)}
    measured |= {name: 0.5 + 0.4 * np.sin(times / (n + 1)) for n, name in enumerate(EMOTIONS)}
    for feature, values in measured.items():
        rows["frames"] += [
            {"session_id": "talk", "person": "bob", "feature": feature, "time_s": t, "value": v}
            for t, v in zip(times.tolist(), values.tolist(), strict=True)
        ]
    return rows


def _session(rows: Rows, session_id: str, people: tuple[str, str], timed: bool, words: str = "") -> None:
    target, rater = people
    key = {"session_id": session_id, "rater": rater, "target": target, "name": "liking"}
    rows["sessions"].append({"session_id": session_id, "source": "synthetic", "language": "en"})
    rows["splits"].append({"session_id": session_id, "split": "train" if session_id == "chat" else "test"})
    rows["ratings"].append({**key, "score": 4.0, "low": 1.0, "high": 5.0, "higher_is_better": True})
    rows["backgrounds"] += [
        {"session_id": session_id, "speaker": None, "kind": "scenario", "text": f"A secret meeting. {words}"},
        {"session_id": session_id, "speaker": target, "kind": "goal", "text": f"Find the tunnel. {words}"},
    ]
    for turn in range(TURNS):
        speaker = people[turn % 2]
        early = OVERLAP[2] if turn == OVERLAP[0] else 0.0
        times = {"start_s": TURN_S * turn - early, "end_s": TURN_S * (turn + 1)} if timed else {}
        text = f"Sentence number {turn} of {session_id}. {words}"
        rows["utterances"].append({"session_id": session_id, "turn": turn, "speaker": speaker, "text": text, **times})
        if speaker == target:
            _worth(rows, key, turn, words)


def _worth(rows: Rows, key: dict[str, str], turn: int, words: str) -> None:
    """Rewards of three methods that add up to the score's 4: judge has samples, learner three seeds, flat neither."""
    raw = float(turn - 4)
    at = {**key, "turn": turn}
    share = 4.0 / (TURNS / 2)
    reason = f"because of the word {turn} {words}"
    judged = {"reward": share + raw / 10, "sd": 0.2, "raw_reward": raw, "rationale": reason}
    rows["rewards"].append({**at, "method": "judge", "seed": 0, **judged})
    rows["rewards"].append({**at, "method": "uniform", "seed": 0, "reward": share, "raw_reward": 0.0})
    for seed, step in enumerate((-0.1, 0.0, 0.1)):
        rows["rewards"].append({**at, "method": "learner", "seed": seed, "reward": share - raw / 20 + step})
    rows["samples"] += [{**at, "method": "judge", "sample": n, "value": raw + n} for n in range(3)]
    label = {"annotator": f"eve{words}", "name": "landed", "value": float(turn), "low": 0.0, "high": 8.0}
    rows["turn_labels"].append({"session_id": key["session_id"], "turn": turn, **label})
    behaviour = {"session_id": key["session_id"], "turn": turn, "person": key["rater"], "window": "during"}
    rows["descriptors"].append({**behaviour, "text": f"nods twice {words}", "detector": "mesh"})
    rows["utterance_features"].append({**behaviour, "feature": "f0_hz", "mean": 200.0 + turn, "coverage": 0.5})


def _write(schema: TableSchema, rows: list[dict], path: Path) -> None:
    pq.write_table(table(schema, rows), path)
