"""`--record FILE`: a run's replies as a file that a run can be made from without a server."""

import json

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import config
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.llm_run import TEXT, good

CANARY = "sk-canary-0123456789abcdef"


def rewards(folder, output):
    return pq.read_table(folder / output / "rewards.parquet")


def recorded_run(folder, file, apportion):
    text = TEXT.format("http://localhost:1/v1", "m").replace("[run]", f'[run]\nrecorded = "{file}"')
    text = text.replace("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"').replace('"run"', '"again"')
    return apportion("run", "--only", "decompose", config(folder, text))


def bad_first(body):
    return completion("no JSON") if len(body["messages"]) == 2 else good(body)


def test_a_recording_gives_the_same_rewards_without_a_server(folder, apportion, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with serving(OpenAIServer(answer=bad_first)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        result = apportion("run", "--only", "decompose", path, "--record", "mine/replies.jsonl")
    assert result.returncode == 0, result.stderr
    assert "mine/replies.jsonl: the replies of 12 units" in result.stdout
    raw = (folder / "mine" / "replies.jsonl").read_text()
    assert len(raw.splitlines()) == 1 + 10 and json.loads(raw.splitlines()[0])["model"] == "m"
    assert CANARY not in raw and "uthorization" not in raw and "<transcript" not in raw and '"messages"' not in raw
    again = recorded_run(folder, "mine/replies.jsonl", apportion)
    assert again.returncode == 0, again.stderr
    assert rewards(folder, "again") == rewards(folder, "run")


def test_a_finished_run_can_still_be_recorded_and_a_second_time_changes_nothing(folder, apportion):
    with serving(OpenAIServer(answer=bad_first)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path).returncode == 0
        asked = len(server.requests)
        for _ in range(2):
            assert apportion("run", "--only", "decompose", path, "--record", folder / "r.jsonl").returncode == 0
        assert len(server.requests) == asked
    assert len((folder / "r.jsonl").read_text().splitlines()) == 1 + 10
    assert recorded_run(folder, "r.jsonl", apportion).returncode == 0


def test_replies_that_are_lost_are_told(folder, apportion):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path).returncode == 0
        for file in (folder / "run").glob("llm_cache*"):
            file.unlink()
        result = apportion("run", "--only", "decompose", path, "--record", folder / "r.jsonl")
    assert result.returncode == 0
    assert "12 units rest on replies that are not in" in result.stderr


@pytest.mark.parametrize("place", ["notes.txt", "."])
def test_a_file_of_something_else_is_left_alone(folder, place, apportion):
    (folder / "notes.txt").write_text("my notes\n")
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        result = apportion("run", "--only", "decompose", path, "--record", folder / place)
    assert result.returncode == 2 and server.requests == []
    assert (folder / "notes.txt").read_text() == "my notes\n"


def test_a_recording_of_recorded_replies_is_refused(folder, apportion):
    text = TEXT.format("http://localhost:1/v1", "m")
    path = config(folder, text.replace("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"'))
    result = apportion("run", "--only", "decompose", path, "--record", folder / "r.jsonl")
    assert result.returncode == 2 and "come from a recording already" in result.stderr
