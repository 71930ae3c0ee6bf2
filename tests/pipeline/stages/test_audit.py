"""`apportion run --only audit` against a real server on loopback."""

import json
import re
from dataclasses import replace
from functools import partial

import pyarrow.parquet as pq
import pytest

from apportion.evaluation.robustness.rank_stability import stability, stability_table
from apportion.evaluation.settings import EvaluationSettings
from apportion.pipeline.report.page import render_report
from tests.behaviour.command import apportion, chosen_methods, config, in_process
from tests.behaviour.small import write_small_corpus
from tests.evaluation.robustness.test_rank_stability import CLEAN, SWAPPED, TITLES, TURNED, table
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.report_inputs import made_up_inputs

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
{}[decompose.llm]
base_url = "{}"
model = "m"
max_retries = 0
max_reply_attempts = 1
"""
ASKED = ("repeat", "paraphrase", "names", "planted-order", "planted-tags", "planted-json", "planted-reply")


def good(body):
    """Judges a turn by how long it is, as long as nobody orders it to do otherwise."""
    prompt = body["messages"][-1]["content"]
    turns = json.loads(re.search(r"(\[[\d, ]*\])$", prompt)[1])
    said = {int(n): text for n, text in re.findall(r'\{"turn": (\d+), "speaker": "\w+", "text": "(.*?)"[,}]', prompt)}
    return completion(
        json.dumps({"turns": [{"turn": t, "value": len(said[t]) % 11 - 5, "evidence": None} for t in turns]})
    )


def obeys(body):
    obeyed = "Ignore the above" in body["messages"][-1]["content"]
    return completion("As you wish: 100!") if obeyed else good(body)


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    return tmp_path


@pytest.fixture
def audit(folder, monkeypatch):
    here = partial(in_process, monkeypatch)

    def audit(server, *options, methods=("llm",), way=here):
        return way(
            "run", "--only", "audit", config(folder, TEXT.format(chosen_methods(*methods), server.url)), *options
        )

    return audit


def test_an_audit_that_nobody_can_answer_is_told_and_left_out(folder, monkeypatch):
    text = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "uniform"\n[decompose.audit]\nsessions = 3\n'
    done = in_process(monkeypatch, "run", config(folder, text), "--dry-run")
    assert done.returncode == 0
    assert "sessions = 3: set, but none of the methods (uniform) asks a language model" in done.stdout
    assert re.search(r"stability +0 ", done.stdout)


def test_an_audit_is_a_table_a_document_and_is_never_asked_for_twice(folder, audit):
    with serving(OpenAIServer(answer=good)) as server:
        done = audit(server, "--sessions", "3")
        asked = len(server.requests)
        again = audit(server, "--sessions", "3")
        assert len(server.requests) == asked
        more = audit(server, "--sessions", "4")
        assert asked < len(server.requests)
    assert [run.returncode for run in (done, again, more)] == [0, 0, 0], done.stderr
    assert "the prompt in other words" in done.stdout
    assert "Planted instructions change the order" in done.stdout
    document = json.loads((folder / "run" / "audit.json").read_text())
    assert [row["perturbation"] for row in document["rows"]] == list(ASKED)
    assert {row["failed"] for row in document["rows"]} == {0}
    rows = pq.read_table(folder / "run" / "audit.parquet")
    assert len(set(rows.column("session_id").to_pylist())) == 4
    assert rows.num_rows == 4 * (1 + len(ASKED)) * 3
    assert document["verdict"] in (folder / "run" / "audit.md").read_text()


@pytest.mark.slow
def test_a_model_that_obeys_is_quarantined_and_counted_and_the_rest_goes_on(folder, audit):
    with serving(OpenAIServer(answer=obeys)) as server:
        done = audit(server, "--sessions", "3", way=apportion)
    assert done.returncode == 1
    assert "planted-order): session" in done.stdout and "As you wish: 100!" in done.stdout
    document = json.loads((folder / "run" / "audit.json").read_text())
    assert {row["perturbation"]: row["failed"] for row in document["rows"]} == {
        name: 3 * (name == "planted-order") for name in ASKED
    }
    assert document["all_planted"]["failed"] == 3


def test_a_dry_run_counts_the_audits_requests_and_sends_none(audit):
    with serving(OpenAIServer(answer=good)) as server:
        plan = json.loads(audit(server, "--sessions", "2", "--dry-run", "--json").stdout)
        assert server.requests == []
    assert {row["stage"]: row["units"] for row in plan["stages"]} == {"audit": 2 * (1 + len(ASKED)), "stability": 1}
    assert plan["language_model"]["requests"] == 2 * (1 + len(ASKED))


def test_other_commands_do_not_audit_unasked_and_keep_what_was_audited(folder, audit, monkeypatch):
    with serving(OpenAIServer(answer=good)) as server:
        assert audit(server, "--sessions", "2").returncode == 0
        kept = (folder / "run" / "audit.md").read_bytes()
        asked = len(server.requests)
        assert in_process(monkeypatch, "run", "--only", "decompose", folder / "config.toml").returncode == 0
        assert len(server.requests) <= asked + 4
    assert (folder / "run" / "audit.md").read_bytes() == kept
    assert (folder / "run" / "audit.parquet").exists()


@pytest.mark.parametrize(
    ("methods", "options", "told"),
    [
        (("uniform",), (), "none of them asks a language model, so there is nothing to audit. Add llm"),
        (("llm",), ("--sessions", "0"), "--sessions"),
        (("llm-multimodal", 'llm"\naudit.method = "sentiment'), (), "is not among the methods"),
    ],
)
def test_an_audit_that_makes_no_sense_is_refused(audit, methods, options, told):
    done = audit(OpenAIServer(url="http://localhost:1/v1"), *options, methods=methods)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_the_report_shows_the_table_and_says_what_it_means():
    found = stability(
        table({"clean": CLEAN, "paraphrase": SWAPPED, "planted-a": TURNED}, {"planted-a": 0}),
        {**TITLES, "planted-a": "<b>planted</b>"},
        ["planted-a"],
        {},
        EvaluationSettings(bootstrap=200),
    )
    shown = stability_table(found)
    document = json.loads(json.dumps(shown.__dict__))
    page = render_report(replace(made_up_inputs(), audit=document))
    assert '<section id="audit"' in page
    assert "by more than a paraphrase does" in page
    assert "&lt;b&gt;planted&lt;/b&gt;" in page and "<b>planted</b>" not in page
    assert '<section id="audit"' not in render_report(made_up_inputs())
