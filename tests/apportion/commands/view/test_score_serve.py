import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from apportion.commands.view.score_serve import serve_command
from tests.apportion.called import saying
from tests.apportion.commands.test_score import DIALOGUES, write
from tests.behaviour.command import environment
from tests.interrupts import hear_ctrl_c
from tests.viewer.scoring.served import ask, tiny_model

run = saying("policy", "serve")


@pytest.fixture
def model(tmp_path):
    tiny_model(tmp_path / "bert").save_pretrained(tmp_path / "llm-seed3")
    return tmp_path / "llm-seed3"


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_says_what_policy_score_says_until_it_is_told_to_end(tmp_path, capsys, model, end):
    token = "s3cret-of-sixteen"
    command = [sys.executable, "-m", "apportion", "policy", "serve", str(model), "--port", "0", "--token-env", "T"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=environment(T=token), preexec_fn=hear_ctrl_c) as server:
        first, second = server.stdout.readline(), server.stdout.readline()
        address = re.search(r"http://[\w.:]+\d", first)[0]
        assert "serving llm-seed3 at" in first and f"next: --reward.remote_url {address}/openrlhf" in second
        turns = [[{"speaker": who, "text": text} for who, text in said] for said in DIALOGUES.values()]
        body = {
            "dialogues": [{"turns": one, "target": "bot"} for one in turns if any(t["speaker"] == "bot" for t in one)]
        }
        answer = ask(address, "/score", body, Authorization=f"Bearer {token}")
        assert answer.status == 200 and ask(address, "/score", body).status == 401
        server.send_signal(end)
        out, err = server.communicate()
    assert server.returncode == 130 and "Requests that had come were answered" in err
    assert token not in out + err and "hotel" not in out + err
    corpus = write(tmp_path / "corpus", DIALOGUES, [])
    scored = saying("policy", "score")(capsys, model, corpus, "--target", "bot", "--out", tmp_path / "scores.parquet")
    assert scored[0] == 0
    table = pq.read_table(tmp_path / "scores.parquet").to_pydict()
    for name in ("reward", "sd", "advantage"):
        found = [turn[name] for one in answer.said["dialogues"] for turn in one["turns"]]
        np.testing.assert_allclose(found, table[name], atol=1e-6)


def test_what_cannot_be_served_is_told_before_a_port_is_taken(tmp_path, capsys, monkeypatch, model):
    run.refuses(capsys, "no such folder. Name a run's", tmp_path / "nowhere")
    run.refuses(capsys, "neither a run's folder", tmp_path)
    monkeypatch.setenv("T", "short")
    said = run.refuses(
        capsys, ("--token-env T: that variable holds no token of 16", "openssl rand"), model, "--token-env", "T"
    )
    assert "short" not in said
    for given in ([], ["--allow-remote"]):
        run.refuses(capsys, "--host 0.0.0.0: other machines could ask. Give", model, "--host", "0.0.0.0", *given)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run.refuses(capsys, f"port {port} is taken. Choose another with --port", model, "--port", port)


def test_other_machines_are_let_in_with_a_token_and_a_warning(capsys, monkeypatch, model):
    served = []
    monkeypatch.setattr("apportion.viewer.scoring.serve.serve_model", lambda *given: served.append(given))
    monkeypatch.setenv("T", "s3cret-of-sixteen")
    serve_command.main([str(model), "--host", "0.0.0.0", "--allow-remote", "--token-env", "T"], standalone_mode=False)
    assert served[0][:4] == (model, "0.0.0.0", None, "s3cret-of-sixteen")
    assert "not encrypted" in capsys.readouterr().err


def test_without_the_viewer_s_extra_it_says_what_to_install(capsys, monkeypatch, model):
    monkeypatch.setitem(sys.modules, "apportion.viewer.serve", None)
    run.refuses(capsys, "pip install 'apportion[view]'", model)
