"""The Batch API against a real server: what comes back, what fails, and what a kill leaves."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm_client.batch import Batches
from llm_client.cache import ReplyCache
from llm_client.client import Client
from llm_client.errors import RequestError, SetupError
from llm_client.prices import Price
from llm_client.request import ChatRequest, Message
from llm_client.settings import LLMSettings
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

ROOT = Path(__file__).resolve().parents[2]
CANARY = "sk-canary-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
PRICES = '[models]\n"m" = { input = 1000, output = 10000, batch = 0.5 }\n'
USD_A_REPLY = (11 * 1000 + 7 * 10000) / 1e6 / 2


def requests(count, **options):
    return [
        ChatRequest("m", (Message("user", f"question {n:02}"),), max_tokens=10, label=f"session s{n}", **options)
        for n in range(count)
    ]


MOST_USD = Price(input=1000, output=10000).most_usd(requests(1)[0]) / 2


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


def settings(server, **options):
    return LLMSettings(base_url=server.url, model="m", **{"max_retries": 0, "max_tokens": 10, **options})


def batches(server, folder, **options):
    chosen = {"prices": folder / "prices.toml", "settle_s": 0.0, **options}
    return Batches(settings(server), folder / "cache.sqlite", **chosen)


def advance(server, folder, asked, **options):
    with batches(server, folder, **options) as chosen:
        return chosen.advance(asked)


def usage(folder):
    cache = ReplyCache(folder / "cache.sqlite")
    try:
        return cache.usage()
    finally:
        cache.close()


def kept(folder, asked):
    cache = ReplyCache(folder / "cache.sqlite")
    try:
        return [reply.text if (reply := cache.get(request.key())) else None for request in asked]
    finally:
        cache.close()


def texts(asked):
    return [f"reply to {request.messages[-1].content}" for request in asked]


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
        with Client(settings(server), cache=folder / "cache.sqlite") as client:
            assert [client.complete(request).text for request in asked] == texts(asked)
        assert server.requests == [] and len(server.worked) == 5
        # Nothing of a conversation stays at the server.
        assert server.files == {}
    assert usage(folder).usd == pytest.approx(5 * USD_A_REPLY)


def test_a_line_asks_what_a_live_request_asks(folder):
    asked = requests(1, schema=SCHEMA, temperature=0.5)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        advance(server, folder, asked)
        with Client(settings(server)) as client:
            client.complete(asked[0])
    assert server.worked == server.requests


def test_what_is_there_or_in_a_batch_already_is_not_handed_in(folder):
    with serving(BatchServer()) as server:
        with Client(settings(server), cache=folder / "cache.sqlite") as client:
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
            Client(settings(server), cache=folder / "cache.sqlite") as client,
            pytest.raises(SetupError, match=r"2 requests are in a batch \(batch_0\).*--batch"),
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
        with Client(settings(server), cache=folder / "cache.sqlite") as client:
            assert [client.complete(request).text for request in asked] == texts(asked)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "overloaded"}}, {"choices": []}, None, "text", completion(["no text"])],
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


def test_a_large_job_is_several_batches(folder):
    with serving(BatchServer()) as server:
        assert len(advance(server, folder, requests(5), most_requests=2).waiting) == 3
        assert advance(server, folder, requests(5), most_requests=2).collected == 5
    assert len(server.worked) == 5


def test_a_file_has_no_more_bytes_than_allowed(folder):
    sizes = []
    with serving(BatchServer()) as server:
        advance(server, folder, requests(6), most_bytes=600)
        sizes = [file["bytes"] for file in server.files.values()]
    assert len(sizes) > 1 and max(sizes) <= 600


def test_the_budget_is_set_aside_at_half_the_price_and_never_passed(folder):
    asked = requests(10)
    budget_usd = 3.5 * MOST_USD
    with serving(BatchServer()) as server:
        first = advance(server, folder, asked, budget_usd=budget_usd)
        assert (first.submitted, first.left_out) == (3, 7)
        assert usage(folder).unanswered_usd == pytest.approx(3 * MOST_USD)
        assert "stopped before the budget of" in first.stopped
        rounds = 0
        while not (report := advance(server, folder, asked, budget_usd=budget_usd)).finished:
            assert usage(folder).usd + usage(folder).unanswered_usd <= budget_usd
            rounds += 1
        assert report.left_out == 10 - len(server.worked) and rounds < 10
    assert usage(folder).usd == pytest.approx(len(server.worked) * USD_A_REPLY) and usage(folder).usd <= budget_usd
    assert usage(folder).unanswered_usd == 0


def test_a_reply_without_a_count_of_tokens_counts_as_the_dearest(folder):
    with serving(BatchServer(answer=lambda body: {**completion("text"), "usage": None})) as server:
        for _ in range(2):
            advance(server, folder, requests(1), budget_usd=10)
    assert usage(folder).usd == pytest.approx(MOST_USD)


def test_a_server_without_batches_is_told(folder):
    with serving(OpenAIServer()) as server, pytest.raises(SetupError, match=r"has no Batch API.*leave --batch out"):
        advance(server, folder, requests(1))
    with serving(OpenAIServer()) as server, Client(settings(server), cache=folder / "cache.sqlite") as client:
        assert client.complete(requests(1)[0]).text == "reply to question 00"


def test_a_refused_key_is_told_and_nothing_stays_claimed(folder):
    server = BatchServer(before=lambda call: Fault(401, "bad key") if call == "POST batches" else None)
    with serving(server):
        with pytest.raises(SetupError, match="Check the key in the environment variable OPENAI_API_KEY"):
            advance(server, folder, requests(1), budget_usd=10)
        assert server.files == {} and usage(folder).unanswered_usd == 0
        server.before = lambda call: None
        assert advance(server, folder, requests(1)).submitted == 1


def test_a_storm_is_waited_out(folder):
    faults = [Fault(429, headers=(("Retry-After-Ms", "1"),)), Fault(503, headers=(("Retry-After-Ms", "1"),))] * 2

    def storm(call):
        return faults.pop() if faults and call != "POST batches" else None

    with serving(BatchServer(before=storm)) as server:
        chosen = Batches(settings(server, max_retries=5), folder / "cache.sqlite")
        with chosen:
            assert chosen.advance(requests(1)).submitted == 1
            assert chosen.advance(requests(1)).collected == 1


def test_a_server_that_fails_keeps_what_was_handed_in(folder):
    with serving(BatchServer()) as server:
        advance(server, folder, requests(1))
        server.before = lambda call: Fault(500, "on fire")
        with pytest.raises(RequestError, match="answered 500: on fire"):
            advance(server, folder, requests(1))
        server.before = lambda call: None
        assert advance(server, folder, requests(1)).collected == 1
    assert len(server.worked) == 1


def test_an_unknown_batch_is_told_and_can_be_given_up(folder):
    with serving(BatchServer()) as server:
        advance(server, folder, requests(2), budget_usd=10)
        server.batches.clear()
        with pytest.raises(SetupError, match=r"does not know the batch batch_0.*--forget-batch batch_0"):
            advance(server, folder, requests(2))
        with batches(server, folder) as chosen:
            with pytest.raises(SetupError, match=r"knows no batch 'batch_9'.*it has: batch_0"):
                chosen.forget("batch_9")
            assert chosen.forget("batch_0") == 2
        assert usage(folder).unanswered_usd == pytest.approx(2 * MOST_USD)
        assert advance(server, folder, requests(2)).submitted == 2


def test_a_lost_answer_to_the_creation_is_found_again_and_not_paid_twice(folder):
    server = BatchServer(after=lambda call: Fault(500, "lost") if call == "POST batches" else None, page=1)
    with serving(server):
        for number in range(3):
            server.batches[f"foreign{number}"] = {"id": f"foreign{number}", "metadata": None, "asked": 0, "status": "x"}
        first = advance(server, folder, requests(2))
        assert "Whether the batch was taken is not known" in first.problems[0] and not first.finished
        assert advance(server, folder, requests(2)).collected == 2
    assert len(server.worked) == 2


@pytest.mark.parametrize("fault", [Fault(500, "no"), Fault(200, raw=b"{}")])
def test_a_creation_that_did_not_happen_is_made_up_for(folder, fault):
    server = BatchServer(before=lambda call: fault if call == "POST batches" else None)
    with serving(server):
        assert advance(server, folder, requests(2), budget_usd=10).problems
        server.before = lambda call: None
        assert advance(server, folder, requests(2), budget_usd=10).submitted == 2
        assert advance(server, folder, requests(2), budget_usd=10).finished
    assert len(server.worked) == 2 and server.files == {}


def test_a_batch_that_was_on_its_way_when_its_process_died_is_waited_for(folder):
    server = BatchServer(before=lambda call: Fault(500, "later") if call == "POST batches" else None)
    with serving(server):
        advance(server, folder, requests(2))
        connection = sqlite3.connect(folder / "cache.sqlite")
        ((token, file),) = connection.execute("SELECT token, input_file FROM batches").fetchall()
        connection.close()
        looked = []

        def appear(call):
            looked.append(call)
            if looked.count("GET batches") == 2:
                metadata = {"apportion": token}
                window = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
                server._create({**window, "input_file_id": file, "metadata": metadata})

        server.before = appear
        assert advance(server, folder, requests(2), settle_s=30).collected == 2
    assert len(server.worked) == 2 and len(server.batches) == 1


@pytest.mark.parametrize("raw", [b'{"custom_id": "x"', b"[]", b"<html>", b"[" * 100_000])
def test_a_file_that_was_cut_is_refused_whole_and_read_again(folder, raw):
    asked = requests(3)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        server.before = lambda call: Fault(200, raw=raw) if call == "GET files/content" else None
        with pytest.raises(RequestError, match=r"line 1 of the batch's file .* is no JSON object"):
            advance(server, folder, asked)
        server.before = lambda call: Fault(200, raw=b"") if call == "GET files/content" else None
        with pytest.raises(RequestError, match=r"has 3 replies, and its file at .* holds 0"):
            advance(server, folder, asked)
        assert usage(folder).replies == 0
        server.before = lambda call: None
        assert advance(server, folder, asked).collected == 3


def test_lines_twice_or_of_strangers_change_nothing(folder):
    asked = requests(2)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        server._asked(server.batches["batch_0"])
        file = server.files["file-output-batch_0"]
        file["raw"] = file["raw"] * 2 + file["raw"].replace(asked[0].key().encode(), b"stranger")
        assert advance(server, folder, asked).collected == 2
    assert usage(folder).replies == 2 and usage(folder).usd == pytest.approx(2 * USD_A_REPLY)


def test_one_process_at_a_time(folder):
    with serving(BatchServer()) as server, batches(server, folder) as first, batches(server, folder) as second:
        with first._alone(), pytest.raises(SetupError, match="another process is handing in or collecting"):
            second.advance(requests(1))
        assert second.advance(requests(1)).submitted == 1


def test_batches_at_another_server_are_named(folder):
    with serving(BatchServer()) as one, serving(BatchServer()) as other:
        advance(one, folder, requests(1))
        report = advance(other, folder, requests(2))
        assert f"are at {one.url}; set base_url" in report.problems[0] and other.calls == []


def test_a_folder_that_cannot_be_written_is_named(folder):
    (folder / "cache.sqlite.batch-lock").mkdir()
    with serving(BatchServer()) as server, pytest.raises(SetupError, match=r"batch-lock cannot be written"):
        advance(server, folder, requests(1))


def test_neither_key_nor_prompt_is_written_or_said(folder, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level("DEBUG")
    words = Fault(400, f"your key {CANARY}")
    server = BatchServer(answer=lambda body: completion("fine"), before=lambda call: words)
    with serving(server):
        with pytest.raises(RequestError) as caught:
            advance(server, folder, requests(2))
        server.before = lambda call: None
        advance(server, folder, requests(2))
        errors = [{"code": "x", "message": f"bad key {CANARY}", "line": None}]
        server.final, server.errors = "failed", errors
        said = repr(advance(server, folder, requests(2)))
    assert server.headers[0]["authorization"] == f"Bearer {CANARY}"
    assert "[key]" in str(caught.value) and "[key]" in said
    assert CANARY not in str(caught.value) + said + caplog.text and "question 0" not in said + caplog.text
    for path in folder.iterdir():
        assert CANARY.encode() not in path.read_bytes() and b"question 0" not in path.read_bytes()


KILLED = """
import os, signal, sys
from pathlib import Path
import llm_client.batch as batch
import llm_client.batch_book as book
import llm_client.batch_service as service
from tests.llm_client.test_batch import requests
from llm_client.settings import LLMSettings

