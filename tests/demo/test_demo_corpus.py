"""The committed demo corpus: its tables, its scores and what is planted in its texts."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.demo.builders.dialogues import make_chats
from apportion.demo.builders.make_corpus import CHATS, SEED
from apportion.demo.builders.planting import LABEL_NAME, SCORE_NAME, SCORE_NOISE_SD
from apportion.demo.builders.tables import to_corpus
from tests.demo.expected import expected_score

DEMO = Path(__file__).resolve().parents[2] / "demo"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.open(DEMO / "corpus")


@pytest.fixture(scope="module")
def sessions(corpus: Corpus) -> list[Session]:
    return list(corpus.iter_sessions())


def labels(corpus: Corpus, session: Session) -> dict[int, int]:
    rows = corpus.labels(session.session_id).to_pylist()
    assert {row["name"] for row in rows} == {LABEL_NAME}
    return {row["turn"]: int(row["value"]) for row in rows}


def chats(sessions: list[Session]) -> list[Session]:
    return [session for session in sessions if not session.media]


def test_sessions_of_text_vary_and_hardly_repeat(sessions: list[Session], corpus: Corpus) -> None:
    assert len(chats(sessions)) >= 40
    for session in chats(sessions):
        assert {turn.speaker for turn in session.turns} == {"user", "assistant"}
        assert 5 <= len(session.episodes()[0].target_turns) <= 9
        assert 10 <= len(session.turns) <= 18
    scores = [session.ratings[0].score for session in chats(sessions)]
    assert statistics.stdev(scores) > 0.7
    assert all(len(set(labels(corpus, session).values())) > 1 for session in sessions)
    texts = [turn.text for session in chats(sessions) for turn in session.turns]
    assert len(set(texts)) > 0.85 * len(texts)
    assert not any("{" in text or "}" in text for text in texts)


def test_every_score_is_the_documented_function_of_the_turn_qualities(corpus: Corpus, sessions: list[Session]) -> None:
    slack = 5 * SCORE_NOISE_SD + 0.05  # five deviations, and the rounding to 0.1
    for session in sessions:
        quality = labels(corpus, session)
        for episode in session.episodes(SCORE_NAME):
            expected = expected_score([quality[turn] for turn in episode.target_turns])
            assert episode.score == pytest.approx(expected, abs=slack)
            assert episode.score == round(episode.score, 1)


def test_mean_label_goes_with_the_score(corpus: Corpus, sessions: list[Session]) -> None:
    means = [statistics.mean(labels(corpus, session).values()) for session in chats(sessions)]
    scores = [session.ratings[0].score for session in chats(sessions)]
    assert statistics.correlation(means, scores) > 0.9


def test_making_the_chats_again_gives_the_committed_rows(sessions: list[Session]) -> None:
    made = [planted.session for planted in make_chats(CHATS, SEED)]  # needs no espeak-ng
    assert made == chats(sessions)


def test_equal_seeds_give_equal_bytes_and_others_do_not(tmp_path: Path) -> None:
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        to_corpus(make_chats(5, seed), tmp_path / folder).write(tmp_path / folder)
    content = {name: (tmp_path / name / "utterances.parquet").read_bytes() for name in "abc"}
    assert content["a"] == content["b"] != content["c"]


def test_ground_truth_names_the_same_qualities_as_the_labels(corpus: Corpus, sessions: list[Session]) -> None:
    truth = json.loads((DEMO / "ground_truth.json").read_text("utf-8"))
    planted = {
        entry["session_id"]: {item["turn"]: item["quality"] for item in entry["qualities"]}
        for entry in truth["sessions"]
    }
    assert planted == {session.session_id: labels(corpus, session) for session in sessions}
    assert truth["synthetic"] is True
