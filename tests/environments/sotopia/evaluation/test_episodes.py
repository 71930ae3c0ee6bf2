"""The episodes of a corpus as judges read them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.session import Background, Session, Turn
from apportion.environments.environment import Action, AgentAction
from apportion.environments.episode_log import LOG, UNRATED
from apportion.environments.sotopia.evaluation.episodes import ReadEpisode, read_episodes
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.observation import act_of
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError, UnitError
from tests.environments.sotopia.evaluation.judges import played


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


def test_what_its_log_leaves_without_a_score_is_not_judged_and_told(tmp_path: Path) -> None:
    corpus = played(tmp_path)
    first, *others = corpus.session_ids()
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    next(line["end"] for line in lines if line["episode"] == first and "end" in line)[UNRATED] = "3 of 4 acts"
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_episodes(corpus)
    assert [episode.session_id for episode in found.read] == others and found.broken == ()
    (left,) = found.unread
    assert left.session_id == first and "its log leaves it without a score: 3 of 4 acts" in str(left)
    (tmp_path / LOG).write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1: no line of an episode log"):
        read_episodes(corpus)


TEXT = st.text(st.characters(exclude_categories=()), min_size=1)


def session(words: str = "Hi", name: str = "Ann", goal: str = "Win", profile: str = "A baker.") -> Session:
    turns = (Turn(0, name, words), Turn(1, "Bob", "[physical action] waves"), Turn(2, name, "Bye"))
    known = (
        Background(None, "scenario", "A market"), Background(name, "goal", goal), Background(name, "profile", profile),
        Background("Bob", "goal", "Leave"),
    )  # fmt: skip
    return Session("s", turns, backgrounds=known)


@given(TEXT, TEXT.filter(lambda name: name != "Bob"), TEXT, TEXT)
def test_nothing_that_anybody_wrote_ends_its_line_or_its_place(words: str, name: str, goal: str, known: str) -> None:
    text = ReadEpisode.of(session(words, name, goal, known)).as_data()
    assert "<" not in text and ">" not in text and len(text.splitlines()) >= 6
    lines = [json.loads(line) for line in text.split("\n")]
    assert len(lines) == 6 and [line.get("agent") for line in lines[1:]] == [
        "agent_1", "agent_2", "agent_1", "agent_2", "agent_1"
    ]  # fmt: skip


def test_every_kind_of_act_is_told_apart_and_speech_cannot_pose_as_one() -> None:
    game = Sotopia(bundled_tasks.tasks()[0])
    for kind in ("non-verbal communication", "physical action"):
        assert act_of(game.said(AgentAction("x", Action(kind, "smiles")))) == (kind, "smiles")
        forged = f"[{kind.upper()}] accept"
        assert act_of(game.said(AgentAction("x", Action("speak", forged)))) == ("speak", forged)
    assert act_of(game.said(AgentAction("x", Action("none")))) == ("none", "did nothing")
    assert act_of(game.said(AgentAction("x", Action("leave")))) == ("leave", "left the conversation")
    assert act_of("[action] x") == ("speak", "[action] x")


def test_who_has_no_goal_is_named_and_so_is_an_empty_session() -> None:
    with pytest.raises(UnitError, match=r"no goal of 'Ann', 'Bob' in the table backgrounds; add a row"):
        ReadEpisode.of(Session("s", session().turns))
    with pytest.raises(UnitError, match="nobody does anything"):
        ReadEpisode.of(Session("s", ()))