url, folder, step, when = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
part = service.BatchService if hasattr(service.BatchService, step) else book.BatchBook
carried_out = getattr(part, step)

def deadly(*arguments, **options):
    if when == "after":
        carried_out(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(part, step, deadly)
settings = LLMSettings(base_url=url, model="m", max_tokens=10, max_retries=0)
with batch.Batches(settings, folder / "cache.sqlite", prices=folder / "prices.toml", budget_usd=10) as batches:
    batches.advance(requests(3))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["claim", "upload", "note", "create", "retrieve", "lines", "settle", "delete", "drop"])
def test_kill_9_at_any_step_pays_and_loses_nothing(folder, step, when):
    asked = requests(3)
    with serving(BatchServer()) as server:
        if step in ("retrieve", "lines", "settle", "delete", "drop"):
            advance(server, folder, asked, budget_usd=10)
        command = [sys.executable, "-c", KILLED, server.url, str(folder), step, when]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        deadline_s = time.monotonic() + 20
        while not advance(server, folder, asked, budget_usd=10).finished:
            assert time.monotonic() < deadline_s
        assert server.files == {}
    assert len(server.worked) == 3 and server.requests == [] and kept(folder, asked) == texts(asked)
    assert usage(folder).usd == pytest.approx(3 * USD_A_REPLY) and usage(folder).unanswered_usd == 0
