"""What is hidden of one character turns up nowhere that somebody else reads: requests, screen, log messages, errors."""

import json
import logging
from pathlib import Path

import pytest

from apportion.cli import main
from tests.llm_client.openai_server import Body, Fault, OpenAIServer, completion, serving

TASKS = """
[[character]]
name = "Ann Lee"
age = 31
occupation = "OCCUPATION-A"
public_info = "PUBLIC-A"
personality = "PERSONALITY-A"
secret = "SECRET-A"
secret_words = ["WORDS-A"]

[[character]]
name = "Bob Ray"
age = 45
occupation = "OCCUPATION-B"
public_info = "PUBLIC-B"
personality = "PERSONALITY-B"
secret = "SECRET-B"
secret_words = ["WORDS-B"]

[[scenario]]
name = "s"
context = 'A park. <p viewer="environment">CONTEXT-E</p>'
goals = ["GOAL-A", "GOAL-B"]
relationship = "stranger"
price = { worst = [1.0, 9.0], best = [9.0, 1.0] }
source = "made up"

[[task]]
scenario = "s"
characters = ["Ann Lee", "Bob Ray"]
"""
OF_A = ("OCCUPATION-A", "PUBLIC-A", "PERSONALITY-A", "SECRET-A", "WORDS-A", "GOAL-A", "Ann Lee")
OF_B = ("OCCUPATION-B", "PUBLIC-B", "PERSONALITY-B", "SECRET-B", "WORDS-B", "GOAL-B", "Bob Ray")
OF_NOBODY = ("CONTEXT-E", "WORDS-A", "WORDS-B")


def harmless(body: Body) -> Body:
    return completion(json.dumps({"act": "speak", "text": "Good morning."}))


def unusable(body: Body) -> Body:
    return completion("No JSON.")


def failing(body: Body) -> Fault:
    return Fault(404, "no such model", "model_not_found")


@pytest.mark.parametrize("style", ["base", "react", "refine", "metamind"])
@pytest.mark.parametrize("answer", [harmless, unusable, failing])
def test_nothing_hidden_is_in_the_others_requests_or_on_the_screen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], style: str, answer: object
) -> None:
    (tmp_path / "tasks.toml").write_text(TASKS)
    with serving(OpenAIServer(answer=answer)) as server, caplog.at_level(logging.DEBUG):
        command = ["world", "simulate", "sotopia", str(tmp_path / "c"), "--tasks", str(tmp_path / "tasks.toml")]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--agents", style, "--model", "m", "--base-url", server.url, "--most-acts", "4"])
        requests = [json.dumps(body) for body in server.requests]
    assert requests and ended.value.code == {failing: 2, unusable: 1}.get(answer, 0)
    for text in requests:
        own, others = (OF_A, OF_B) if "GOAL-A" in text else (OF_B, OF_A)
        assert all(word in text for word in own if word not in OF_NOBODY)
        assert not [word for word in (*others, *OF_NOBODY) if word in text]
    # Names may be told to the one who simulates; nothing else that was written for one reader.
    told = "".join(capsys.readouterr()) + caplog.text
    assert not [word for word in (*OF_A[:-1], *OF_B[:-1], *OF_NOBODY) if word in told]
