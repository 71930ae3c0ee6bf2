import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.behaviour.test_consent import good
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "llm"
[decompose.llm]
base_url = "{}"
model = "m"
max_retries = 1
concurrency = 2
total_timeout_s = 5
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    return lambda url: in_process(monkeypatch, "run", "--only", "decompose", config(tmp_path, TEXT.format(url)))


def test_a_server_that_takes_no_more_stops_the_run_and_the_same_command_goes_on(run, tmp_path):
    server = OpenAIServer(answer=good)
    server.refuse = lambda body: (
        Fault(429, "daily limit", headers=(("Retry-After", "600"),)) if server.answered else None
    )
    with serving(server):
        stopped = run(server.url)
        answered, asked = server.answered, len(server.requests)
        server.refuse = lambda body: None
        again = run(server.url)
    assert stopped.returncode == 1, stopped.stderr
    assert "asks to come back in 600 s" in stopped.stdout and "daily limit" in stopped.stdout
    assert "total_timeout_s = 5" in stopped.stdout and "--budget" not in stopped.stdout
    assert "the same again, once the server takes requests" in stopped.stdout
    assert answered >= 1 and asked <= answered + 2
    assert again.returncode == 0, again.stderr
    assert pq.read_table(tmp_path / "run" / "quarantine.parquet").num_rows == 0
    # Nothing was paid twice: what had been answered was not asked again.
    assert server.answered == answered + len(server.requests) - asked


def test_a_server_that_is_not_there_ends_the_run_with_advice_and_not_session_by_session(run):
    with serving(OpenAIServer()) as server:
        url = server.url
    done = run(url)
    assert done.returncode == 2, done.stdout
    assert f"decompose.llm: no connection to {url} in 2 tries: the connection was refused" in done.stderr
    assert "Is the server running and base_url right?" in done.stderr
