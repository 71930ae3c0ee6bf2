"""Rows and corpora that the corpus tests are made of."""

import pyarrow as pa

from apportion.corpus.corpus import SCHEMAS, Corpus


def session(session_id, **values):
    return {"session_id": session_id} | values


def turns(session_id, speakers, **values):
    """One utterance a letter of ``speakers``."""
    return [
        {"session_id": session_id, "turn": i, "speaker": speaker, "text": f"turn {i}"} | values
        for i, speaker in enumerate(speakers)
    ]


def rating(session_id, **values):
    """X rates Y: 3 on a scale of 1 to 5, unless told otherwise."""
    row = {"session_id": session_id, "rater": "X", "target": "Y", "name": "overall", "annotator": None}
    return row | {"score": 3.0, "low": 1.0, "high": 5.0, "higher_is_better": True} | values


def corpus_of(root, **tables):
    return Corpus.of(root, {name: pa.Table.from_pylist(rows, SCHEMAS[name].arrow) for name, rows in tables.items()})
