import asyncio
import socket
import ssl
import struct
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import openai
import pytest

from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.body import Answer, library_of
from apportion.llm_client.transport.connection import Connection
from apportion.llm_client.transport.retry import helps, own_wait_s, told_wait_s
from tests.llm_client.openai_server import OpenAIServer, serving

httpx = library_of(openai.DefaultAsyncHttpxClient)
BODY = {"model": "m", "messages": [{"role": "user", "content": "héllo"}], "temperature": 0.0}


def post(url, body=BODY):
    """What comes back for ``body``."""

    async def go():
        posting = Connection(LLMSettings(base_url=url, model="m")).post()
        try:
            return await posting(body)
        finally:
            await posting.close()

    return asyncio.run(go())


def test_a_body_arrives_with_the_key_and_the_account_and_little_else(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.delenv("OPENAI_PROJECT_ID", raising=False)
    with serving(OpenAIServer()) as server:
        assert post(server.url).status_code == 200
        assert post(f"{server.url}/").status_code == 200
    assert server.requests == [BODY, BODY]
    headers = {name: server.headers[0][name] for name in server.headers[0] if name not in ("host", "content-length")}
    assert headers == {
        "authorization": "Bearer sk-1",
        "openai-organization": "org-1",
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "gzip, deflate",
        "user-agent": "apportion",
    }


def failure(posting, connection, tries=1):
    """What a person is told of what ``posting`` fails with."""

    async def go():
        try:
            await posting(BODY)
        except openai.APIConnectionError as error:
            return str(connection.failure(error, tries))
        finally:
            await posting.close()

    return asyncio.run(go())


def test_a_connection_that_is_reset_is_told_with_its_reason():
    def reset(server):
        accepted, _ = server.accept()
        accepted.recv(1)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # Closing sends a reset.
        accepted.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection(LLMSettings(base_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1", model="m"))
        thread = threading.Thread(target=reset, args=(server,))
        thread.start()
        told = failure(connection.post(), connection)
        thread.join()
    assert "broke off in the middle" in told and "Connection reset by peer" in told


@pytest.mark.parametrize("begun", [False, True])
def test_what_tls_says_after_its_handshake_is_a_broken_connection(begun):
    alert = ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required")

    class Broken(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"{"
            raise alert

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            if begun:
                return httpx.Response(200, stream=Broken())
            raise alert

    connection = Connection(LLMSettings(base_url="http://127.0.0.1:1/v1", model="m"))
    posting = connection.post()
    posting._transport = Transport()
    if begun:
        response = asyncio.run(posting(BODY))
        assert (
            "broke off after 1 bytes: " in Answer.of(response).flaw
            and "CERTIFICATE_REQUIRED" in Answer.of(response).flaw
        )
    else:
        assert "CERTIFICATE_REQUIRED" in failure(posting, connection)


def test_neither_a_number_that_json_has_not_nor_waiting_is_an_account_s():
    with pytest.raises(ValueError, match="not JSON compliant"):
        post("http://localhost:1/v1", {"temperature": float("nan")})
    assert not helps(429, "insufficient_quota", {})


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_tried_again(status):
    assert helps(status, None, {})
    assert not helps(status, None, {"x-should-retry": "false"})


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422])
def test_what_stays_is_not(status):
    assert not helps(status, None, {})
    assert helps(status, None, {"x-should-retry": "true"})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct 2015 07:28:00 +{'9' * 20}"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00"}, 0.0),
    ],
)
def test_the_servers_word_is_read(headers, seconds):
    assert told_wait_s(headers) == seconds


def test_without_a_word_waits_double_up_to_a_bound_and_a_date_is_waited_for():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < told_wait_s({"retry-after": date}) <= 100
    assert [0.75 * wait <= own_wait_s(n) <= wait for n, wait in ((1, 0.5), (2, 1.0), (3, 2.0), (9, 8.0), (999, 8.0))]
    assert own_wait_s(10**6) <= 8
