"""The server as a process of its own, that can be killed and measured apart: `python -m tests.llm_client.serve`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.llm_client.openai_server import OpenAIServer, serving

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def server_process(latency_s: float = 0.0, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address; killed at the end of the block."""
    command = [sys.executable, "-m", "tests.llm_client.serve", "--latency", str(latency_s), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with serving(OpenAIServer(latency_s=options.latency), options.port) as server:
        print(server.url, flush=True)
        threading.Event().wait()
