"""Many requests through one client at once, each with its text or its error."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apportion.llm_client.client import Client
from apportion.llm_client.errors import LLMError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.openai_server import OpenAIServer, serving


def request(number: int = 0) -> ChatRequest:
    """A request that differs from those of other numbers."""
    return ChatRequest("m", (ChatMessage("user", str(number)),), subject=f"session s{number}")


def client(url: str, **options: Any) -> Client:
    """A client of the server there that tries once."""
    return Client(LLMSettings(**{"base_url": url, "model": "m", "max_retries": 0, **options}))


def answer(server: OpenAIServer, number: int = 0, **options: Any) -> ChatReply:
    """What comes of one request to ``server``."""
    with serving(server), client(server.url, **options) as asking:
        return asking.complete(request(number))


def ask(asking: Client, numbers: Iterable[int], at_once: int) -> list[str | LLMError]:
    """The texts or the errors of the requests ``numbers``, in their order."""

    def one(number: int) -> str | LLMError:
        try:
            return asking.complete(request(number)).text
        except LLMError as error:
            return error

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(one, numbers))
