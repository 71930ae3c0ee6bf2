"""The way to a server: no proxy that the settings do not name, and the one that they name."""

import base64
import logging
import ssl
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import ValidationError

from apportion.llm_client.client import Client
from apportion.llm_client.errors import ConsentError, RequestError, RouteError, SetupError
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.connection import Connection, _warn_of_plain_http
from apportion.llm_client.transport.consent import check_access, readers, who_reads
from apportion.llm_client.transport.proxy import proxy_address, require_named_route, tls_context
from tests.llm_client.certificates import certificate, server_context
from tests.llm_client.openai_server import Fault, OpenAIServer, serving
from tests.llm_client.proxy import Proxy, proxying

KEY = "sk-canary-0123456789abcdef"
REQUEST = ChatRequest("m", (ChatMessage("user", "hello"),), subject="session s1")
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in (*VARIABLES, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _warn_of_plain_http.cache_clear()
    return monkeypatch


def elsewhere(server, **options):
    """The settings for ``server`` by an address of this machine that counts as another machine's."""
    url = server.url.replace("127.0.0.1", "0.0.0.0")
    return LLMSettings(**{"base_url": url, "model": "m", "max_retries": 0, "allow_host": "0.0.0.0", **options})


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_sees_nothing_and_is_named_with_what_to_do(environment, variable):
    with proxying(Proxy()) as proxy, serving(OpenAIServer()) as server:
        environment.setenv(variable, proxy.url.replace("http://", "http://me:secret@"))
        with pytest.raises(RouteError) as caught:
            Client(elsewhere(server))
    assert (proxy.seen, server.requests) == ([], [])
    told = str(caught.value)
    assert told.startswith(f"the environment variable {variable} names the proxy {proxy.url} for 0.0.0.0")
    assert (
        f"Set proxy = {proxy.url!r} to use it, and proxy_auth_env for" in told
        and "proxy = 'direct' to go straight" in told
    )
    assert "secret" not in told


def test_a_proxy_for_https_does_not_concern_http(environment):
    environment.setenv("HTTPS_PROXY", "proxy.example:3128")
    require_named_route(LLMSettings(base_url="http://server.example/v1"))
    with pytest.raises(RouteError, match=r"HTTPS_PROXY names the proxy http://proxy\.example:3128 for server\.example"):
        require_named_route(LLMSettings(base_url="https://server.example/v1"))


@pytest.mark.parametrize(
    "excepted", ["server.example", ".example", "*", "other, server.example:8000", "10.0.0.0/8", "10.1.2.3"]
)
def test_what_the_environment_excepts_goes_straight(environment, excepted):
    environment.setenv("ALL_PROXY", "http://proxy.example:3128")
    environment.setenv("NO_PROXY", excepted)
    host = "10.1.2.3" if excepted.startswith("10.") else "server.example"
    require_named_route(LLMSettings(base_url=f"http://{host}:8000/v1"))
    with pytest.raises(RouteError) if excepted != "*" else pytest.MonkeyPatch.context():
        require_named_route(LLMSettings(base_url="http://192.168.0.1/v1"))


def test_an_address_of_a_proxy_that_cannot_be_read_is_told_without_what_is_in_it(environment):
    environment.setenv("HTTP_PROXY", "http://me:secret@[::1")
    with pytest.raises(RouteError, match="an address that cannot be read") as caught:
        require_named_route(LLMSettings(base_url="http://server.example/v1"))
    assert "secret" not in str(caught.value)


def test_straight_is_a_way_that_can_be_named(environment):
    with proxying(Proxy()) as proxy, serving(OpenAIServer()) as server:
        environment.setenv("HTTP_PROXY", proxy.url)
        with Client(elsewhere(server, proxy="direct")) as client:
            assert client.complete(REQUEST).text == "reply to hello"
    assert (len(server.requests), proxy.seen) == (1, [])


def test_a_proxy_that_is_named_carries_every_request_and_reads_plain_http(environment):
    with proxying(Proxy()) as proxy, serving(OpenAIServer()) as server:
        settings = elsewhere(server, proxy=proxy.url, concurrency=4)
        with Client(settings) as client, ThreadPoolExecutor(4) as pool:
            requests = [ChatRequest("m", (ChatMessage("user", str(n)),)) for n in range(8)]
            assert [reply.text for reply in pool.map(client.complete, requests)] == [f"reply to {n}" for n in range(8)]
        with Connection(settings).blocking() as sdk:  # What batches are handed in by.
            sdk.post("/chat/completions", body={"messages": [{"content": "9"}]}, cast_to=object)
    assert proxy.seen == [f"POST {settings.url}/chat/completions"] * 9
    assert len(proxy.texts) == 9


def test_by_https_a_proxy_sees_the_host_alone(environment, tmp_path):
    path = certificate(tmp_path, "IP:0.0.0.0")
    environment.setenv("SSL_CERT_FILE", str(path))
    with (
        proxying(Proxy()) as proxy,
        serving(OpenAIServer(), tls=server_context(path)) as server,
        Client(elsewhere(server, proxy=proxy.url)) as client,
    ):
        assert client.complete(REQUEST).text == "reply to hello"
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    assert (proxy.seen, proxy.texts) == ([f"CONNECT 0.0.0.0:{port}"], [])


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (403, SetupError, "the proxy PROXY opens no way to s.example: 403 Forbidden. Check proxy and base_url"),
        (407, SetupError, "the proxy PROXY wants a login .407.. Put USER:PASSWORD into an environment variable"),
        (502, SetupError, "no connection to https://s.example/v1 through PROXY in 2 tries: 502 Bad Gateway"),
    ],
)
def test_a_proxy_that_opens_no_tunnel_is_told(environment, no_pause, answer, kind, words):
    with proxying(Proxy(answer=answer)) as proxy:
        settings = LLMSettings(base_url="https://s.example/v1", allow_host="s.example", proxy=proxy.url, max_retries=1)
        with Client(settings) as client, pytest.raises(kind, match=words.replace("PROXY", proxy.url)):
            client.complete(REQUEST)
    assert len(proxy.seen) == (2 if answer == 502 else 1)


