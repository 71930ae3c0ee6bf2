"""A name that comes to mean another model is told; a general name that a provider resolves is not."""

import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.batching import advance, place_of, requests
from tests.llm_client.openai_server import OpenAIServer, completion, serving


def ask(server, path, *texts, model="gpt-x"):
    settings = LLMSettings(base_url=server.url, model=model)
    with Client(settings, cache=path) as client:
        for text in texts:
            client.complete(ChatRequest(model, (ChatMessage("user", text),)))


def named(names):
    """A server that answers under these names, one a request."""
    left = list(names)
    return OpenAIServer(answer=lambda body: {**completion("text"), "model": left.pop(0)})


def told(caplog):
    return [record.getMessage() for record in caplog.records if "has changed" in record.getMessage()]


def test_a_model_that_changes_under_its_name_is_told_once_with_both_names_and_their_replies(tmp_path, caplog):
    with serving(named(["gpt-x-2025-01-01"] * 2 + ["gpt-x-2025-08-01"] * 3 + ["gpt-x-2025-09-01"])) as server:
        ask(server, tmp_path / "c", *"abcdef")
    assert told(caplog) == [
        "the model that answers to the name 'gpt-x' has changed: the reply cache holds 2 of 'gpt-x-2025-01-01', 1 of "
        "'gpt-x-2025-08-01'. Judgements of two models do not compare: ask for one of them by its own name (a dated "
        "one, where the provider has it), or begin another reply cache"
    ]


def test_a_later_run_on_the_same_cache_is_told_too(tmp_path, caplog):
    with serving(named(["first.gguf", "second.gguf", "second.gguf"])) as server:
        ask(server, tmp_path / "c", "a")
        assert told(caplog) == []
        ask(server, tmp_path / "c", "b")
        ask(server, tmp_path / "c", "c")
    assert [text.split(": ")[1].split(". ")[0] for text in told(caplog)] == [
        "the reply cache holds 1 of 'first.gguf', 1 of 'second.gguf'",
        "the reply cache holds 1 of 'first.gguf', 2 of 'second.gguf'",
    ]


@pytest.mark.parametrize("names", [["gpt-x-2025-01-01"] * 3, ["", "gpt-x", ""], ["gpt-x"] * 3])
def test_a_name_that_is_resolved_or_left_out_is_no_change(tmp_path, caplog, names):
    with serving(named(names)) as server:
        ask(server, tmp_path / "c", *"abc")
    assert told(caplog) == []


def test_other_names_are_other_models(tmp_path, caplog):
    with serving(named(["one", "other"])) as server:
        ask(server, tmp_path / "c", "a", model="x")
        ask(server, tmp_path / "c", "a", model="y")
    assert told(caplog) == []


def test_the_replies_of_a_batch_count(folder, caplog):
    asked = requests(3)
    with serving(BatchServer(answer=lambda body: {**completion("text"), "model": "m-2"})) as server:
        advance(server, folder, asked)
        advance(server, folder, asked)
        server.answer = lambda body: {**completion("text"), "model": "m-3"}
        ask(server, place_of(folder), "another", model="m")
    assert len(told(caplog)) == 1 and "3 of 'm-2', 1 of 'm-3'" in told(caplog)[0]


def test_a_server_with_a_new_name_for_every_reply_is_told_in_one_short_line(tmp_path, caplog):
    with serving(named([f"gpt-{number}" for number in range(5)])) as server:
        ask(server, tmp_path / "c", *"abcde")
        ask(server, tmp_path / "c", *"abcde")
        assert len(told(caplog)) == 1
    with serving(named(["gpt-x"])) as server:
        ask(server, tmp_path / "c", "f")
    assert "1 of 'gpt-2' and 3 more. Judgements" in told(caplog)[1]
