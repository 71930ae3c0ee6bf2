import json
import socket
import threading
from contextlib import contextmanager

import pytest

from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import Fault, OpenAIServer, serving
from tests.pipeline.llm_run import good

KEY = "sk-canary-0123456789"
TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "llm"
[decompose.llm]
base_url = "http://0.0.0.0:{}/v1"
model = "m"
max_retries = 0
"""


@contextmanager
def counting():
    """A socket on all addresses of this machine that counts who connects; gives its port and the list of callers."""
    callers: list[object] = []
    with socket.create_server(("0.0.0.0", 0)) as listener:

        def accept():
            while True:
                try:
                    connection, caller = listener.accept()
                except OSError:
                    return
                callers.append(caller)
                connection.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1], callers
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=5)


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=5)
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(port, *options, command=("run", "--only", "decompose"), key=KEY, text=TEXT):
        return in_process(
            monkeypatch,
            *command,
            config(folder, text.format(port)),
            *options,
            **({"OPENAI_API_KEY": key} if key else {}),
        )

    return run


@pytest.mark.parametrize("command", [("run", "--only", "decompose"), ("run",), ("run", "--only", "audit")])
@pytest.mark.parametrize("options", [(), ("--allow-host", "example.com")])
def test_without_consent_for_this_host_nothing_is_sent(run, command, options):
    with counting() as (port, callers):
        done = run(port, *options, command=command)
    assert (done.returncode, callers) == (2, []), done.stderr
    assert "would leave this machine for 0.0.0.0" in done.stderr
    assert "--allow-host HOST agrees to it" in done.stderr and "Nothing was sent" in done.stderr
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "host", ["0.0.0.0:80", "http://0.0.0.0", "0.0.0.0.", "0.0.0", "*", "0.0.0.0/v1", " 0.0.0.0", "00.0.0.0", ""]
)
def test_the_host_has_to_be_named_exactly(run, host):
    with counting() as (port, callers):
        done = run(port, "--allow-host", host)
    assert (done.returncode, callers) == (2, []), done.stdout


@pytest.mark.parametrize("way", ["option", "config"])
def test_with_consent_it_is_sent(run, way):
    with serving(OpenAIServer(answer=good)) as server:
        port = server.url.split(":")[2].split("/")[0]
        text = TEXT + ('allow_host = "0.0.0.0"\n' if way == "config" else "")
        done = run(port, *(("--allow-host", "0.0.0.0") if way == "option" else ()), text=text)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) > 0
    assert done.stderr.count("is plain http to another machine") == 1
    assert {header["authorization"] for header in map(_lower, server.headers)} == {f"Bearer {KEY}"}


def _lower(headers):
    return {name.lower(): value for name, value in headers.items()}


def test_a_redirect_to_another_host_is_not_followed(run):
    with counting() as (port, callers), serving(OpenAIServer()) as server:
        elsewhere = f"http://127.0.0.1:{port}/v1/chat/completions"
        server.refuse = lambda body: Fault(307, headers=(("Location", elsewhere),))
        done = run(server.url.split(":")[2].split("/")[0], "--allow-host", "0.0.0.0")
    # Whoever redirects one request redirects them all: the run stops and says where it was sent.
    assert (done.returncode, callers) == (2, [])
    assert len(server.requests) > 0
    assert "307" in done.stdout + done.stderr


def test_a_preview_is_what_is_sent_and_needs_neither_key_nor_consent(run):
    with counting() as (port, callers):
        shown = run(port, "--preview", "100", "--json", key=None)
        words = run(port, "--preview", "2", key=None)
    assert (shown.returncode, words.returncode, callers) == (0, 0, []), shown.stderr
    preview = json.loads(shown.stdout)
    assert (preview["host"], preview["leaves_this_machine"], preview["consent"]) == ("0.0.0.0", True, False)
    with serving(OpenAIServer(answer=good)) as server:
        port = server.url.split(":")[2].split("/")[0]
        assert run(port, "--allow-host", "0.0.0.0").returncode == 0
        again = json.loads(run(port, "--preview", "100", "--json").stdout)
    assert preview["requests_in_all"] == len(preview["bodies"]) == len(server.requests)
    assert sorted(map(json.dumps, preview["bodies"])) == sorted(map(json.dumps, server.requests))
    assert again["bodies"] == []  # Everything is answered, so nothing more would be sent.
    assert "LEAVES THIS MACHINE" in words.stdout and "nothing was sent" in words.stdout
    assert words.stdout.count("===== request") == 2
    for message in preview["bodies"][0]["messages"]:
        assert message["content"] in words.stdout
    assert KEY not in shown.stdout + words.stdout and "Bearer" not in shown.stdout + words.stdout


def test_a_preview_where_no_model_is_asked(run):
    done = run(1, "--preview", "1", text=TEXT.replace('method = "llm"', 'method = "uniform"'))
    assert (done.returncode, "nothing is asked of a language model" in done.stderr) == (2, True)
    text = 'corpus = "corpus"\noutput = "run"\n[run]\nrecorded = "none.jsonl"\n[decompose]\nmethod = "llm"\n'
    done = run(1, "--preview", "1", text=text + '[decompose.llm]\nprovider = "recorded"\n')
    assert (done.returncode, "none.jsonl cannot be read" in done.stderr) == (2, True)


def test_a_dry_run_sends_nothing_without_consent(run):
    with counting() as (port, callers):
        done = run(port, "--dry-run", key=None)
    assert (done.returncode, callers) == (0, [])
    assert "would leave this machine" in done.stdout


def test_a_dry_run_names_the_proxy_and_what_it_sees(run):
    options = ("--dry-run", "--allow-host", "0.0.0.0")
    done = run(1, *options, text=TEXT + 'proxy = "http://proxy.example:3128"\n')
    assert done.returncode == 0, done.stderr
    assert "text goes to 0.0.0.0 through the proxy proxy.example (by plain http: both read text and key)" in done.stdout


def test_a_proxy_of_the_environment_stops_a_run_before_anything_is_sent(run, monkeypatch):
    with counting() as (port, callers), counting() as (proxy, through):
        monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{proxy}")
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy}")
        done = run(port, "--allow-host", "0.0.0.0")
    assert (done.returncode, callers, through) == (2, [], [])
    assert "decompose.llm: the environment variable http_proxy names the proxy http://127.0.0.1" in done.stderr
    assert "proxy = 'direct' to go straight" in done.stderr and "secret" not in done.stderr
