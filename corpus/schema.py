"""The declared schema of every table: its columns, types and key (see docs/columns.toml)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TEXT, REAL, WHOLE, FLAG = pa.string(), pa.float64(), pa.int32(), pa.bool_()
EPISODE_KEY = ("session_id", "rater", "target", "name")
_EPISODE = dict.fromkeys(EPISODE_KEY, TEXT)


@dataclass(frozen=True)
class TableSchema:
    """One table: its name, its arrow schema and the columns that identify a row."""

    name: str
    arrow: pa.Schema
    key: tuple[str, ...]
    required: tuple[str, ...]
    """Columns that may not be missing or null; every other column is filled with nulls when absent."""


def _table(name: str, columns: dict[str, pa.DataType], key: tuple[str, ...], required: tuple[str, ...]) -> TableSchema:
    fields = [pa.field(column, kind, nullable=column not in required) for column, kind in columns.items()]
    return TableSchema(name, pa.schema(fields), key, required)


def _columns(table: TableSchema) -> dict[str, pa.DataType]:
    return dict(zip(table.arrow.names, table.arrow.types, strict=True))


SESSIONS = _table(
    "sessions",
    {"session_id": TEXT, "source": TEXT, "duration_s": REAL, "language": TEXT},
    ("session_id",),
    ("session_id",),
)
UTTERANCES = _table(
    "utterances",
    {"session_id": TEXT, "turn": WHOLE, "speaker": TEXT, "text": TEXT, "start_s": REAL, "end_s": REAL},
    ("session_id", "turn"),
    ("session_id", "turn", "speaker", "text"),
)
RATINGS = _table(
    "ratings",
    {
        **_EPISODE,
        "annotator": TEXT,
        **dict.fromkeys(("score", "low", "high"), REAL),
        "higher_is_better": FLAG,
    },
    (*EPISODE_KEY, "annotator"),
    (*EPISODE_KEY, "score", "low", "high", "higher_is_better"),
)
MEDIA = _table(
    "media",
    {"session_id": TEXT, "speaker": TEXT, "kind": TEXT, "path": TEXT, "offset_s": REAL, "channel": TEXT},
    ("session_id", "speaker", "kind"),
    ("session_id", "speaker", "kind", "path"),
)
TURN_LABELS = _table(
    "turn_labels",
    {"session_id": TEXT, "turn": WHOLE, "annotator": TEXT, "name": TEXT, "value": REAL, "low": REAL, "high": REAL},
    ("session_id", "turn", "annotator", "name"),
    ("session_id", "turn", "name", "value"),
)
BACKGROUNDS = _table(
    "backgrounds",
    {"session_id": TEXT, "speaker": TEXT, "kind": TEXT, "text": TEXT},
    ("session_id", "speaker", "kind"),
    ("session_id", "kind", "text"),
)
EVENTS = _table(
    "events",
    {"session_id": TEXT, "person": TEXT, "kind": TEXT, "start_s": REAL, "end_s": REAL, "strength": REAL, "text": TEXT},
    ("session_id", "person", "kind", "start_s"),
    ("session_id", "person", "kind", "start_s", "end_s"),
)
"""What came with a corpus; of a run also what was measured and read from the transcript."""
CORPUS_TABLES = (SESSIONS, UTTERANCES, RATINGS, MEDIA, TURN_LABELS, BACKGROUNDS, EVENTS)

SPLITS = _table("splits", {"session_id": TEXT, "split": TEXT}, ("session_id",), ("session_id", "split"))
FRAMES = _table(
    "frames",
    {"session_id": TEXT, "person": TEXT, "feature": TEXT, "time_s": REAL, "value": REAL},
    ("session_id", "person", "feature", "time_s"),
    ("session_id", "person", "feature", "time_s"),
)
UTTERANCE_FEATURES = _table(
    "utterance_features",
    {
        "session_id": TEXT,
        "turn": WHOLE,
        "person": TEXT,
        "window": TEXT,
        "feature": TEXT,
        "mean": REAL,
        "coverage": REAL,
    },
    ("session_id", "turn", "person", "window", "feature"),
    ("session_id", "turn", "person", "window", "feature"),
)
DESCRIPTORS = _table(
    "descriptors",
    {"session_id": TEXT, "turn": WHOLE, "person": TEXT, "window": TEXT, "text": TEXT, "detector": TEXT},
    ("session_id", "turn", "person", "window"),
    ("session_id", "turn", "person", "window", "text"),
)
REWARDS = _table(
    "rewards",
    {
        **_EPISODE,
        "turn": WHOLE,
        "method": TEXT,
        "seed": WHOLE,
        **dict.fromkeys(("reward", "sd", "advantage", "raw_reward"), REAL),
        "rationale": TEXT,
    },
    (*EPISODE_KEY, "turn", "method", "seed"),
    (*EPISODE_KEY, "turn", "method", "seed"),
)
"""A decomposition's rewards, and a reward model's scores. A label stage fills ``raw_reward`` only;
``reward`` is null until the projection onto the score has been done."""
SAMPLES = _table(
    "samples",
    {**_EPISODE, "turn": WHOLE, "method": TEXT, "sample": WHOLE, "value": REAL},
    (*EPISODE_KEY, "turn", "method", "sample"),
    (*EPISODE_KEY, "turn", "method", "sample"),
)
"""What each of several samples of a method said of a turn, in its own units; null where it said nothing."""
AUDIT = _table(
    "audit",
    {
        "perturbation": TEXT,
        **_EPISODE,
        "turn": WHOLE,
        "value": REAL,
        "planted": FLAG,
        "rationale": TEXT,
    },
    ("perturbation", *EPISODE_KEY, "turn"),
    ("perturbation", *EPISODE_KEY, "turn", "planted"),
)
"""A language model's judgements of the same turns, asked in several ways; ``planted`` marks the turn that words were
planted for. Names of people are those of the corpus, whatever the model was shown."""
# Files of the five tables below have been written without a mark on the columns that are always filled; with one, their
# bytes would be others. So no column is named as required.
EMBEDDINGS = _table(
    "embeddings",
    {**_EPISODE, "turn": WHOLE, "embedding": pa.list_(pa.float32())},
    (*EPISODE_KEY, "turn"),
    (),
)
"""What a frozen backbone makes of a turn and its history; each list has as many numbers as the backbone is wide."""
REACTIONS = _table(
    "reactions",
    {
        **_EPISODE,
        "turn": WHOLE,
        "cues": pa.list_(REAL),
        "embedding": pa.list_(pa.float32()),
        "replied": FLAG,
    },
    (*EPISODE_KEY, "turn"),
    (),
)
"""What is read of the rater's reply to a turn; ``embedding`` is zeros where ``replied`` is false."""
HISTORY = _table("history", {"step": WHOLE, "metric": TEXT, "value": REAL}, ("step", "metric"), ())
"""The curves of one training, a row a step (or epoch) and metric."""
HISTORIES = _table(
    "histories",
    {"stage": TEXT, "method": TEXT, "seed": WHOLE, **_columns(HISTORY)},
    ("stage", "method", "seed", *HISTORY.key),
    (),
)
"""All of a run's ``history`` tables."""
SOURCES = _table(
    "sources",
    {
        "method": TEXT,
        "seed": WHOLE,
        "source": TEXT,
        **dict.fromkeys(("weight", "low", "high", "explained", "explained_low", "explained_high"), REAL),
        "sessions": WHOLE,
        "reason": TEXT,
    },
    ("method", "seed", "source"),
    (),
)
"""What each source weighs in a mix, and why; ``explained`` is R^2 of left-out training scores."""
QUARANTINE = _table(
    "quarantine",
    dict.fromkeys(("stage", "session_id", "unit", "status", "cause", "evidence"), TEXT),
    ("stage", "unit", "cause"),
    (),
)
"""What could not be processed, and why."""
RUN_TABLES = (
    SPLITS,
    FRAMES,
    UTTERANCE_FEATURES,
    EVENTS,
    DESCRIPTORS,
    EMBEDDINGS,
    REACTIONS,
    REWARDS,
    SAMPLES,
    AUDIT,
    HISTORY,
    HISTORIES,
    SOURCES,
    QUARANTINE,
)
"""What a run writes, into its folder or into its store."""

RESPONSES = _table(
    "responses",
    {"session_id": TEXT, "turn": WHOLE, "context": TEXT, "policy": TEXT, "response": TEXT, "seed": WHOLE},
    ("session_id", "turn", "policy", "seed"),
    ("session_id", "turn", "context", "policy", "response", "seed"),
)
"""What policies answer, a row a context and policy. ``context`` is what was said before, one line a message; ``turn``
is the number of the turn that the response stands in for."""
BEST_RESPONSES = _table(
    RESPONSES.name,
    {**_columns(RESPONSES), "best_of": WHOLE, "candidates": WHOLE, "reward": REAL},
    RESPONSES.key,
    (*RESPONSES.required, "best_of", "candidates", "reward"),
)
"""RESPONSES, each the best of ``best_of`` drawn ones: how many different ones these were, and what it is paid."""
KEY = _table(
    "key",
    {"session_id": TEXT, "turn": WHOLE, "label": TEXT, "policy": TEXT},
    ("session_id", "turn", "label"),
    ("session_id", "turn", "label", "policy"),
)
"""Which policy a letter stands for in a context of blind responses; the letter is in the column ``label``."""
RESPONSE_TABLES = (RESPONSES, KEY)
