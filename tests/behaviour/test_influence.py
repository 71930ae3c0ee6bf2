import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.pipeline.benchmark.benchmark import compared_methods
from apportion.pipeline.config import load_config
from tests.behaviour.command import chosen_methods, config, read
from tests.behaviour.small import write_small_corpus
from tests.decompose.influence.measurers import small_model, tokenizer
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.llm_client.openai_server import serving

TEXT = """corpus = "corpus"
output = "{output}"
[run]
workers = 1
prices = "prices.toml"
[decompose]
{methods}[decompose.llm]
base_url = "{url}"
model = "m"
max_retries = 0
[decompose.influence]
{more}
[train_reward]
epochs = 1
[align]
enabled = false
"""
TURNS = 18
"""Six sessions with three turns of the target each, all replied to."""


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    (tmp_path / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000, batch = 0.5 }\n')
    small_model().save_pretrained(tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    return tmp_path


def chosen(folder, methods=("influence",), url="http://localhost:1/v1", more='model = "model"', output="run"):
    return config(folder, TEXT.format(methods=chosen_methods(*methods), url=url, more=more, output=output))


def rewards(folder, output="run"):
    rows = pq.read_table(folder / output / "rewards.parquet").to_pylist()
    return {(row["session_id"], row["turn"]): row["raw_reward"] for row in rows}


def test_a_run_by_a_model_on_this_machine_goes_to_its_report(folder, apportion):
    done = apportion("run", "--only", "report", chosen(folder, ("uniform", "influence")))
    assert done.returncode == 0, done.stderr
    rows = [r for r in pq.read_table(folder / "run" / "rewards.parquet").to_pylist() if r["method"] == "influence"]
    assert len(rows) == TURNS and all(row["raw_reward"] is not None for row in rows)
    assert all("against silence" in row["rationale"] for row in rows)
    page = (folder / "run" / "report.html").read_text()
    assert "influence" in page and str(folder) not in page


def test_what_decides_a_value_decides_whether_it_is_made_again(folder, decompose):
    def judged(more):
        priced = decompose(chosen(folder, more=more), "--dry-run", "--json")
        (stage,) = (one for one in json.loads(priced.stdout)["stages"] if one["stage"] == "judge")
        return {name: stage[name] for name in stage if name != "stage"}

    assert decompose(chosen(folder)).returncode == 0
    done = judged('model = "model"')
    (folder / "model").rename(folder / "moved")
    assert judged('model = "moved"') == done
    assert judged('model = "moved"\nnegatives = 0') != done
    assert judged('model = "moved"\nendpoint = "completions"') == done


def test_a_server_is_priced_shown_asked_and_not_asked_again(folder, decompose):
    with serving(ProbabilityServer()) as server:
        path = chosen(folder, ("influence-served",), server.url, "negatives = 1")
        priced = read(decompose(path, "--dry-run", "--json"))["language_model"]
        assert priced["requests"] == priced["remaining"] > TURNS and priced["usd"] > 0
        shown = decompose(path, "--preview", "2").stdout
        assert f"{priced['requests']} first requests to {server.url}/chat/completions" in shown
        assert '"prompt_logprobs": 0' in shown and "[assistant]\nTea." in shown
        assert not server.requests
        done = decompose(path)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == priced["requests"]
        again = read(decompose(path, "--dry-run", "--json"))["language_model"]
        assert again["remaining"] == 0
    here = decompose(chosen(folder, more='model = "model"\nnegatives = 1', output="here"))
    assert here.returncode == 0, here.stderr
    assert rewards(folder) == pytest.approx(rewards(folder, "here"), abs=1e-4)


def test_no_word_of_what_was_said_is_kept_with_the_answers(folder, decompose):
    with serving(ProbabilityServer()) as server:
        assert decompose(chosen(folder, ("influence-served",), server.url, "")).returncode == 0
    with closing(sqlite3.connect(folder / "run" / "llm_cache.sqlite")) as kept:
        told = "\n".join(kept.iterdump())
    assert "logs" in told and not any(word in told for word in ("platform", "annoying", "disappointed", "booked"))


def test_a_server_without_probabilities_ends_the_run_after_a_few_words(folder, decompose):
    with serving(ProbabilityServer(gives=False)) as server:
        done = decompose(chosen(folder, ("influence-served",), server.url, ""))
    assert done.returncode == 2 and "without the probabilities of the prompt's tokens" in done.stderr
    # Sessions that are judged at once may each ask; none asks anything else.
    assert all(body["messages"][0]["content"] == "Tea or milk?" for body in server.requests)


def test_too_long_a_session_is_in_quarantine_with_its_turn_and_the_others_are_judged(folder, decompose):
    tables = Corpus.open(folder / "corpus")
    long = [
        {**row, "text": row["text"] + " please" * 400} if (row["session_id"], row["turn"]) == ("s01", 2) else row
        for row in tables.utterances.to_pylist()
    ]
    changed = pa.Table.from_pylist(long, schema=tables.utterances.schema)
    Corpus.of(folder / "corpus", {**tables.tables, "utterances": changed}).write(folder / "corpus")
    done = decompose(chosen(folder, more='model = "model"\ncontext_tokens = 1024'))
    assert done.returncode == 1
    (row,) = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    assert row["session_id"] == "s01" and "session s01, turn 1: prompt and reply have" in str(row)
    assert {session for session, _ in rewards(folder)} == {"s00", "s02", "s03", "s04", "s05"}


def test_what_cannot_be_measured_is_told_before_the_work(folder, decompose):
    for more, words in (("", "none is named"), ('model = "./none"', "no such folder")):
        done = decompose(chosen(folder, more=more))
        assert done.returncode == 2 and words in done.stderr


def test_no_batch_answers_it_and_no_audit_changes_it(folder, decompose):
    path = chosen(folder, ("influence-served",), more="")
    done = decompose(path, "--batch")
    assert done.returncode == 2 and "asks a language model for words" in done.stderr
    with pytest.raises(InputError, match="nothing to audit"):
        load_config(path).with_audit(1)


def test_a_benchmark_takes_it_where_a_model_is_named(folder):
    from apportion.decompose import DecomposeSettings

    sessions = list(Corpus.open(folder / "corpus").iter_sessions())
    assert "influence" in compared_methods((), (), sessions).left_out
    named = DecomposeSettings(influence={"model": "m"})
    assert "influence" in compared_methods((), (), sessions, named).methods
    with pytest.raises(InputError, match="no model that measures is named"):
        compared_methods(("influence",), (), sessions)
