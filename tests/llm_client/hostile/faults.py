"""What strangers' servers, proxies and networks do, each with the outcome that a person may expect."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import Any, Literal

from tests.llm_client.hostile.server import Answer, Answering, Ask, Meter, good, head, http, saying
from tests.llm_client.openai_server import completion

SESSIONS = 6
Outcome = Literal["recovered", "quarantined with evidence", "stopped with advice"]
RECOVERED: Outcome = "recovered"
QUARANTINED: Outcome = "quarantined with evidence"
STOPPED: Outcome = "stopped with advice"
_MIB = 1 << 20


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, and what a run has to make of it."""

    name: str
    outcome: Outcome
    makes: Callable[[], Answering] = lambda: good
    patient: int = SESSIONS  # Sessions that a person with patience would get in the one run.
    told: str = ""  # Part of the run's output, or of a quarantined session's cause or evidence.
    settings: str = ""  # Lines of TOML in [decompose.llm].
    environment: tuple[tuple[str, str], ...] = ()  # {url} is the server's address.
    # "tls": a certificate that nobody signed; "absent": nobody listens; "dies" after two answers; "away" for 4 s after
    # two answers; "proxy": something else is at the address that is asked.
    kind: Literal["http", "tls", "absent", "dies", "away", "proxy"] = "http"
    run: tuple[str, ...] = ()
    # Sessions that the same command gets once the server is well: a reply that could not be used was paid for and is
    # kept, so that it is not asked for again.
    after: int = SESSIONS


def first(bad: Answer | Callable[[], Answer], times: int = 1) -> Callable[[], Answering]:
    """Each dialogue gets ``bad`` so many times, then a good answer."""

    def answer(ask: Ask) -> Answer:
        if ask.once_more > times:
            return good(ask)
        return bad if isinstance(bad, Answer) else bad()

    return lambda: answer


def one(bad: Answer | Callable[[], Answer]) -> Callable[[], Answering]:
    """Dialogue 0 never gets anything else; the others are answered well."""

    def answer(ask: Ask) -> Answer:
        if ask.dialogue != 0:
            return good(ask)
        return bad if isinstance(bad, Answer) else bad()

    return lambda: answer


def always(bad: Answer) -> Callable[[], Answering]:
    """Nothing else, whoever asks."""
    return lambda: lambda ask: bad


def rewritten(change: Callable[[str], str]) -> Callable[[], Answering]:
    """A good reply, said in another way."""
    return lambda: lambda ask: saying(change(ask.usable()))


def error(status: int, message: str, code: str | None = None, *headers: tuple[str, str]) -> Answer:
    """An error as the OpenAI protocol has it."""
    return http(status, {"error": {"message": message, "code": code, "type": "fault", "param": None}}, headers)


def limited(per_s: float, *headers: tuple[str, str]) -> Callable[[], Answering]:
    """A server with a limit of requests a second, counting those that it refuses as nothing."""

    def make() -> Answering:
        meter = Meter(per_s)
        return lambda ask: good(ask) if meter.lets_through() else error(429, "slow down", None, *headers)

    return make


def punishing() -> Answering:
    """A limit of two at once; whoever passes it is refused for two seconds more."""
    meter = Meter(0.5, burst=4)

    def answer(ask: Ask) -> Answer:
        if ask.open_at_once > 2 or not meter.lets_through():
            return error(429, "too many at once", None, ("Retry-After", "2"))
        return good(ask)

    return answer


