"""A SYNTHETIC run folder of any size for the viewer: words drawn by Zipf's law, rewards drawn at random.

    python -m benchmarks.viewer_run FOLDER [--sessions 10000] [--long 1000]

FOLDER/corpus and FOLDER/run are as `apportion run` leaves them, without a model having been trained. The last session,
`long`, has as many turns as --long says.
"""

from __future__ import annotations

import argparse
import json
import string
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, REWARDS, SESSIONS, SPLITS, UTTERANCES
from apportion.foundation.files import file_digest
from apportion.pipeline.config import Config, shown_config
from apportion.pipeline.results.run_folder import corpus_place

METHODS = ("uniform", "sentiment", "llm", "reaction", "rrd")
VOCABULARY = 20_000
COMMON, RARE = 3, 15_000
"""Places in the vocabulary of a word that most sessions hold, and of one that few do."""
LOW, HIGH = 1.0, 5.0


def vocabulary(chance: np.random.Generator) -> list[str]:
    """Different made-up words of two to ten letters, the commonest first."""
    letters = np.array(list(string.ascii_lowercase))
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choice(letters, chance.integers(2, 11)))] = None
    return list(words)


def write_synthetic_run(folder: Path, sessions: int = 10_000, long: int = 1000, seed: int = 7) -> Path:
    """Write FOLDER/corpus and FOLDER/run; the run's folder is returned.

    Parameters
    ----------
    folder : Path
    sessions : int
        Sessions beside the long one, of 8 to 40 turns.
    long : int
        Turns of the session `long`.
    seed : int
    """
    chance = np.random.default_rng(seed)
    words = np.array(vocabulary(chance))
    lengths = [*chance.integers(8, 41, sessions).tolist(), long]
    ids = [f"s{number:05d}" for number in range(sessions)] + ["long"]
    turns = np.concatenate([np.arange(length) for length in lengths]).astype(np.int32)
    of_turn = np.repeat(np.array(ids), lengths)
    speakers = np.where(turns % 2 == 0, "user", "bot")
    texts = _texts(chance, words, len(turns))
    corpus = folder / "corpus"
    tables = {
        "sessions": {"session_id": ids, "source": ["synthetic"] * len(ids), "language": ["en"] * len(ids)},
        "utterances": {"session_id": of_turn, "turn": turns, "speaker": speakers, "text": texts},
        "ratings": {
            "session_id": ids,
            "rater": ["user"] * len(ids),
            "target": ["bot"] * len(ids),
            "name": ["satisfaction"] * len(ids),
            "score": chance.integers(1, 6, len(ids)).astype(float),
            "low": [LOW] * len(ids),
            "high": [HIGH] * len(ids),
            "higher_is_better": [True] * len(ids),
        },
    }
    schemas = {"sessions": SESSIONS, "utterances": UTTERANCES, "ratings": RATINGS}
    made = {name: _table(schemas[name].arrow, columns) for name, columns in tables.items()}
    Corpus.of(corpus, made).write(corpus)
    run = folder / "run"
    run.mkdir(parents=True, exist_ok=True)
    bot = turns % 2 == 1
    _write_rewards(run, chance, of_turn[bot], turns[bot])
    splits = {"session_id": ids, "split": chance.choice(["train", "train", "validation", "test"], len(ids))}
    pq.write_table(_table(SPLITS.arrow, splits), run / "splits.parquet", compression="zstd")
    record = {
        "corpus": corpus_place(corpus, run),
        "config": shown_config(Config.model_validate({"corpus": corpus, "output": run})),
        "inputs": {path.name: file_digest(path) for path in sorted(corpus.iterdir())},
        "sessions": len(ids),
        "warnings": ["Everything in this run is synthetic: words and rewards are drawn at random."],
        "quarantine": {},
    }
    (run / "run.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return run


def _texts(chance: np.random.Generator, words: np.ndarray, count: int) -> list[str]:
    weights = 1.0 / np.arange(1, len(words) + 1)
    lengths = chance.integers(4, 25, count)
    drawn = words[chance.choice(len(words), int(lengths.sum()), p=weights / weights.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def _write_rewards(run: Path, chance: np.random.Generator, of_turn: np.ndarray, turns: np.ndarray) -> None:
    """Rewards of every method, a method after the other, as `publish` lays them out; uniform's are all alike."""
    parts = []
    for method in METHODS:
        values = np.full(len(turns), 0.1) if method == "uniform" else chance.normal(0, 0.3, len(turns))
        columns = {
            "session_id": of_turn,
            "rater": np.full(len(turns), "user"),
            "target": np.full(len(turns), "bot"),
            "name": np.full(len(turns), "satisfaction"),
            "turn": turns,
            "method": np.full(len(turns), method),
            "seed": np.zeros(len(turns), np.int32),
            "reward": values,
            "raw_reward": values,
        }
        parts.append(_table(REWARDS.arrow, columns))
    pq.write_table(pa.concat_tables(parts).combine_chunks(), run / "rewards.parquet", compression="zstd")


def _table(schema: pa.Schema, columns: dict[str, object]) -> pa.Table:
    count = len(next(iter(columns.values())))  # type: ignore[arg-type]
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--long", type=int, default=1000)
    options = parser.parse_args()
    print(write_synthetic_run(options.folder, options.sessions, options.long))
