import json
import re
import threading
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from apportion.cli import main
from apportion.corpus.schema import SAMPLES
from apportion.evaluation.figures.consistency import consistency
from apportion.pipeline.report.page import render_report
from tests.behaviour.command import config, threads
from tests.behaviour.small import TINY_POLICY, write_small_corpus
from tests.decompose.session_methods.test_llm import good
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.report_inputs import made_up_inputs

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "llm"
[decompose.llm]
base_url = "{url}"
model = "m"
temperature = {temperature}
[train_reward]
epochs = 1
[evaluate]
bootstrap = 100
[align]
steps = 1
"""
TEXT += TINY_POLICY


class Moody:
    """Judges the same question a little otherwise each time, and the last turn with another sign."""

    def __init__(self):
        self._times = {}
        self._lock = threading.Lock()

    def __call__(self, body):
        question = body["messages"][1]["content"]
        with self._lock:
            number = self._times[question] = self._times.get(question, -1) + 1
        last = max(json.loads(re.search(r"judge: (\[.*\])$", question)[1]))
        return good(body, lambda turn: (1.0 + number) * (-1 if turn == last and number % 2 else 1))


def command(capsys, *arguments):
    code = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    write_small_corpus(tmp_path / "corpus", sessions=24)
    with serving(OpenAIServer(answer=Moody())) as server:
        yield config(tmp_path, TEXT.format(url=server.url, temperature=1)), tmp_path / "run", server


def test_samples_from_the_command_line(run, capsys):
    path, folder, server = run
    code, out, _ = command(capsys, "run", "--only", "decompose", path, "--samples", 3)
    assert code == 0
    assert len(server.requests) == 3 * len({body["messages"][1]["content"] for body in server.requests})
    table = pq.read_table(folder / "samples.parquet")
    assert table.schema.equals(SAMPLES.arrow)
    rewards = pq.read_table(folder / "rewards.parquet").to_pylist()
    assert table.num_rows == 3 * len(rewards)
    values = {}
    for row in table.to_pylist():
        values.setdefault((row["session_id"], row["turn"]), []).append(row["value"])
    for row in rewards:
        assert row["raw_reward"] == pytest.approx(sum(values[row["session_id"], row["turn"]]) / 3)
        assert row["sd"] > 0
    (found,) = consistency(table)
    assert 0.5 < found.agreement < 1
    assert f"consistency    {found.text()}" in out
    assert f"next: apportion run {path} --samples 3" in out

    # The first sample is that of a run without --samples: nothing new is asked, and no old samples are left.
    asked = len(server.requests)
    assert command(capsys, "run", "--only", "decompose", path)[0] == 0
    assert len(server.requests) == asked
    assert not (folder / "samples.parquet").exists()


@pytest.mark.slow
def test_the_evaluation_holds_it_and_the_report_shows_it(run, capsys):
    path, folder, _ = run
    code, out, err = command(capsys, "run", "--only", "evaluate", path, "--samples", 2)
    assert code == 0, err
    (found,) = json.loads((folder / "evaluation.json").read_text())["consistency"]
    assert (found["method"], found["samples"], found["episodes"]) == ("llm", 2, 24)
    assert "Repeated samples of one judge" in out
    inputs = made_up_inputs()
    assert "Repeated samples" not in render_report(inputs)
    shown = render_report(replace(inputs, evaluation={**inputs.evaluation, "consistency": [found]}))
    assert "<caption>Repeated samples of one judge</caption>" in shown
    assert f"<td>{found['agreement']:.1%}</td>" in shown


def test_samples_at_temperature_0_are_warned_of(run, tmp_path, capsys):
    _, _, server = run
    path = config(tmp_path, TEXT.format(url=server.url, temperature=0))
    code, out, _ = command(capsys, "run", "--only", "decompose", path, "--samples", 2, "--dry-run")
    assert code == 0
    assert "warning: decompose.llm: samples = 2 at temperature = 0" in out
    _, out, _ = command(capsys, "run", "--only", "decompose", path, "--dry-run")
    assert "at temperature" not in out
