"""The Batch API against a real server: what goes out and what comes back."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.errors import SetupError
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.batching import (
    MOST_USD,
    SCHEMA,
    USD_A_REPLY,
    advance,
    kept,
    place_of,
    requests,
    settings,
    texts,
    usage,
)
from tests.llm_client.openai_server import Fault, completion, serving


def test_submit_leave_come_back_collect_and_the_client_finds_the_replies(folder):
    asked = requests(5)
    with serving(BatchServer(rounds=2)) as server:
        first = advance(server, folder, asked)
        assert (first.submitted, first.collected, first.finished) == (5, 0, False)
        assert first.waiting[0].batch_id == "batch_0"
        second = advance(server, folder, asked)
        assert (second.submitted, second.waiting[0].status, second.finished) == (0, "in_progress", False)
        third = advance(server, folder, asked)
        assert (third.submitted, third.collected, third.refused, third.finished) == (0, 5, 0, True)
        with Client(settings(server), cache=place_of(folder)) as client:
            assert [client.complete(request).text for request in asked] == texts(asked)
        assert server.requests == [] and len(server.worked) == 5
        # Nothing of a conversation stays at the server.
        assert server.files == {}
    assert usage(folder).usd == pytest.approx(5 * USD_A_REPLY)


def test_a_line_asks_what_a_live_request_asks(folder):
    reasoning = {"reasoning_effort": "low", "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    asked = requests(1, schema=SCHEMA, temperature=0.5, **reasoning)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        advance(server, folder, asked)
        with Client(settings(server)) as client:
            client.complete(asked[0])
    assert server.worked == server.requests
    assert server.worked[0]["chat_template_kwargs"] == {"enable_thinking": False}


def test_what_is_there_or_in_a_batch_already_is_not_handed_in(folder):
    with serving(BatchServer()) as server:
        with Client(settings(server), cache=place_of(folder)) as client:
            client.complete(requests(1)[0])
        assert advance(server, folder, requests(3)).submitted == 2
        second = advance(server, folder, requests(4))
        assert (second.collected, second.submitted) == (2, 1)
        advance(server, folder, requests(4))
    assert len(server.worked) == 3 and kept(folder, requests(4)) == texts(requests(4))


def test_a_plain_run_does_not_ask_what_is_in_a_batch(folder):
    asked = requests(2)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        with (
            Client(settings(server), cache=place_of(folder)) as client,
            pytest.raises(SetupError, match=r"2 requests are in a batch \(batch_0\).*Collect the batch"),
        ):
            client.complete(asked[0])
        assert server.requests == []


def test_expired_requests_go_into_the_next_batch_and_replies_of_the_first_are_kept(folder):
    asked = requests(4)

    def fault(body):
        late = body["messages"][-1]["content"] > "question 01" and len(server.batches) == 1
        return "expired" if late else None

    server = BatchServer(final="expired", line_fault=fault)
    with serving(server):
        advance(server, folder, asked, budget_usd=10)
        second = advance(server, folder, asked, budget_usd=10)
        assert (second.collected, second.unanswered, second.submitted) == (2, 2, 2)
        third = advance(server, folder, asked, budget_usd=10)
    assert (third.collected, third.finished) == (2, True)
    assert len(server.worked) == 4 and kept(folder, asked) == texts(asked)
    assert usage(folder).unanswered_usd == 0


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "maximum context length is 8192 tokens", "context_length_exceeded"),
        Fault(500, "the GPU is on fire"),
        Fault(429, "slow down"),
    ],
)
def test_a_refused_line_is_asked_directly_and_never_put_into_a_batch_again(folder, fault):
    asked = requests(3)
    server = BatchServer(line_fault=lambda body: fault if body["messages"][-1]["content"] == "question 01" else None)
    with serving(server):
        advance(server, folder, asked, budget_usd=10)
        second = advance(server, folder, asked, budget_usd=10)
        assert (second.collected, second.refused, second.finished) == (2, 1, True)
        third = advance(server, folder, asked, budget_usd=10)
        assert (third.submitted, third.finished) == (0, True)
        assert usage(folder).unanswered_usd == 0
        with Client(settings(server), cache=place_of(folder)) as client:
            assert [client.complete(request).text for request in asked] == texts(asked)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "overloaded"}}, {"choices": []}, None, "text", completion({"no": "text"})],
)
def test_an_answer_that_is_no_chat_completion_is_no_reply(folder, body):
    with serving(BatchServer(answer=lambda asked: body)) as server:
        advance(server, folder, requests(1))
        assert advance(server, folder, requests(1)).refused == 1
    assert usage(folder).replies == 0


def test_options_that_a_server_does_not_take_are_left_out_in_the_next_batch(folder):
    asked = requests(3, schema=SCHEMA)

    def refuse(body):
        if body.get("response_format", {}).get("type") == "json_schema":
            return Fault(400, "response_format json_schema is not supported")
        return Fault(400, "Use 'max_completion_tokens' instead of max_tokens") if "max_tokens" in body else None

    server = BatchServer(line_fault=refuse)
    with serving(server):
        submitted = [advance(server, folder, asked).submitted for _ in range(4)]
    assert submitted == [3, 3, 3, 0] and kept(folder, asked) == texts(asked)
    assert len(server.worked) == 3 and server.worked[0]["max_completion_tokens"] == 10


def test_a_failed_batch_is_told_unpaid_and_handed_in_again_by_the_next_command(folder):
    errors = [{"code": "invalid", "message": "the model does not exist", "line": 1, "param": None}]
    server = BatchServer(final="failed", errors=errors)
    with serving(server):
        advance(server, folder, requests(2), budget_usd=10)
        second = advance(server, folder, requests(2), budget_usd=10)
        assert not second.finished and second.submitted == 0
        assert "of 2 requests failed before it began, unpaid: line 1: the model does not exist" in second.problems[0]
        assert usage(folder).unanswered_usd == 0
        server.final = "completed"
        assert advance(server, folder, requests(2), budget_usd=10).submitted == 2


def test_a_large_job_is_several_batches_of_no_more_bytes_than_allowed(folder):
    with serving(BatchServer()) as server:
        assert len(advance(server, folder, requests(5), most_requests=2).waiting) == 3
        assert advance(server, folder, requests(5), most_requests=2).collected == 5
    assert len(server.worked) == 5
    with serving(BatchServer()) as server:
        advance(server, folder, requests(11)[5:], most_bytes=600)
        sizes = [file["bytes"] for file in server.files.values()]
    assert len(sizes) > 1 and max(sizes) <= 600


def test_the_budget_is_set_aside_at_half_the_price_and_never_passed(folder):
    asked = requests(10)
    budget_usd = 3.5 * MOST_USD
    with serving(BatchServer()) as server:
        first = advance(server, folder, asked, budget_usd=budget_usd)
        assert (first.submitted, first.left_out) == (3, 7)
        assert usage(folder).in_batches_usd == pytest.approx(3 * MOST_USD)
        assert "stopped before the budget of" in first.stopped
        rounds = 0
        while not (report := advance(server, folder, asked, budget_usd=budget_usd)).finished:
            assert usage(folder).usd + usage(folder).in_batches_usd <= budget_usd
            rounds += 1
        assert report.left_out == 10 - len(server.worked) and rounds < 10
    assert usage(folder).usd == pytest.approx(len(server.worked) * USD_A_REPLY) and usage(folder).usd <= budget_usd
    assert usage(folder).unanswered_usd == 0


def test_a_reply_without_a_count_of_tokens_counts_as_the_dearest(folder):
    with serving(BatchServer(answer=lambda body: {**completion("text"), "usage": None})) as server:
        for _ in range(2):
            advance(server, folder, requests(1), budget_usd=10)
    assert usage(folder).usd == pytest.approx(MOST_USD)


def test_what_another_run_is_asking_directly_is_left_to_it(folder):
    asked = requests(3)
    with serving(BatchServer(latency_s=0.2)) as server, ThreadPoolExecutor(1) as pool:
        with Client(settings(server), cache=place_of(folder)) as client:
            asking = pool.submit(client.complete, asked[1])
            while not server.requests:
                time.sleep(0.005)
            first = advance(server, folder, asked)
            assert (first.submitted, first.asked_elsewhere, first.left_out) == (2, 1, 0)
            assert asking.result().text == texts(asked)[1]
        assert advance(server, folder, asked).collected == 2
    assert len(server.worked) == 2 and len(server.requests) == 1 and kept(folder, asked) == texts(asked)
