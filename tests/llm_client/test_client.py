import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from apportion.foundation.errors import InputError
from apportion.llm_client.cache.recorded import read_header
from apportion.llm_client.client import Client
from apportion.llm_client.errors import (
    ContextLengthError,
    MissingReplyError,
    RequestError,
    SetupError,
    prefixed,
)
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.openai_server import Fault, OpenAIServer, serving


def request(text="hello", **options):
    return ChatRequest("m", (ChatMessage("user", text),), subject="session s1", **options)


def settings(server, **options):
    return LLMSettings(base_url=server.url, model="m", **{"max_retries": 0, **options})


def test_many_threads_are_answered_each_with_its_own_reply():
    with serving(OpenAIServer()) as server, Client(settings(server)) as client, ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda n: client.complete(request(str(n))).text, range(60)))
    assert replies == [f"reply to {n}" for n in range(60)]
    assert len(server.requests) == 60


def test_no_more_requests_than_allowed_are_under_way():
    with (
        serving(OpenAIServer(latency_s=0.05)) as server,
        Client(settings(server, concurrency=3)) as client,
        ThreadPoolExecutor(12) as pool,
    ):
        list(pool.map(lambda n: client.complete(request(str(n))), range(12)))
    assert server.most_at_once == 3


def test_a_kept_reply_is_not_asked_for_again(tmp_path):
    with serving(OpenAIServer()) as server:
        for _ in range(2):
            with Client(settings(server), cache=tmp_path / "cache.sqlite") as client:
                assert client.complete(request()).text == "reply to hello"
                assert client.complete(request()).text == "reply to hello"
    assert len(server.requests) == 1


def test_the_same_request_from_many_threads_is_sent_once():
    with (
        serving(OpenAIServer(latency_s=0.2)) as server,
        Client(settings(server)) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        start = threading.Barrier(8)

        def ask(_):
            start.wait()
            return client.complete(request()).text

        assert set(pool.map(ask, range(8))) == {"reply to hello"}
    assert len(server.requests) == 1


def test_a_failed_request_is_not_kept(tmp_path):
    with (
        serving(OpenAIServer(faults=[Fault(500)])) as server,
        Client(settings(server), cache=tmp_path / "cache.sqlite") as client,
    ):
        with pytest.raises(RequestError):
            client.complete(request())
        assert client.complete(request()).text == "reply to hello"


def test_a_recording_answers_without_the_server(tmp_path):
    cache, file = tmp_path / "cache.sqlite", tmp_path / "replies.jsonl"
    with serving(OpenAIServer()) as server:
        with Client(settings(server), cache=cache) as client:
            client.complete(request("before"))
        with Client(settings(server), cache=cache, record=file) as client:
            live = [client.complete(request(text)) for text in ("before", "now")]
    header = read_header(file)
    assert (header.model, header.how) == ("m", "recorded from 127.0.0.1 while it answered live requests")
    with Client(LLMSettings(provider="recorded", model="m"), recorded=file) as client:
        assert [client.complete(request(text)) for text in ("before", "now")] == live
        with pytest.raises(MissingReplyError, match=request("never asked").key()):
            client.complete(request("never asked"))


def test_recorded_without_a_file_is_told_and_prefixes_stand_before_errors_of_their_kind_alone():
    with pytest.raises(SetupError, match="no file of recorded replies is named"):
        Client(LLMSettings(provider="recorded"))
    with pytest.raises(ContextLengthError, match=r"^s1: too long$"), prefixed("x"), prefixed("s1", RequestError):
        raise ContextLengthError("too long")
    with pytest.raises(SetupError, match=r"^decompose\.llm: no key$"), prefixed("decompose.llm"):
        raise SetupError("no key")
    with pytest.raises(InputError, match=r"^of another kind$"), prefixed("decompose.llm"):
        raise InputError("of another kind")


def test_closing_ends_what_is_under_way_and_may_be_repeated():
    with serving(OpenAIServer(latency_s=1.0)) as server:
        client = Client(settings(server))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.complete, request())
            while not server.requests:
                time.sleep(0.01)
            client.close()
            with pytest.raises(RequestError, match="closed before the reply"):
                waiting.result()
        client.close()
