"""The episodes of a corpus as judges read them."""

from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.environments.sotopia.evaluation.episodes import read_episodes
from apportion.foundation.errors import InputError
from tests.environments.sotopia.evaluation.judges import damaged, played


def test_sessions_without_goals_and_damaged_ones_are_told_apart_from_the_others(tmp_path: Path) -> None:
    first, second, *others = damaged(tmp_path / "one")
    episodes = read_episodes(Corpus.open(tmp_path / "one"))
    assert [one.session_id for one in episodes.read] == others
    assert [one.session_id for one in episodes.unread] == [first]
    assert [one.session_id for one in episodes.broken] == [second] and "column text" in episodes.broken[0].message


def test_an_empty_goal_breaks_a_session(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    rows = corpus.backgrounds.to_pylist()
    next(row for row in rows if row["kind"] == "goal")["text"] = " "
    changed = Corpus.of("one", {**corpus.tables, "backgrounds": pa.Table.from_pylist(rows, corpus.backgrounds.schema)})
    (broken,) = read_episodes(changed).broken
    assert broken.session_id == rows[0]["session_id"] and "the text is empty" in broken.message


def test_what_is_no_social_corpus_is_refused() -> None:
    rows = CorpusRows()
    rows.session("s", "by hand")
    rows.utterance("s", 0, "ann", "Hello")
    with pytest.raises(InputError, match="nobody has a goal"):
        read_episodes(Corpus.of("chats", rows.tables()))
    rows.background("s", "goal", "Win", "ann")
    assert len(read_episodes(Corpus.of("chats", rows.tables())).read) == 1
    rows.media("s", "ann", "audio", "a.wav", None)
    with pytest.raises(InputError, match="has recordings"):
        read_episodes(Corpus.of("chats", rows.tables()))


def test_a_fault_of_no_session_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ValidationIssue("sessions", None, "source", None, "broken", "whole", "Mend it.")
    monkeypatch.setattr("apportion.environments.sotopia.evaluation.episodes.validate", lambda corpus: [problem])
    with pytest.raises(InputError, match=r"one: sessions, column source: broken"):
        read_episodes(played(tmp_path / "one"))
