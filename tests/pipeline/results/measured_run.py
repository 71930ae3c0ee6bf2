"""A run folder on the disk as a finished run leaves it, with its corpus and its configuration."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import MEDIA, RATINGS, SESSIONS, UTTERANCES
from apportion.foundation.files import file_digest
from apportion.pipeline.results.run_folder import session_file_name
from tests.features.clips import tone, write_wav
from tests.features.export.sessions import DESCRIPTOR_TABLE, FRAME_TABLE, MEANS, SESSION

TEXT_ONLY = "text-only"
HOSTILE = "../../etc/passwd"


def write_measured_run(tmp_path: Path) -> Path:
    """A corpus of three sessions (one measured, one of a hostile name, one without times), its run, its config."""
    turns = {
        SESSION.session_id: SESSION.turns,
        HOSTILE: SESSION.turns[:2],
        TEXT_ONLY: tuple(replace(turn, start_s=None, end_s=None) for turn in SESSION.turns),
    }
    media = [("ann", "audio", "media/ann.wav", -0.25), ("bob", "audio", "media/bob.wav", 0.5)]
    media += [("ann", "video", "media/ann.wav", -0.25), ("bob", "video", "../outside.mp4", 0.0)]
    rating = ("bob", "ann", "liking", None, 2.0, 1.0, 5.0, True)
    tables = {
        SESSIONS: [(name, "test", 30.0, "en") for name in turns],
        UTTERANCES: [(name, t.turn, t.speaker, t.text, t.start_s, t.end_s) for name in turns for t in turns[name]],
        RATINGS: [(name, *rating) for name in turns],
        MEDIA: [(SESSION.session_id, *row, None) for row in media],
    }
    corpus = tmp_path / "corpus"
    (corpus / "media").mkdir(parents=True)
    for name in ("ann", "bob"):
        write_wav(corpus / "media" / f"{name}.wav", tone(0.1))
    Corpus.of(
        corpus,
        {
            schema.name: pa.Table.from_pylist(
                [dict(zip(schema.arrow.names, row, strict=True)) for row in rows], schema=schema.arrow
            )
            for schema, rows in tables.items()
        },
    ).write(corpus)
    run = tmp_path / "run"
    (run / "frames").mkdir(parents=True)
    pq.write_table(MEANS, run / "utterance_features.parquet")
    pq.write_table(DESCRIPTOR_TABLE, run / "descriptors.parquet")
    pq.write_table(FRAME_TABLE, run / "frames" / f"{session_file_name(SESSION.session_id)}.parquet")
    record = {"config": {"features": {"reply_max_s": 10.0}}, "inputs": {}}
    record["inputs"] = {path.name: file_digest(path) for path in corpus.iterdir() if path.is_file()}
    (run / "run.json").write_text(json.dumps(record))
    (tmp_path / "config.toml").write_text('corpus = "corpus"\noutput = "run"\n')
    return tmp_path
