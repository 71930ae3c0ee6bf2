import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.stackelberg.persuasion_eval.followers import PromptedFollower, ServedEmbedding, TextEmbedding
from apportion.rlhf.stackelberg.persuasion_eval.table import (
    Interval,
    Persuasion,
    paired_interval,
    persuasion,
    persuasion_text,
    vectors,
)
from tests.rlhf.stackelberg.round_table import round_table

MODEL = LLMSettings(model="m", base_url="http://localhost:1/v1", temperature=1.0)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_an_interval_holds_the_mean_of_equal_sessions(values):
    found = paired_interval(np.array(values), [str(place) for place in range(len(values))])
    assert found.low <= found.mean + 1e-9 and found.mean <= found.high + 1e-9


def test_whole_sessions_are_drawn_again():
    alike = np.repeat([1.0, -1.0], 50)
    by_session = paired_interval(alike, ["a"] * 50 + ["b"] * 50)
    by_turn = paired_interval(alike, [str(place) for place in range(100)])
    assert (by_session.low, by_session.high) == (-1.0, 1.0) and by_turn.high < 0.3


def test_vectors_are_of_length_one_and_silence_has_one():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[3.0, 4.0], [0.0, 0.0]])

    assert vectors(embed, ["a", " "]).tolist() == [[0.6, 0.8], [0.0, 0.0]] and asked == ["a", "…"]


def test_a_folder_without_epochs_is_told(tmp_path):
    with pytest.raises(InputError, match="no epochs of a Refiner"):
        persuasion(tmp_path, round_table(1), "two", None, None, Window())


def test_the_table_says_who_answered_and_by_what():
    rows = [Persuasion(0, 2, 0.5, 0.4, 12.0), Persuasion(1, 2, 0.6, 0.3, 14.0, Interval(0.1, 0.05, 0.15))]
    text = persuasion_text(rows, "answers of m, by minilm")
    assert "(answers of m, by minilm)" in text and "+0.100 [+0.050, +0.150]" in text


def test_a_follower_at_a_server_reads_its_own_prompt_and_a_declined_reply_is_silence():
    turns = round_table(2)
    asked = []

    def complete(request):
        asked.append(request.messages[1].content)
        declined = "Player 2" in request.messages[1].content
        return ChatReply("<response>I wait.</response>", "m", finish_reason="refusal" if declined else "stop")

    found = PromptedFollower(MODEL, complete).answers(turns, ["Hello.", "Player 2, vote with me."])
    assert found == ["I wait.", ""]
    assert turns[0].after("Hello.") in asked[0] and turns[1].after("Player 2, vote with me.") in asked[1]


SERVER = LLMSettings(model="m", base_url="http://localhost:1/v1", concurrency=2)


def test_a_text_has_one_vector_whatever_stands_beside_it():
    texts = ["I vote for player 3.", "No.", "A much longer sentence about the wolf and about whom to trust."]
    together = TextEmbedding()(texts)
    assert np.allclose(together, np.concatenate([TextEmbedding()([text]) for text in texts]), atol=1e-5)


def test_a_server_is_asked_for_each_text():
    asked = []

    def complete(request):
        asked.append(request.messages[0].content)
        return ChatReply(f"[{len(asked[-1])},1]", "m")

    assert sorted(ServedEmbedding(SERVER, complete)(["a", "bb"]).tolist()) == [[1.0, 1.0], [2.0, 1.0]]
    assert sorted(asked) == ["a", "bb"]


def test_vectors_of_several_lengths_and_words_are_told():
    with pytest.raises(UnitError, match=r"have \[1, 2\] numbers"):
        ServedEmbedding(
            SERVER, lambda request: ChatReply("[1]" if request.messages[0].content == "a" else "[1,2]", "m")
        )(["a", "b"])
    with pytest.raises(UnitError, match="without a vector"):
        ServedEmbedding(SERVER, lambda request: ChatReply("hello", "m"))(["a"])
