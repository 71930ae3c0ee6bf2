import json

import pytest

from apportion.foundation.errors import InputError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.embeddings import EMBEDDINGS, embedding_options, read_embedding, vector_of
from tests.llm_client.openai_server import Fault, OpenAIServer, serving


class VectorServer(OpenAIServer):
    """A text's vector is how many letters and words it has."""

    def other(self, method, path, query, raw, headers):
        if path != "/v1/embeddings":
            return Fault(404, f"no such path {path}")
        body = json.loads(raw)
        self.requests.append(body)
        text = body["input"]
        vector = [len(text), len(text.split())]
        return {"object": "list", "model": body["model"], "data": [{"index": 0, "embedding": vector}]}


def request(text="tea or milk"):
    return ChatRequest("m", (ChatMessage("user", text),), measures=EMBEDDINGS, subject="s1")


def test_a_text_is_sent_to_the_servers_embeddings_and_its_vector_is_kept(tmp_path):
    server = VectorServer()
    with serving(server):
        llm = LLMSettings(base_url=server.url, model="m", max_retries=0)
        for _ in range(2):
            with LLMSession(llm, cache=tmp_path / "kept.sqlite") as asker:
                assert vector_of(asker.complete(request())) == [11.0, 3.0]
    assert server.requests == [{"model": "m", "input": "tea or milk"}]


def test_a_vector_has_a_key_of_its_own_and_words_no_vector():
    plain = ChatRequest("m", (ChatMessage("user", "tea or milk"),))
    assert request().key() != plain.key() and "measures" not in plain.document()
    assert embedding_options({"model": "m", "messages": [{"role": "user", "content": "a"}], "temperature": 0.0}) == {
        "model": "m",
        "input": "a",
    }
    with pytest.raises(ValueError, match="a reply without a vector: 'hello'"):
        vector_of(ChatReply("hello", "m"))


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"data": []}, {"data": [{"embedding": []}]}, {"data": [{"embedding": ["x"]}]},
     {"data": [{"embedding": [1e999]}]}, {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}],
)  # fmt: skip
def test_what_is_no_vector_is_told(document):
    with pytest.raises(ValueError, match="it holds no vector"):
        read_embedding(document)


def test_a_server_without_embeddings_is_told():
    server = OpenAIServer()
    with (
        serving(server),
        LLMSession(LLMSettings(base_url=server.url, model="m", max_retries=0)) as asker,
        pytest.raises(InputError, match="no such path /v1/embeddings"),
    ):
        asker.complete(request())