@pytest.mark.parametrize("login", ["me:se cret/@:", None])
def test_a_login_comes_from_the_environment_and_is_shown_nowhere(environment, login, caplog):
    caplog.set_level(logging.DEBUG)
    if login is not None:
        environment.setenv("PROXY_LOGIN", login)
    with proxying(Proxy(login="me:se cret/@:")) as proxy, serving(OpenAIServer()) as server:
        settings = elsewhere(server, proxy=proxy.url, proxy_auth_env="PROXY_LOGIN" if login else None)
        with Client(settings) as client:
            if login is None:
                with pytest.raises(SetupError, match=f"the proxy {proxy.url} wants a login .407.*proxy_auth_env"):
                    client.complete(REQUEST)
            else:
                assert client.complete(REQUEST).text == "reply to hello"
    assert "cret" not in caplog.text + repr(settings) + str(settings.model_dump())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_login_that_is_not_taken_is_told_as_that(environment, scheme):
    environment.setenv("PROXY_LOGIN", "me:wrong")
    with proxying(Proxy(login="me:right")) as proxy:
        settings = LLMSettings(
            base_url=f"{scheme}://s.example/v1", allow_host="s.example", proxy=proxy.url, proxy_auth_env="PROXY_LOGIN"
        )
        words = f"the proxy {proxy.url} does not take the login .407.*environment variable PROXY_LOGIN"
        with Client(settings) as client, pytest.raises(SetupError, match=words) as caught:
            client.complete(REQUEST)
    assert "wrong" not in str(caught.value)


def test_a_proxy_that_says_its_login_again_puts_it_into_no_message_and_no_evidence(environment):
    environment.setenv("PROXY_LOGIN", "me:se cret/@:")
    sent = base64.b64encode(b"me:se cret/@:").decode()
    fault = Fault(500, f"you said Basic {sent}")
    with proxying(Proxy()) as proxy, serving(OpenAIServer(faults=[fault])) as server:
        settings = elsewhere(server, proxy=proxy.url, proxy_auth_env="PROXY_LOGIN")
        with Client(settings) as client, pytest.raises(RequestError, match=r"you said Basic \[login\]") as caught:
            client.complete(REQUEST)
    assert sent not in str(caught.value.evidence) and "[login]" in str(caught.value.evidence)


