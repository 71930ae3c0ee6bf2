import numpy as np
import pytest

from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.persuasion_eval.followers import ServedEmbedding, TextEmbedding

MODEL = LLMSettings(model="m", base_url="http://localhost:1/v1", concurrency=2)


def test_the_embedded_minilm_finds_like_words_alike():
    vote, agree, ball = TextEmbedding()(["I vote for player 3.", "My vote is player 3.", "The ball is red."])
    near, far = (float(vote @ other / np.linalg.norm(vote) / np.linalg.norm(other)) for other in (agree, ball))
    assert near > far + 0.2 and vote.shape == (384,)


def test_a_text_has_one_vector_whatever_stands_beside_it():
    texts = ["I vote for player 3.", "No.", "A much longer sentence about the wolf and about whom to trust."]
    together = TextEmbedding()(texts)
    assert np.allclose(together, np.concatenate([TextEmbedding()([text]) for text in texts]), atol=1e-5)


def test_a_server_is_asked_for_each_text():
    asked = []

    def complete(request):
        asked.append(request.messages[0].content)
        return ChatReply(f"[{len(asked[-1])},1]", "m")

    assert sorted(ServedEmbedding(MODEL, complete)(["a", "bb"]).tolist()) == [[1.0, 1.0], [2.0, 1.0]]
    assert sorted(asked) == ["a", "bb"]


def test_vectors_of_several_lengths_and_words_are_told():
    with pytest.raises(UnitError, match=r"have \[1, 2\] numbers"):
        ServedEmbedding(
            MODEL, lambda request: ChatReply("[1]" if request.messages[0].content == "a" else "[1,2]", "m")
        )(["a", "b"])
    with pytest.raises(UnitError, match="without a vector"):
        ServedEmbedding(MODEL, lambda request: ChatReply("hello", "m"))(["a"])
