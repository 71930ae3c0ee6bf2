import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.auth import HEADERS, MOST_BODY, Access, Guard, TooLargeError
from apportion.viewer.serve import own_names
from tests.viewer.runs import ask

PATHS = ("", "session/s03", "static/style.css", "static/tokens.css", "nowhere", "?page=0")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_cookie_there_is_nothing(server, path):
    answer = ask(server, path, Cookie="")
    assert answer.status == 403 and "A token is needed" in answer.text
    assert "s03" not in answer.text and server.access.token not in answer.text


@pytest.mark.parametrize("token", ["wrong", "", "%00", "é", "a&token=b", "{}&token={}"])
def test_a_wrong_token_lets_nobody_in(server, token):
    answer = ask(
        server, f"?token={token.format(server.access.token, 'x')}".encode("ascii", "ignore").decode(), Cookie=""
    )
    assert answer.status == 403 and "Wrong token" in answer.text and "set-cookie" not in answer.headers


def test_a_wrong_token_with_the_cookie_is_refused_too(server):
    assert ask(server, "?token=wrong").status == 403


@pytest.mark.parametrize("cookie", ["{}=wrong", "{}=", "other={}", "{}", '{}="', ";;;=\x01", "{}=\xff"])
def test_a_wrong_cookie_lets_nobody_in(server, cookie):
    assert ask(server, Cookie=cookie.format(server.access.cookie)).status == 403


@pytest.mark.parametrize(
    "beside", ['theme={"a":1}', "x=hello world", "_ga[x]=1", "a@b=1", "foo", "=v", "{name}=of a viewer that has ended"]
)
def test_cookies_of_other_programs_on_this_machine_lock_nobody_out(server, beside):
    own = f"{server.access.cookie}={server.access.pass_}"
    other = beside.replace("{name}", server.access.cookie)
    assert ask(server, Cookie=f"{other}; {own}").status == ask(server, Cookie=f"{own}; {other}").status == 200
    assert ask(server, Cookie=other).status == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(server):
    answer = ask(server, f"session/s03?method=uniform&token={server.access.token}&t=2", Cookie="")
    assert answer.status == 200
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"{server.access.cookie}=\S+; HttpOnly; Path=/; SameSite=strict", cookie)
    assert server.access.token not in cookie and server.access.token not in answer.text
    assert 'content="0; url=?method=uniform&amp;t=2"' in answer.text
    assert ask(server, "session/s03", Cookie=cookie.split(";")[0]).status == 200


def test_what_a_query_holds_is_escaped_on_the_way_in(server):
    answer = ask(server, f"?q=%22%3E%3Cscript%3E&token={server.access.token}", Cookie="")
    assert "<script" not in answer.text and "url=?q=%22%3E%3Cscript%3E" in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1:x", "a@127.0.0.1", "10.0.0.1", "[", "127.0.0.1/"]
)
def test_another_host_is_not_served(server, host):
    answer = ask(server, f"?token={server.access.token}", Host=host)
    assert answer.status in (400, 421) and "set-cookie" not in answer.headers


def test_this_host_by_its_names(server):
    assert ask(server, Host=f"localhost:{server.access.port}").status == 200
    assert ask(server, Host="LOCALHOST").status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", ""])
def test_a_foreign_origin_or_a_form_of_another_page_changes_nothing(server, origin):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = ask(server, "", method, b"a=1", Origin=origin, Content_Type="application/x-www-form-urlencoded")
        assert answer.status == 403
    if origin:
        assert ask(server, "", Origin=origin).status == 403


def test_its_own_origin_gets_as_far_as_the_page(server):
    own = f"http://127.0.0.1:{server.access.port}"
    assert ask(server, "", "POST", b"a=1", Origin=own).status == 405
    assert ask(server, "", Origin=own).status == 200


def test_a_request_that_is_too_large_is_refused_before_it_is_read(server):
    own = f"http://127.0.0.1:{server.access.port}"
    answer = ask(server, "", "POST", None, Origin=own, Content_Length=str(10 * MOST_BODY))
    assert answer.status == 413
    assert ask(server, "", "POST", None, Origin=own, Content_Length="-1").status in (400, 413)


@pytest.mark.parametrize("path", [*PATHS, "?token=wrong"])
def test_every_answer_says_what_it_may_load(server, path):
    answer = ask(server, path)
    for name, value in HEADERS.items():
        assert answer.headers[name.lower()] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert "server" not in answer.headers or "uvicorn" in answer.headers["server"]


@pytest.mark.parametrize("path", ["", "?q=train", "session/s03", "session/none"])
def test_pages_have_nothing_inline(server, path):
    text = ask(server, path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", text)


def test_the_token_is_in_no_log_of_the_object():
    access = Access(frozenset({"localhost"}), 8000)
    assert access.token not in repr(access) and access.pass_ not in repr(access)
    assert len(access.token) > 40 and access.token != access.pass_ != Access(frozenset(), 1).pass_


@given(st.text(max_size=30))
def test_any_host_header_is_judged(host):
    access = Access(frozenset(own_names("127.0.0.1")), 8000)
    assert access.is_host(host) in (True, False)
    assert not access.is_host(f"{host}.example")


def test_another_machine_may_call_this_one_by_its_address_only_where_that_is_allowed():
    remote, local = (Access(frozenset({"localhost"}), 8000, remote=flag) for flag in (True, False))
    assert (
        remote.is_host("10.0.0.7:8000") and remote.is_host("[fe80::1]:8000") and not remote.is_host("rebound.example")
    )
    assert not local.is_host("10.0.0.7:8000")


async def _reads_all(scope, receive, send):
    read = 0
    while (message := await receive()).get("more_body"):
        read += len(message["body"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(read).encode()})


def test_a_body_that_says_nothing_of_its_size_is_read_up_to_the_limit():
    access = Access(frozenset({"localhost"}), 8000)
    headers = {"host": "localhost:8000", "origin": "http://localhost:8000", "cookie": f"apportion-8000={access.pass_}"}
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
    asked = 0

    async def receive():
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x" * 100_000, "more_body": True}

    async def send(message):
        raise AssertionError(message)

    with pytest.raises(TooLargeError):
        asyncio.run(Guard(_reads_all, access)(scope, receive, send))
    assert asked == MOST_BODY // 100_000 + 1


def test_there_is_nothing_to_talk_to_by_websocket():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(_reads_all, Access(frozenset(), 8000))({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
