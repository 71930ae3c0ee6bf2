"""The cases of shared/cases that are about chats, each as its README says."""

import pytest

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.shared import shared

SCALE = ("-o", "low=1", "-o", "high=5")


def imported(tmp_path, name):
    assert called("import", "chat", shared(f"cases/{name}"), tmp_path / "corpus", *SCALE) == 0
    return {session.session_id: session for session in Corpus.open(tmp_path / "corpus").iter_sessions()}


def test_a_refusal_is_what_the_assistant_said(tmp_path):
    turns = imported(tmp_path, "strangers/t21b_refusal/chat.jsonl")["a"].turns
    assert [turn.speaker for turn in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert turns[3].text == "I will not write that."


def test_an_empty_turn_beside_a_tool_call_is_left_out_and_counted(tmp_path, capsys):
    turns = imported(tmp_path, "strangers/t22_empty_tool/chat.jsonl")["a"].turns
    assert [turn.text for turn in turns] == ["weather?", "It is 12 C.", "thanks"]
    assert "1 tool calls without text" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("csat_key.jsonl", {f"sess-000{number}": score for number, score in enumerate((2, 5, 1, 5, 2, 5, 1, 5))}),
        ("chats.csv", {"c0": 2, "c1": 5}),
    ],
)
def test_a_score_of_another_name_is_read_and_told(tmp_path, capsys, name, scores):
    sessions = imported(tmp_path, f"newcomer/{name}")
    assert {id_: [rating.score for rating in session.ratings] for id_, session in sessions.items()} == {
        id_: [score] for id_, score in scores.items()
    }
    assert "the scores were read from 'csat'" in capsys.readouterr().out
