import json
import re

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import chosen_methods, config, read
from tests.behaviour.small import write_small_corpus
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import good

TEXT = """corpus = "corpus"
output = "{output}"
[run]
workers = 1
prices = "prices.toml"
{run}
[train_reward]
epochs = 1
[decompose]
{methods}[decompose.llm]
base_url = "{url}"
model = "m"
max_tokens = 200
max_sessions = {count}
{more}
"""


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=24, exchanges=4)
    (tmp_path / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000 }\n')
    return tmp_path


def text(url="http://localhost:1/v1", count=5, methods=("llm-student",), output="run", run="", more=""):
    return TEXT.format(url=url, count=count, methods=chosen_methods(*methods), output=output, run=run, more=more)


# Two of the 24 sessions say the same, so that 23 questions are about all.
def test_a_few_are_asked_about_and_all_are_decomposed(folder, apportion, decompose):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, text(server.url))
        before = read(decompose(path, "--dry-run", "--json"))["language_model"]
        assert (before["requests"], before["chosen"], before["all_sessions"]["requests"]) == (5, False, 23)
        assert before["usd"] == pytest.approx(before["all_sessions"]["usd"] * 5 / 24, rel=0.05)
        assert "run `apportion run --only select-sessions` first" in decompose(path, "--preview", "1").stdout
        assert apportion("run", "--only", "select-sessions", path).returncode == 0
        known = read(decompose(path, "--dry-run", "--json"))["language_model"]
        words = decompose(path, "--dry-run").stdout
        shown = read(decompose(path, "--preview", "9", "--json"))
        assert server.requests == []
        done = apportion("run", "--only", "evaluate", path, "--record", folder / "r.jsonl")
        assert (done.returncode, len(server.requests)) == (0, 5), done.stderr
    assert (known["requests"], known["remaining"], known["chosen"]) == (5, 5, True)
    assert "max_sessions = 5, as chosen; judging all sessions takes 23 requests, 23 to ask: about $" in words
    assert len(shown["requests"]) == 5
    asked = {json.loads(line)["label"].split(",")[0] for line in (folder / "r.jsonl").read_text().splitlines()[1:]}
    assert asked == {request["subject"].split(",")[0] for request in shown["requests"]}
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    assert len(set(rewards.column("session_id").to_pylist())) == 24
    assert set(rewards.column("method").to_pylist()) == {"llm-student"}
    splits = {row["session_id"]: row["split"] for row in pq.read_table(folder / "run" / "splits.parquet").to_pylist()}
    assert {splits[name.removeprefix("session ")] for name in asked} == {"train"}
    after = read(decompose(path, "--dry-run", "--json"))["language_model"]
    assert (after["remaining"], after["all_sessions"]["remaining"]) == (0, 18)


def told(done):
    return json.loads(done.stdout)["language_model"]


def test_a_batch_holds_the_chosen_sessions_alone_and_is_priced_as_one(folder, decompose):
    prices = folder / "prices.toml"
    prices.write_text(prices.read_text().replace("output = 10000", "output = 10000, batch = 0.5"))
    with serving(BatchServer(answer=good, rounds=2)) as server:
        path = config(folder, text(server.url))
        whole = told(decompose(path, "--dry-run", "--json"))
        half = told(decompose(path, "--batch", "--dry-run", "--json"))
        assert half["usd"] == pytest.approx(whole["usd"] / 2) and half["requests"] == whole["requests"] == 5
        assert half["all_sessions"]["usd"] == pytest.approx(whole["all_sessions"]["usd"] / 2)
        first = decompose(path, "--batch")
        assert first.returncode == 3 and "5 requests handed in" in first.stdout, first.stdout + first.stderr
        waiting = decompose(path, "--batch")
        assert waiting.returncode == 3 and not (folder / "run" / "rewards.parquet").exists()
        done = decompose(path, "--batch")
        assert done.returncode == 0 and "5 replies collected" in done.stdout, done.stdout + done.stderr
        after = told(decompose(path, "--batch", "--dry-run", "--json"))
    assert len(server.worked) == 5 and server.requests == []
    assert (after["remaining"], after["usd"], after["all_sessions"]["remaining"]) == (0, 0.0, 18)
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    assert len(set(rewards.column("session_id").to_pylist())) == 24


