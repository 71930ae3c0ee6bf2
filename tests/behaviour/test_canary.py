import json
import re
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

KEY = "sk-canary-5f3a9b1277aa"
SAID = "my canary Zwitschi sings at dawn"
PROMPT = (
    "You analyse recorded conversations",
    "Rank the utterances carefully",
    "<transcript>",
    "That reply cannot be used",
)
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
max_reply_attempts = 2
{}"""


@pytest.fixture
def folder(tmp_path):
    """A small corpus in which every rater speaks of a canary."""
    corpus = Corpus.open(write_small_corpus(tmp_path / "plain", sessions=5))
    rows = [{**row, "text": f"{row['text']} {SAID}"} for row in corpus.utterances.to_pylist()]
    changed = pa.Table.from_pylist(rows, schema=corpus.utterances.schema)
    tables = {name: getattr(corpus, name) for name in ("sessions", "ratings", "turn_labels")}
    Corpus.of(tmp_path / "corpus", {**tables, "utterances": changed}).write(tmp_path / "corpus")
    for path in sorted((tmp_path / "plain").iterdir()):
        path.unlink()
    return tmp_path


def good(body):
    turns = json.loads(re.search(r"(\[[\d, ]*\])$", body["messages"][-1]["content"])[1])
    return completion(json.dumps({"turns": [{"turn": t, "value": t % 3, "evidence": "liked"} for t in turns]}))


def contents(folder: Path) -> dict[str, str]:
    """Everything under ``folder`` as text that can be searched, tables and databases unpacked; the corpus left out."""
    found = {}
    for path in (path for path in folder.rglob("*") if path.is_file() and folder / "corpus" not in path.parents):
        raw = path.read_bytes()
        text = raw.decode("utf-8", "replace") + raw.decode("utf-16-le", "replace")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            text += repr(table.to_pylist()) + repr(table.schema)
        if raw.startswith(b"SQLite format 3"):
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                text += "\n".join(database.iterdump())
        found[str(path.relative_to(folder))] = text
    return found


def check(folder, *runs):
    """Grep files and outputs; ``config.toml`` is ours and holds neither."""
    found = contents(folder)
    found.update({f"output {n}": run.stdout + run.stderr for n, run in enumerate(runs)})
    assert any(name.endswith(".parquet") for name in found)
    for name, text in found.items():
        assert KEY not in text, f"the key is in {name}"
        assert "bearer" not in text.lower(), f"a header is in {name}"
        assert not [words for words in PROMPT if words in text], f"a prompt is in {name}"
        assert "Zwitschi" not in text, f"an utterance is in {name}"


def test_the_search_finds_what_is_there(folder):
    """The check itself can fail: it unpacks tables and databases."""
    pq.write_table(pa.table({"x": [f"a {SAID}"]}), folder / "t.parquet", compression="zstd")
    with sqlite3.connect(folder / "d.sqlite") as database:
        database.execute("create table t (x)")
        database.execute("insert into t values (?)", (KEY,))
    found = contents(folder)
    assert "Zwitschi" in found["t.parquet"] and KEY in found["d.sqlite"]


def test_a_run_with_its_audit_its_recording_and_bad_replies_leaves_nothing(folder, monkeypatch):
    calls = []

    def sometimes_bad(body):
        calls.append(body)
        return completion("I had rather not.") if len(calls) % 3 == 0 else good(body)

    with serving(OpenAIServer(answer=sometimes_bad, faults=[Fault(500), Fault(429)])) as server:
        path = config(folder, TEXT.format(server.url, ""))
        options = ("--record", folder / "record.jsonl")
        runs = [
            in_process(monkeypatch, "run", "--only", "decompose", path, *options, OPENAI_API_KEY=KEY),
            in_process(monkeypatch, "run", "--only", "audit", path, "--sessions", "2", *options, OPENAI_API_KEY=KEY),
        ]
    assert {header.get("authorization", header.get("Authorization")) for header in server.headers} == {f"Bearer {KEY}"}
    assert SAID in json.dumps(server.requests)
    assert (folder / "record.jsonl").stat().st_size > 0 and (folder / "run" / "audit.json").is_file()
    check(folder, *runs)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_server_that_repeats_key_and_header_is_not_quoted(folder, status, monkeypatch):
    fault = Fault(status, message=f"Incorrect API key provided: {KEY} in header Authorization")
    with serving(OpenAIServer(refuse=lambda body: fault)) as server:
        path = config(folder, TEXT.format(server.url, ""))
        done = in_process(monkeypatch, "run", "--only", "decompose", path, OPENAI_API_KEY=KEY)
    assert done.returncode in (1, 2) and server.requests
    assert "Incorrect API key provided: [key]" in done.stdout + done.stderr
    check(folder, done)


def test_missing_consent_tells_no_text(folder, monkeypatch):
    path = config(folder, TEXT.format("http://0.0.0.0:9/v1", 'allow_host = "example.com"\n'))
    done = in_process(monkeypatch, "run", "--only", "decompose", path, OPENAI_API_KEY=KEY)
    dry = in_process(monkeypatch, "run", "--only", "decompose", path, "--dry-run", OPENAI_API_KEY=KEY)
    assert (done.returncode, dry.returncode) == (2, 0)
    text = done.stdout + done.stderr + dry.stdout + dry.stderr
    assert KEY not in text and "Zwitschi" not in text and not [words for words in PROMPT if words in text]


def test_a_batch_leaves_nothing_behind(folder, monkeypatch):
    with serving(BatchServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, ""))
        runs = [
            in_process(monkeypatch, "run", "--only", "decompose", path, "--batch", OPENAI_API_KEY=KEY) for _ in range(2)
        ]
    assert [run.returncode for run in runs] == [3, 0], runs[-1].stderr
    assert SAID in json.dumps(server.worked)
    check(folder, *runs)


def test_pseudonyms_leave_no_list_of_who_is_who(tmp_path, monkeypatch):
    corpus = Corpus.open(write_small_corpus(tmp_path / "plain", sessions=5))
    names = {"user": "Tiberius", "bot": "Octavia"}

    def renamed(table, *columns):
        rows = [{**row, **{name: names[row[name]] for name in columns}} for row in table.to_pylist()]
        return pa.Table.from_pylist(rows, schema=table.schema)

    tables = {
        "sessions": corpus.sessions,
        "utterances": renamed(corpus.utterances, "speaker"),
        "ratings": renamed(corpus.ratings, "rater", "target"),
    }
    Corpus.of(tmp_path / "corpus", tables).write(tmp_path / "corpus")
    with serving(OpenAIServer(answer=good)) as server:
        path = config(tmp_path, TEXT.format(server.url, ""))
        options = ("--pseudonyms", "--record", tmp_path / "r.jsonl")
        done = in_process(monkeypatch, "run", "--only", "decompose", path, *options, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert not re.search("Tiberius|Octavia", json.dumps(server.requests), re.IGNORECASE)
    shown = set(re.findall(r'"speaker": "(\w+)"', server.requests[0]["messages"][1]["content"]))
    assert len(shown) == 2
    for name in ("r.jsonl", "run/llm_cache.sqlite"):
        assert not re.search("Tiberius|Octavia", contents(tmp_path)[name]), name
    rewards = pq.read_table(tmp_path / "run" / "rewards.parquet")
    assert set(rewards.column("target").to_pylist()) == {"Octavia"}
    for name, text in contents(tmp_path).items():
        assert not (any(who in text for who in names.values()) and any(who in text for who in shown)), name
