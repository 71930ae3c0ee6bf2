"""A reward model of random weights, and a server of it in a thread."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from apportion.reward_model.model import RewardModel
from apportion.viewer.auth import Access, TokenGate
from apportion.viewer.connections import bounded_server
from apportion.viewer.scoring.app import Serving, create_app
from apportion.viewer.scoring.refusals import Limits
from apportion.viewer.serve import listening
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small

LIMITS = Limits()


class Answer(NamedTuple):
    status: int
    said: Any
    """The JSON object, or the text where it is none."""
    headers: dict[str, str]


def tiny_model(folder: Path) -> RewardModel:
    return random_head(small(save_tiny(folder, "bert"), scoring="pooled"))


@contextmanager
def scores_served(
    model: RewardModel, limits: Limits = LIMITS, token: str | None = None
) -> Iterator[tuple[str, Serving]]:
    """The address and what the server's paths share; its batches are not begun."""
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        serving = Serving.of(model, "llm-seed0", limits)
        is_host = Access(frozenset({"127.0.0.1", "localhost"}), port).is_host
        server = bounded_server(TokenGate(create_app(serving), is_host, token, limits.body), lifespan="off")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}", serving
        server.should_exit = True
        thread.join()


def ask(address: str, path: str, body: Any = None, **headers: str) -> Answer:
    """GET, or POST of ``body`` (text as it is, else as JSON)."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=600)
    sent = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET" if body is None else "POST", path, sent, named)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    try:
        said = json.loads(text)
    except ValueError:
        said = text
    return Answer(response.status, said, {name.lower(): value for name, value in response.getheaders()})


def chat(*said: str) -> list[dict[str, str]]:
    """Messages of user and assistant in turn."""
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