def test_a_login_or_package_that_is_not_there_is_told(environment):
    environment.setenv("PROXY_LOGIN", "no-colon")
    settings = LLMSettings(base_url="http://s.example/v1", proxy="http://p:1", proxy_auth_env="PROXY_LOGIN")
    with pytest.raises(SetupError, match="variable PROXY_LOGIN does not hold USER:PASSWORD") as caught:
        proxy_address(settings)
    assert "no-colon" not in str(caught.value)
    environment.setattr("apportion.llm_client.transport.proxy.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="needs the package socksio, which is not installed"):
        require_named_route(LLMSettings(base_url="http://s.example/v1", proxy="socks5://p:1"))


@pytest.mark.parametrize(
    "proxy", ["proxy:3128", "ftp://p", "http://", "http://p/path", "http://p?q", "http://p:x", "none"]
)
def test_a_via_that_is_no_proxy_is_refused(proxy):
    with pytest.raises(ValidationError, match="give a proxy such as http://proxy:3128"):
        LLMSettings(proxy=proxy)


def test_a_via_holds_no_secret():
    with pytest.raises(ValidationError, match="proxy_auth_env names where they are"):
        LLMSettings(proxy="http://me:secret@proxy:3128")


def test_a_proxy_elsewhere_to_a_server_here_needs_consent_and_one_here_does_not(environment):
    away = LLMSettings(base_url="http://localhost:1/v1", proxy="http://proxy.example:3128")
    with pytest.raises(ConsentError, match=r"through the proxy proxy\.example.*set allow_host = 'proxy\.example'"):
        check_access(away)
    check_access(away.model_copy(update={"allow_host": "proxy.example"}))
    check_access(away.model_copy(update={"proxy": "http://localhost:3128"}))


@pytest.mark.parametrize(
    ("url", "proxy", "hosts", "words"),
    [
        ("https://s.example/v1", None, ("s.example",), "s.example"),
        ("https://s.example/v1", "direct", ("s.example",), "s.example"),
        ("https://s.example/v1", "http://p.example:1", ("s.example",), "neither text nor key"),
        ("http://s.example/v1", "https://p.example", ("s.example", "p.example"), "both read text and key"),
        ("http://s.example/v1", "http://localhost:1", ("s.example",), "through the proxy localhost"),
        ("https://localhost/v1", "http://p.example:1", ("p.example",), "p.example"),
        ("http://localhost/v1", None, (), "localhost"),
    ],
)
def test_who_can_read_the_text_is_told_exactly(url, proxy, hosts, words):
    settings = LLMSettings(base_url=url, proxy=proxy)
    assert readers(settings) == hosts and words in who_reads(settings)


def test_plain_http_to_another_machine_is_warned_of_once(environment, caplog):
    for _ in range(3):
        Connection(LLMSettings(base_url="http://s.example/v1", allow_host="s.example"))
    Connection(LLMSettings(base_url="http://localhost:1/v1"))
    Connection(LLMSettings(base_url="https://s.example/v1", allow_host="s.example"))
    assert [record.message.split(" is plain http")[0] for record in caplog.records] == ["http://s.example/v1"]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_told(environment, tmp_path, content):
    path = tmp_path / "ca.pem"
    if content:
        path.write_text(content)
    environment.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(SetupError, match=r"trusted certificates cannot be read \(.*SSL_CERT_FILE = "):
        tls_context(LLMSettings())


def test_where_all_is_plain_nothing_is_read_from_the_disk_and_nobody_is_trusted(environment, tmp_path):
    environment.setenv("SSL_CERT_FILE", str(tmp_path / "missing"))
    context = tls_context(LLMSettings(base_url="http://localhost/v1"))
    assert (context.verify_mode, context.get_ca_certs()) == (ssl.CERT_REQUIRED, [])