def test_a_budget_stops_before_the_student_is_taught_and_a_higher_one_asks_about_the_rest_of_the_same(
    folder, apportion, decompose
):
    """One reply costs 0.081; before a request is sent, the dearest that it can be is set aside."""
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, text(server.url, more="concurrency = 1"))
        assert apportion("run", "--only", "select-sessions", path).returncode == 0
        shown = read(decompose(path, "--preview", "9", "--json"))
        refused = decompose(path, "--budget", "0.01")
        most_usd = float(re.search(r"may cost up to \$(\d+\.\d+)", refused.stdout)[1])
        assert (refused.returncode, server.requests) == (1, [])
        small = decompose(path, "--budget", str(most_usd + 0.1))
        asked = len(server.requests)
        assert small.returncode == 1 and asked in (1, 2), small.stdout + small.stderr
        assert "needs at least 3 training sessions that it judged, and there are" in small.stdout
        left = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
        assert sum(row["status"] == "stopped" for row in left) == 5 - asked
        assert not (folder / "run" / "rewards.parquet").exists()
        between = told(decompose(path, "--dry-run", "--json"))
        assert (between["answered"], between["remaining"], between["chosen"]) == (asked, 5 - asked, True)
        again = decompose(path, "--budget", "100", "--record", folder / "r.jsonl")
        assert (again.returncode, len(server.requests)) == (0, 5), again.stdout + again.stderr
    recorded = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()[1:]]
    assert {entry["key"] for entry in recorded} == {request["key"] for request in shown["requests"]}
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    assert len(set(rewards.column("session_id").to_pylist())) == 24


@pytest.mark.slow
def test_a_student_of_less_than_half_of_the_chosen_is_refused_and_one_of_more_is_taught(folder, decompose):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, text(server.url, count=8, more="concurrency = 1"))
        refused = decompose(path, "--budget", "0.01")
        most_usd = float(re.search(r"may cost up to \$(\d+\.\d+)", refused.stdout)[1])
        small = decompose(path, "--budget", str(most_usd + 0.2))
        asked = len(server.requests)
        assert small.returncode == 1 and asked == 3, small.stdout + small.stderr
        assert "at least half of the 8 sessions that were chosen for it, and there are 3" in small.stdout
        assert "higher --budget" in small.stdout and not (folder / "run" / "rewards.parquet").exists()
        more = decompose(path, "--budget", str(most_usd + 0.45))
        assert more.returncode == 1 and 4 <= len(server.requests) < 8, more.stdout + more.stderr
    assert set(pq.read_table(folder / "run" / "rewards.parquet").column("method").to_pylist()) == {"llm-student"}


@pytest.mark.slow
def test_where_a_recording_covers_some_the_choice_is_among_those(folder, decompose):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, text(server.url, count=8))
        assert decompose(path, "--record", folder / "r.jsonl").returncode == 0
    recorded = text(count=4, output="again", run=f'recorded = "{folder / "r.jsonl"}"', more='provider = "recorded"')
    done = decompose(config(folder, recorded))
    assert done.returncode == 0 and "no recorded reply" not in done.stdout, done.stdout
    priced = read(decompose(config(folder, recorded), "--dry-run", "--json"))
    assert priced["language_model"]["answered"] == priced["language_model"]["requests"] == 4


@pytest.mark.slow
def test_the_model_that_judged_some_may_stand_beside_its_student(folder, apportion):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, text(server.url, methods=("llm", "uniform", "llm-student"), count=6))
        done = apportion("run", path, "--skip", "align")
        assert (done.returncode, len(server.requests)) == (0, 6), done.stdout + done.stderr
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    of = {m: rewards.filter(pc.equal(rewards["method"], m))["session_id"].to_pylist() for m in ("llm", "llm-student")}
    assert {m: len(set(sessions)) for m, sessions in of.items()} == {"llm": 6, "llm-student": 24}
    assert (folder / "run" / "report.html").is_file()


def test_another_seed_and_another_number_are_other_choices(folder, apportion, decompose):
    names = {}
    for more in ("selection_seed = 0", "selection_seed = 1"):
        path = config(folder, text(more=more))
        assert apportion("run", "--only", "select-sessions", path).returncode == 0
        shown = read(decompose(path, "--preview", "9", "--json"))
        names[more] = tuple(sorted(request["subject"] for request in shown["requests"]))
    assert len(set(names.values())) > 1 and all(len(of) == 5 for of in names.values())


@pytest.mark.parametrize(("count", "told"), [(2, "max_sessions"), (0, "max_sessions")])
def test_too_few_to_learn_from_is_refused(folder, decompose, count, told):
    done = decompose(config(folder, text(count=count)))
    assert (done.returncode, told in done.stderr) == (2, True)
