"""Answers that are no chat completion: told, asked again as after a 500, and kept as they came."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.errors import ContextLengthError, RequestError, SetupError
from apportion.llm_client.request import REASONING, ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.transport.body import Answer
from apportion.llm_client.transport.completion import NoCompletionError, ToldError, read_answer, read_completion
from tests.llm_client.at_once import answer, client, request
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

WHOLE = json.dumps(completion("reply to 0")).encode()
CANARY = "sk-canary-0123456789abcdef"
pytestmark = pytest.mark.usefixtures("no_pause")
GZIP, DEFLATE, BROTLI = ((("Content-Encoding", name),) for name in ("gzip", "deflate", "br"))


NO_COMPLETIONS = {
    "error": (Fault(raw=b'{"error": {"message": "the GPU is on fire"}}'), "the server says: the GPU is on fire"),
    "error in words": (Fault(raw=b'{"error": "the GPU is on fire"}'), "the server says: the GPU is on fire"),
    "error beside choices": (
        Fault(raw=b'{"error": {"message": "fire"}, "choices": [{"message": {"content": null}}]}'),
        "it has no text .the server says: fire",
    ),
    "page": (
        Fault(raw=b"<html><body>502 Bad Gateway</body></html>"),
        "it is no JSON .*begins with '<html><body>502 Bad",
    ),
    "UTF-8": (Fault(raw=WHOLE.replace(b"reply", b"\xff\xfe")), "it is no JSON .*invalid start byte"),
    "empty": (Fault(raw=b""), r"it is empty \(status 200\)"),
    "204": (Fault(raw=b"", raw_status=204), r"it is empty \(status 204\)"),
    "no choices": (Fault(raw=b'{"choices": []}'), "no usable choice"),
    "no message": (Fault(raw=b'{"choices": [{"index": 0}]}'), "no usable choice"),
    "null": (Fault(raw=b"null"), "no usable choice"),
    "list": (Fault(raw=b"[]"), "no usable choice"),
    "deep": (Fault(raw=b"[" * 100_000), "nested too deeply"),
    "digits": (Fault(raw=b'{"choices": ' + b"9" * 5000 + b"}"), "it is no JSON"),
    "truncated": (Fault(raw=WHOLE[:-30]), "it is no JSON"),
    "too long a length": (Fault(raw=WHOLE, way="cut"), "the connection broke off after 142 bytes"),
    "too short a length": (Fault(raw=WHOLE, way="short"), "it is no JSON"),
    "chunks": (Fault(raw=WHOLE, way="chunks"), "the connection broke off after 142 bytes"),
    "encoding": (Fault(raw=WHOLE, headers=BROTLI), "its compression cannot be read: it is 'br'"),
    "no gzip": (Fault(raw=WHOLE, headers=GZIP), "its compression cannot be read: .*incorrect header"),
}


@pytest.mark.parametrize("name", ["page", "204", "too short a length", "chunks"])
def test_an_answer_that_is_no_completion_is_asked_again_as_after_a_500(name):
    server = OpenAIServer(faults=[NO_COMPLETIONS[name][0]] * 3)
    assert answer(server, max_retries=5).text == "reply to 0"
    # The bytes that were not promised may spoil the connection for one more.
    assert 4 <= len(server.requests) <= 6


@pytest.mark.parametrize(("fault", "words"), NO_COMPLETIONS.values(), ids=NO_COMPLETIONS)
def test_where_it_stays_so_the_words_say_what_came_and_the_evidence_has_it(fault, words):
    server = OpenAIServer(faults=[fault] * 2)
    with pytest.raises(RequestError, match=f"127.0.0.1 gave an answer that is no chat completion: .*{words}") as caught:
        answer(server)
    (kept,) = json.loads(caught.value.evidence)
    assert kept["status"] == fault.raw_status and kept["mistake"] in str(caught.value)
    came = {"cut": WHOLE[:142], "chunks": WHOLE[:142], "short": WHOLE[:142]}.get(fault.way, fault.raw)
    if not fault.headers:
        assert kept["body"] == came.decode(errors="replace")[: 64 * 1024]


def test_evidence_is_cut_at_64_kib_and_never_has_the_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    body = "x" * (64 * 1024 - 10) + CANARY + "y" * 100
    server = OpenAIServer(faults=[Fault(raw=f"{CANARY} {body}".encode()), Fault(500, f"for {CANARY}")])
    server.faults.append(Fault(raw=CANARY.encode(), way="cut"))
    with serving(server), client(server.url) as asking:
        for _ in range(3):
            with pytest.raises(RequestError) as caught:
                asking.complete(request())
            (kept,) = json.loads(caught.value.evidence)
            assert CANARY[:10] not in caught.value.evidence + str(caught.value)
            assert len(kept["body"]) <= 64 * 1024 and ("[key]" in kept["body"] or not kept["body"])


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"code": "invalid_api_key", "message": "no"}, SetupError, "answered 401: no .told with status 200.*the key"),
        ({"code": 404, "message": "no m"}, SetupError, "answered 404: no m .*Check model"),
        ({"code": "model_not_found", "message": "no m"}, SetupError, "Check model"),
        ({"code": "context_length_exceeded", "message": "long"}, ContextLengthError, "long .*does not fit"),
        ({"code": None, "type": "invalid_request_error", "message": "no"}, RequestError, "refused the request: no"),
        ({"code": "insufficient_quota", "message": "broke"}, SetupError, "needs credit"),
    ],
)
def test_an_error_under_200_that_will_not_pass_is_told_as_its_code_says_and_not_asked_again(error, kind, words):
    server = OpenAIServer(faults=[Fault(raw=json.dumps({"error": error}).encode())])
    with serving(server), client(server.url, max_retries=5) as asking, pytest.raises(kind, match=words):
        asking.complete(request())
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [429, "503", "rate_limit_exceeded"])
def test_an_error_under_200_that_may_pass_is_asked_again(code):
    fault = Fault(raw=json.dumps({"object": "error", "code": code, "message": "busy"}).encode())
    server = OpenAIServer(faults=[fault] * 2)
    assert answer(server, max_retries=2).text == "reply to 0"
    assert len(server.requests) == 3


def test_an_option_that_is_refused_under_200_is_left_out():
    def refuse(body):
        error = {"code": 400, "message": "max_tokens: use max_completion_tokens"}
        return Fault(raw=json.dumps({"error": error}).encode()) if "max_tokens" in body else None

    server = OpenAIServer(refuse=refuse)
    asked = ChatRequest("m", (ChatMessage("user", "0"),), max_tokens=9)
    with serving(server), client(server.url) as asking:
        assert asking.complete(asked).text == "reply to 0"


@pytest.mark.parametrize("wbits", [31, 15, -15], ids=["gzip", "deflate", "bare deflate"])
def test_compressed_answers_are_read(wbits):
    packer = zlib.compressobj(wbits=wbits)
    raw = packer.compress(WHOLE) + packer.flush()
    server = OpenAIServer(faults=[Fault(raw=raw, headers=GZIP if wbits == 31 else DEFLATE)])
    assert answer(server).text == "reply to 0"
    assert server.headers[0]["accept-encoding"] == "gzip, deflate"


def test_odd_bytes_of_a_whole_answer_are_read():
    server = OpenAIServer(faults=[Fault(raw=b"\xef\xbb\xbf" + WHOLE)])
    assert answer(server).text == "reply to 0"
    raw = WHOLE.replace(b"served-model", b"\\ud800").replace(b'"stop"', b'"\\udc00"')
    reply = read_answer(Answer(200, raw))
    assert (reply.model, reply.finish_reason) == ("\ufffd", "\ufffd")
    assert read_completion(json.loads(raw)) == reply


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["choices", "error", "usage", "model", "object", "code"]), json_values, json_values)
def test_any_document_is_a_reply_or_told(name, value, message):
    document = completion("text") | {name: value} | {"choices": [{"message": message}]}
    for values in (value, {name: value}, completion("text") | {name: value}, document):
        try:
            reply = read_answer(Answer(200, json.dumps(values).encode()))
        except ToldError as told:
            assert 400 <= told.status <= 599
        except NoCompletionError:
            continue
        else:
            assert ChatReply.from_json(reply.to_json()) == reply


@given(st.binary(max_size=200))
def test_any_bytes_are_a_reply_or_told(body):
    for raw in (body, WHOLE[:50] + body, WHOLE.replace(b"reply to 0", body)):
        try:
            read_answer(Answer(200, raw))
        except NoCompletionError as mistake:
            assert mistake.answer.body == raw


@pytest.mark.parametrize(
    ("message", "text", "ended"),
    [
        ({"content": [{"type": "text", "text": "4"}, {"type": "output_text", "text": "2"}]}, "42", "stop"),
        ({"content": ["4", "2"]}, "42", "stop"),
        ({"content": [{"type": "thinking", "text": "is it 7?"}, {"type": "text", "text": "42"}]}, "42", "stop"),
        ({"content": [{"type": "image_url", "image_url": {}}, 3]}, "", "stop"),
        ({"content": None, "reasoning_content": '{"a": 1}\n'}, "", REASONING),
        ({"content": "", "reasoning": "```json\n[1]\n```"}, "", REASONING),
        ({"content": "", "reasoning_content": "I wonder"}, "", "stop"),
        ({"content": "42", "reasoning_content": "{}"}, "42", "stop"),
    ],
)
def test_parts_are_joined_and_an_answer_among_the_reasoning_is_told(message, text, ended):
    reply = read_completion({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.text, reply.finish_reason) == (text, ended)
