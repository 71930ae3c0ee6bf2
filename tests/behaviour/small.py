"""A small text-only corpus and a configuration in which every stage runs in seconds, real code throughout."""

import random
from pathlib import Path

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, SESSIONS, TURN_LABELS, UTTERANCES, TableSchema

TINY_POLICY = """[align.tiny]
hidden = 32
layers = 1
vocabulary = 320
warmup_steps = 2
warmup_batch = 2
"""
QUARTERS = """[split]
train = 0.4
validation = 0.1
test = 0.2
policy = 0.3
"""
UNSPLIT = """[split]
train = 1
validation = 0
test = 0
policy = 0
"""
GOOD = (
    ("Here is the table you asked for, booked for eight.", "Great, thank you so much!"),
    ("The train leaves at nine from platform two.", "Perfect, that helps a lot."),
)
BAD = (
    ("I do not know.", "That is useless, I am disappointed."),
    ("Please rephrase your request.", "No, this is annoying."),
)


def table(schema: TableSchema, rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema.arrow)


def write_small_corpus(folder: Path, sessions: int = 12, exchanges: int = 3) -> Path:
    """Dialogues whose score is the share of good answers, on a scale of 1 to 5."""
    chance = random.Random(7)
    tables: dict[str, list[dict]] = {"sessions": [], "utterances": [], "ratings": [], "turn_labels": []}
    for number in range(sessions):
        session_id = f"s{number:02d}"
        tables["sessions"].append({"session_id": session_id, "source": "test", "language": "en"})
        liked = chance.random()
        said = [("user", "Hello, I need some help.")]
        good = 0
        for _ in range(exchanges):
            quality = chance.random() < liked
            good += quality
            answer, reply = chance.choice(GOOD if quality else BAD)
            turn = len(said)
            said += [("bot", answer), ("user", reply)]
            label = {"annotator": "a", "name": "quality", "value": float(quality), "low": 0.0, "high": 1.0}
            tables["turn_labels"].append({"session_id": session_id, "turn": turn, **label})
        tables["utterances"] += [
            {"session_id": session_id, "turn": turn, "speaker": speaker, "text": text}
            for turn, (speaker, text) in enumerate(said)
        ]
        score = {"score": 1.0 + 4.0 * good / exchanges, "low": 1.0, "high": 5.0, "higher_is_better": True}
        tables["ratings"].append(
            {"session_id": session_id, "rater": "user", "target": "bot", "name": "satisfaction", **score}
        )
    schemas = (SESSIONS, UTTERANCES, RATINGS, TURN_LABELS)
    Corpus.of(folder, {schema.name: table(schema, tables[schema.name]) for schema in schemas}).write(folder)
    return folder


def film_one_person(corpus: Path) -> Path:
    """Give the corpus a film of its first session's user, without a face in it."""
    from tests.features.clips import flat, write_movie

    write_movie(corpus / "u.mp4", [flat()] * 5)
    (corpus / "media.jsonl").write_text('{"session_id": "s00", "speaker": "user", "kind": "video", "path": "u.mp4"}\n')
    return corpus
