import json
from functools import partial

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.decompose.session_methods.test_llm import good
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "llm"
[decompose.llm]
base_url = "{url}"
model = "qwen3"
max_retries = 0
reasoning_effort = "low"
extra_body = {{ top_k = 20, chat_template_kwargs = {{ enable_thinking = true }} }}
"""
PAGE = "<html>Bad gateway</html>"


@pytest.fixture
def run(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=4)

    def run(server, *options, text=TEXT):
        return partial(in_process, monkeypatch)(
            "run", "--only", "decompose", config(tmp_path, text.format(url=server.url)), *options
        )

    return run


def thoughtful(body):
    reply = good(body)
    message = reply["choices"][0]["message"]
    message["content"] = f"<think>\nWhich turns? Hm.\n</think>\n\n```json\n{message['content']}\n```"
    message["reasoning_content"] = "Hm."
    return reply


def test_its_options_are_shown_and_sent_and_its_answers_read(run, tmp_path):
    with serving(OpenAIServer(answer=thoughtful)) as server:
        shown = json.loads(run(server, "--preview", 100, "--json").stdout)["bodies"]
        done = run(server)
        again = run(server)
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, server.requests)) != []
    assert {name: shown[0][name] for name in ("reasoning_effort", "top_k", "chat_template_kwargs")} == {
        "reasoning_effort": "low",
        "top_k": 20,
        "chat_template_kwargs": {"enable_thinking": True},
    }
    assert len(pq.read_table(tmp_path / "run" / "quarantine.parquet")) == 0


def test_another_effort_is_another_question(run):
    with serving(OpenAIServer(answer=thoughtful)) as server:
        run(server)
        asked = len(server.requests)
        assert run(server, text=TEXT.replace('"low"', '"high"')).returncode == 0
    assert len(server.requests) == 2 * asked


def test_an_option_that_is_said_elsewhere_is_refused_before_anything_is_sent(run):
    with serving(OpenAIServer()) as server:
        done = run(server, text=TEXT.replace("top_k = 20", "max_tokens = 20"))
    assert (done.returncode, server.requests) == (2, [])
    assert "decompose.llm.extra_body: max_tokens is said by the setting max_tokens" in done.stderr


def test_an_effort_that_the_server_refuses_is_told_in_its_words(run):
    refusal = Fault(400, "Unsupported value: 'reasoning_effort' does not support 'low' with this model.")
    with serving(OpenAIServer(refuse=lambda body: refusal)) as server:
        done = run(server)
    assert done.returncode == 1
    assert "'reasoning_effort' does not support 'low' with this model" in done.stdout + done.stderr


def test_what_came_instead_of_a_reply_is_in_the_quarantine(run, tmp_path):
    with serving(OpenAIServer(refuse=lambda body: Fault(raw=PAGE.encode()))) as server:
        assert run(server).returncode == 1
    rows = pq.read_table(tmp_path / "run" / "quarantine.parquet").to_pylist()
    kept = [json.loads(row["evidence"])[0] for row in rows if row["evidence"]]
    assert len(kept) == 4 and {(entry["status"], entry["body"]) for entry in kept} == {(200, PAGE)}
