"""A corpus to label, and labels of its turns."""

from pathlib import Path

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.viewer.labels.label import Label, Question, said_digest

HOSTILE = "<script>alert(1)</script> \"'&\u202e javascript:alert(2)"
LANDING = Question("landing", "How did this turn land?", 1.0, 5.0, 1.0, "badly", "well")


def corpus(folder: Path, sessions: int = 3, turns: int = 8) -> Corpus:
    """Ann rates bob, who says every second turn; one turn of each session is hostile."""
    rows = CorpusRows()
    for number in range(sessions):
        session_id = f"s{number}"
        rows.session(session_id, "by hand", language="en")
        for turn in range(turns):
            text = HOSTILE if turn == 3 else f"Session {number}, turn {turn}."
            rows.utterance(session_id, turn, "ann" if turn % 2 == 0 else "bob", text)
        rows.rating(session_id, ("ann", "bob"), "satisfaction", float(number % 5 + 1), (1.0, 5.0))
    made = Corpus.of(folder, rows.tables())
    made.write(folder)
    return Corpus.open(folder)


def label(session_id: str = "s0", turn: int = 1, value: float | None = 4.0, annotator: str = "eve", **more) -> Label:
    """A label of a turn of `corpus`."""
    text = HOSTILE if turn == 3 else f"Session {session_id[1:]}, turn {turn}."
    fields = {"said": said_digest("ann" if turn % 2 == 0 else "bob", text), "name": "landing", "low": 1.0, "high": 5.0}
    given = {"blind": True, "at": "2026-11-23T08:00:00+00:00", **fields, **more}
    return Label(session_id, turn, value=value, annotator=annotator, **given)
