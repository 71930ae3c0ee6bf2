"""The Batch API against a real server that fails, loses or breaks something."""

import pytest

from apportion.llm_client.batch.batches import Batches
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.client import Client
from apportion.llm_client.errors import RequestError, SetupError
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.batching import (
    CANARY,
    MOST_USD,
    USD_A_REPLY,
    advance,
    batches,
    kept,
    place_of,
    requests,
    settings,
    texts,
    usage,
)
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving


def test_a_server_without_batches_is_told(folder):
    with serving(OpenAIServer()) as server, pytest.raises(SetupError, match=r"has no Batch API.*ask without batches"):
        advance(server, folder, requests(1))
    with serving(OpenAIServer()) as server, Client(settings(server), cache=place_of(folder)) as client:
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
        chosen = Batches(settings(server, max_retries=5), place_of(folder))
        with chosen:
            assert chosen.advance(requests(1)).submitted == 1
            assert chosen.advance(requests(1)).collected == 1


def test_a_server_that_takes_no_calls_for_long_is_told(folder):
    fault = Fault(429, "come tomorrow", headers=(("Retry-After", "86000"),))
    with (
        serving(BatchServer(before=lambda call: fault)) as server,
        pytest.raises(RequestError, match="answered 429: come tomorrow"),
    ):
        advance(server, folder, requests(1))


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
        with pytest.raises(SetupError, match=r"does not know the batch batch_0.*give up the batch batch_0"):
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
        cache = ReplyCache(place_of(folder))
        query = "SELECT token, input_file FROM batches"
        ((token, file),) = cache.read(lambda connection: connection.execute(query).fetchall())
        cache.close()
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


@pytest.mark.parametrize("raw", [b'{"custom_id": "x"', b"[]", b"{}", b"<html>", b"[" * 100_000])
def test_a_file_that_cannot_be_read_frees_no_request_and_is_read_again(folder, raw):
    asked = requests(3)
    with serving(BatchServer()) as server:
        advance(server, folder, asked)
        server.before = lambda call: Fault(200, raw=raw) if call == "GET files/content" else None
        (problem,) = advance(server, folder, asked).problems
        assert "line 1 of the batch's file file-output-batch_0 cannot be read; 3 requests of the batch" in problem
        server.before = lambda call: Fault(200, raw=b"") if call == "GET files/content" else None
        (problem,) = advance(server, folder, asked).problems
        assert "the batch has 3 replies, and its file at 127.0.0.1 holds 0; 3 requests" in problem
        assert usage(folder).replies == 0
        server.before = lambda call: None
        assert advance(server, folder, asked).collected == 3


@pytest.mark.parametrize("broken", [b'{"custom_id": "x', b"", b"\xff\xfe", b'{"id": "r"}', b"7"])
def test_a_broken_line_costs_its_own_request_and_no_other(folder, broken):
    asked = requests(4)
    with serving(BatchServer()) as server:
        advance(server, folder, asked, budget_usd=10)
        server._asked(server.batches["batch_0"])
        file = server.files["file-output-batch_0"]
        whole = file["raw"]
        lines = whole.split(b"\n")
        lines[1] = broken  # The second answer, which is the third request's.
        file["raw"] = b"\n".join(lines)
        first = advance(server, folder, asked, budget_usd=10)
        assert (first.collected, first.submitted, first.finished) == (3, 0, False)
        cause = "line 2 of the batch's file" if broken else "the batch has 4 replies, and its file at"
        assert cause in first.problems[0] and "1 requests of the batch batch_0 stay open" in first.problems[0]
        assert "give up the batch, and they are asked anew" in first.problems[0]
        assert kept(folder, asked) == [text if n != 2 else None for n, text in enumerate(texts(asked))]
        assert usage(folder).in_batches_usd == pytest.approx(MOST_USD)
        # The file is read again: whole now, or broken for ever.
        if broken == b"7":
            with batches(server, folder) as chosen:
                assert chosen.forget("batch_0") == 1
            assert usage(folder).unanswered_usd == pytest.approx(MOST_USD)
            assert advance(server, folder, asked).submitted == 1
        else:
            file["raw"] = whole
        assert advance(server, folder, asked).collected == 1
        assert kept(folder, asked) == texts(asked)
    assert len(server.worked) == (5 if broken == b"7" else 4)


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


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
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


def test_requests_of_a_batch_that_a_damaged_file_has_lost_are_asked_anew(folder):
    with serving(BatchServer()) as server:
        advance(server, folder, requests(3))
        cache = ReplyCache(place_of(folder))
        cache.transact(lambda connection: connection.execute("DELETE FROM batches"))
        cache.close()
        with Client(settings(server), cache=place_of(folder)) as client:
            assert client.complete(requests(3)[0]).text
        report = advance(server, folder, requests(3))
        assert (report.submitted, report.problems) == (2, ())


@pytest.mark.parametrize("raw", [b"null", b"[]", b"[" * 100_000, b'{"id": 5, "status": 7}', b'"text"'])
def test_an_answer_of_another_form_loses_no_batch(folder, raw):
    asked = requests(2)
    with serving(BatchServer()) as server:
        server.before = lambda call: Fault(raw=raw) if call == "POST files" else None
        with pytest.raises(RequestError, match="gave an answer that"):
            advance(server, folder, asked)
        server.before = lambda call: None
        advance(server, folder, asked)
        server.before = lambda call: Fault(raw=raw) if call == "GET batches" else None
        with pytest.raises(RequestError, match="gave an answer that"):
            advance(server, folder, asked)
        server.before = lambda call: Fault(raw=raw) if call.startswith("DELETE") else None
        assert advance(server, folder, asked).collected == 2
    assert len(server.worked) == 2


def test_counts_of_another_form_count_nothing(folder):
    with serving(BatchServer()) as server:
        advance(server, folder, requests(1))
        raw = b'{"id": "batch_0", "status": "in_progress", "request_counts": "many"}'
        server.before = lambda call: Fault(raw=raw) if call == "GET batches" else None
        (waiting,) = advance(server, folder, requests(1)).waiting
        assert (waiting.done, waiting.total) == (0, 0)
