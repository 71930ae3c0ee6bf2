"""No key, header or whole prompt is in anything that a run writes or says."""

import logging

import pytest

from tests.chain.command import config
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import Fault, completion, serving
from tests.pipeline.llm_run import TEXT, good, in_process, write_run

CANARY = "sk-canary-0123456789abcdef"


@pytest.mark.parametrize("batch", [False, True])
def test_neither_key_nor_header_nor_prompt_is_written_or_said(tmp_path, monkeypatch, caplog, batch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    folder = write_run(tmp_path)
    prompts = []

    def answer(body):
        # One dialogue is answered well, one badly for good, the others with an error that repeats the key.
        prompts.append(body["messages"][0]["content"])
        return good(body) if len(prompts) % 2 else completion("no JSON, never")

    def refuse(body):
        number = len(server.requests)
        said = f"Incorrect API key provided: {CANARY}"
        return Fault(400, said) if number % 3 == 0 else None

    server = BatchServer(answer=answer, refuse=refuse, line_fault=lambda body: None)
    with serving(server):
        path = config(folder, TEXT.format(server.url, "m"))
        options = ["--record", folder / "replies.jsonl", *(["--batch"] if batch else [])]
        said = ""
        for _ in range(3):
            result = in_process(monkeypatch, "decompose", path, *options)
            said += result.stdout + result.stderr
            if result.returncode != 3:
                break
    assert result.returncode == 1 and any(h.get("authorization") == f"Bearer {CANARY}" for h in server.headers)
    question = max(prompts[0].splitlines(), key=len)[:100]
    secrets = (CANARY, "Bearer", "x-stainless", question)
    for secret in secrets:
        assert secret not in said + caplog.text
        for file in (path for path in folder.rglob("*") if path.is_file() and "corpus" not in path.parts):
            assert secret.encode() not in file.read_bytes(), (secret, file)