def dated_wait() -> Answer:
    """Come back at a time of day, two seconds from now."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    return error(429, "slow down", None, ("Retry-After", date))


def refusing(option: str, words: str) -> Callable[[], Answering]:
    """A server that does not know one option of the protocol."""
    return lambda: lambda ask: error(400, words) if option in ask.body else good(ask)


@cache
def bomb() -> Answer:
    """300 MiB of text in 300 KB of gzip."""
    raw = json.dumps(completion("x")).encode().replace(b'"x"', b'"' + b"x" * (300 * _MIB) + b'"')
    packed = gzip.compress(raw, 9)
    return Answer([head(200, ("Content-Length", str(len(packed))), ("Content-Encoding", "gzip")), packed])


def long_reply() -> Answer:
    """A completion of 30 MiB, which ends only when it is cut off."""
    return saying("word " * (6 * _MIB))


def endless() -> Iterator[bytes | float]:
    """A body without an end, a mebibyte at a time."""
    yield head(200, ("Transfer-Encoding", "chunked"))
    for _ in range(2000):
        yield b"100000\r\n" + b" " * _MIB + b"\r\n"


def trickling() -> Iterator[bytes | float]:
    """A byte now and then, which is no progress."""
    yield head(200, ("Content-Length", "100000"))
    for _ in range(1000):
        yield b" "
        yield 0.1


def endless_head() -> Iterator[bytes | float]:
    """Headers without an end."""
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(200_000):
        yield f"X-{number}: {'y' * 1000}\r\n".encode()


def _without_choices(**changes: Any) -> Answer:
    return http(200, {**completion("x"), **changes})


def _unseen_usage(usage: object) -> Callable[[], Answering]:
    return lambda: lambda ask: saying(ask.usable(), usage=usage)


def _changing_model(ask: Ask) -> Answer:
    return saying(ask.usable(), model="weights-a" if ask.number <= 3 else "weights-b")


_HTML = b"<!DOCTYPE html><html><body><h1>Sign in to the hotel's network</h1></body></html>"
_WHOLE = json.dumps(completion("x")).encode()

# fmt: off
OVERLOAD = (
    Fault("1 request a second, 429 with Retry-After: 1", RECOVERED, limited(1.0, ("Retry-After", "1"))),
    Fault("1 request a second, 429 without a word", RECOVERED, limited(1.0)),
    Fault("2 at once, 429 with Retry-After: 2", RECOVERED, lambda: punishing()),
    Fault("429 with a date", RECOVERED, first(dated_wait)),
    Fault("429 with Retry-After-Ms", RECOVERED, first(error(429, "x", None, ("Retry-After-Ms", "300")), 3)),
    Fault("429 with a senseless Retry-After", RECOVERED, first(error(429, "x", None, ("Retry-After", "soon")))),
    Fault("429 ten times", RECOVERED, first(error(429, "x", None, ("Retry-After", "0")), 10)),
    Fault("429, come back in an hour", STOPPED, always(error(429, "later", None, ("Retry-After", "3600"))), 0, "3600"),
    Fault("429 without end", STOPPED, always(error(429, "never")), 0, "takes no requests", "total_timeout_s = 5"),
    Fault(
        "429, no money left",
        STOPPED, always(error(429, "no money", "insufficient_quota")), 0, "The account needs credit",
    ),
    Fault("500 three times", RECOVERED, first(error(500, "x"), 3)),
    Fault("502 with a page of HTML", RECOVERED, first(http(502, _HTML, [("Content-Type", "text/html")]))),
    Fault("503 with Retry-After", RECOVERED, first(error(503, "x", None, ("Retry-After", "1")))),
    Fault("529 (overloaded)", RECOVERED, first(error(529, "overloaded"))),
    Fault("408", RECOVERED, first(error(408, "x"))),
    Fault("409", RECOVERED, first(error(409, "x"))),
    Fault("500 for one session, always", QUARANTINED, one(error(500, "a bug")), 5, "500: a bug", "max_retries = 2"),
)

REFUSALS = (
    Fault("401", STOPPED, always(error(401, "bad key")), 0, "Check the key in the environment variable"),
    Fault("403", STOPPED, always(error(403, "not you")), 0, "Check the key in the environment variable"),
    Fault("404 (no such model)", STOPPED, always(error(404, "no such model")), 0, "Check model ="),
    Fault("400 for one session (a content filter)", QUARANTINED, one(error(400, "filtered")), 5, "filtered"),
    Fault(
        "400 for one session (too long)", QUARANTINED, one(error(400, "x", "context_length_exceeded")), 5,
        "context_tokens",
    ),
    Fault("no response_format", RECOVERED, refusing("response_format", "response_format is not supported")),
    Fault("no temperature", RECOVERED, refusing("temperature", "temperature does not apply to this model")),
    Fault("no max_tokens", RECOVERED, refusing("max_tokens", "use max_completion_tokens"), settings="max_tokens = 400"),
    Fault(
        "307 to another host", STOPPED,
        always(http(307, b"", [("Location", "http://elsewhere.example/v1/chat/completions")])), 0, "Check base_url",
    ),
)

NO_COMPLETION = tuple(
    fault
    for name, bad, told in (
        ("200 with an error", http(200, {"error": {"message": "the worker died", "code": 500}}), "the worker died"),
        ("200 with a page of HTML", http(200, _HTML, [("Content-Type", "text/html")]), "Sign in to the hotel"),
        ("200 that is no UTF-8", http(200, b"\xff\xfe{}\x80"), "�"),
        ("200 without choices", _without_choices(choices=[]), "choices"),
        ("200 without a message", _without_choices(choices=[{"index": 0}]), "choices"),
        ("200 with null", http(200, b"null"), "null"),
        ("200, empty", http(200, b""), "no chat completion"),
        ("200 with half a document", http(200, _WHOLE[: len(_WHOLE) // 2]), "chat.completion"),
        ("200, nested without end", http(200, b"[" * 100_000), "[[["),
        ("204", Answer([b"HTTP/1.1 204 No Content\r\n\r\n"]), "no chat completion"),
    )
    for fault in (
        Fault(f"{name}, once", RECOVERED, first(bad)),
        Fault(f"{name}, always for one session", QUARANTINED, one(bad), 5, told, "max_retries = 2"),
    )
)

NETWORK = (
    Fault("closes before it answers", RECOVERED, first(Answer(ends=True))),
    Fault("closes in the head", RECOVERED, first(Answer([b"HTTP/1.1 200 O"], ends=True))),
    Fault("closes in the body", RECOVERED, first(Answer([head(200, ("Content-Length", "900")), b'{"id'], ends=True))),
    Fault("no HTTP at all", RECOVERED, first(Answer([b"220 mail.example ESMTP\r\n"], ends=True))),
    Fault("tells a shorter length", RECOVERED, first(Answer([head(200, ("Content-Length", "5")), _WHOLE], ends=True))),
    Fault(
        "stops in the body", RECOVERED, first(Answer([head(200, ("Content-Length", "900")), b'{"id', 60.0])),
        settings="timeout_s = 1",
    ),
    Fault("a byte now and then", RECOVERED, first(lambda: Answer(trickling(), True)), settings="timeout_s = 1"),
    Fault("headers without end", RECOVERED, first(lambda: Answer(endless_head(), True)), settings="timeout_s = 5"),
    Fault("nobody listens", STOPPED, patient=0, kind="absent", told="no connection"),
    Fault(
        "dies after two answers", STOPPED, patient=2, kind="dies", told="no connection",
        settings="concurrency = 1\nmax_retries = 1",
    ),
    Fault("is away for 4 s after two answers", RECOVERED, kind="away", settings="concurrency = 1"),
    Fault("a certificate that nobody signed", STOPPED, patient=0, kind="tls", told="certificate"),
    Fault(
        "a proxy in the environment", STOPPED, patient=0, kind="proxy", told="proxy =",
        environment=(("HTTP_PROXY", "{url}"), ("http_proxy", "{url}")),
    ),
)

SIZES = (
    Fault("300 MiB in a gzip bomb, once", RECOVERED, first(bomb)),
    Fault("300 MiB in a gzip bomb, always for one session", QUARANTINED, one(bomb), 5, "max_reply_bytes"),
    Fault("a reply of 30 MiB for one session", QUARANTINED, one(long_reply), 5, "max_reply_bytes"),
    Fault(
        "a body without end for one session", QUARANTINED, one(lambda: Answer(endless(), True)), 5, "max_reply_bytes",
    ),
    Fault(
        "a bad reply of 900 KB for one session", QUARANTINED, one(saying("word " * 180_000)), 5, "word word", after=5,
    ),
)

REPLIES = (
    Fault("prose, once", RECOVERED, first(saying("I would rather tell a story."))),
    Fault(
        "prose for one session", QUARANTINED, one(saying("I would rather tell a story.")), 5, "tell a story", after=5,
    ),
    Fault("an empty reply, once", RECOVERED, first(saying(""))),
    Fault("<think> before the JSON", RECOVERED, rewritten(lambda text: f"<think>Hm {{1}}.</think>\n{text}")),
    Fault("a BOM before the JSON", RECOVERED, rewritten(lambda text: "\ufeff" + text)),
    Fault("a fence around the JSON", RECOVERED, rewritten(lambda text: f"```json\n{text}\n```")),
    Fault('turns as text ("1")', RECOVERED, rewritten(lambda text: text.replace('"turn": 1,', '"turn": "1",'))),
    Fault("turns as 1.0", RECOVERED, rewritten(lambda text: text.replace('"turn": 1,', '"turn": 1.0,'))),
    Fault("a number of 5,000 digits, once", RECOVERED, first(saying('{"turns": [{"turn": ' + "9" * 5000 + "}]}"))),
    Fault("NaN and 1e999, once", RECOVERED, first(saying('{"turns": [{"turn": 1, "value": 1e999}, NaN]}'))),
    Fault("nested without end, once", RECOVERED, first(saying('{"turns": ' + "[" * 100_000))),
    Fault("usage that is no number", RECOVERED, _unseen_usage({"prompt_tokens": "many", "completion_tokens": -3})),
    Fault("no usage", RECOVERED, _unseen_usage(None)),
    Fault("another model under one name", RECOVERED, lambda: _changing_model, told="weights-b"),
    Fault(
        "counts more tokens than were allowed, past the budget", STOPPED,
        _unseen_usage({"prompt_tokens": 10, "completion_tokens": 10**6}), 1, "exceeded",
        "max_tokens = 400\nconcurrency = 1", run=("--budget", "0.05"),
    ),
)
# fmt: on

FAULTS = (*OVERLOAD, *REFUSALS, *NO_COMPLETION, *NETWORK, *SIZES, *REPLIES)
