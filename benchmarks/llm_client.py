"""Claim: 400 requests at 2 s latency and concurrency 64 take at most 1.15 x the ideal time, and under 2 ms of CPU each.

A request takes at most 0.7 of the CPU that it takes the plain SDK, and at 50 ms latency at least 1.5 x as many are
answered a second. With a budget a request takes at most 1.2 x the CPU of one without, measured in turns; what is set
aside for it is on the disk before it is sent.

The server is a process of its own (tests/llm_client/serve.py), the reply cache is on the disk and synced, and the
imports are done before the clock starts; everything else that a request costs this process is in its figure. JSON
alone (the same bodies to text and back) is measured beside it and taken off. The peer is the OpenAI SDK used in the
plain way, `chat.completions.create` behind a semaphore, without cache, limits, budget or retries.

Run: python -m benchmarks.llm_client [--latency 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai

from apportion.llm_client.client import Client
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.server_quirks import ServerCapabilities
from benchmarks.measure import tell
from tests.llm_client.openai_server import completion
from tests.llm_client.serve import server_process

REQUESTS, CONCURRENCY = 400, 64
UTTERANCE = "An utterance of middling length, as people say them. "
SCHEMA = {"type": "object", "properties": {"turns": {"type": "array"}}, "required": ["turns"]}


def requests(first: int) -> list[ChatRequest]:
    """Questions of about 8,000 characters, which is a dialogue of 60 turns with its instructions."""
    numbers = range(first, first + REQUESTS)
    system = ChatMessage("system", UTTERANCE * 30)
    return [
        ChatRequest("m", (system, ChatMessage("user", f"{n} {UTTERANCE * 120}")), SCHEMA, max_tokens=500)
        for n in numbers
    ]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of this process, its threads among them."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def ours(settings: LLMSettings, folder: Path, asked: list[ChatRequest], budget_usd: float | None) -> Callable[[], None]:
    prices = folder / "prices.toml"
    prices.write_text('[models]\n"m" = { input = 1, output = 1 }\n')
    client = Client(settings, cache=folder / "cache.sqlite", prices=prices, budget_usd=budget_usd)

    def run() -> None:
        with client, ThreadPoolExecutor(CONCURRENCY) as pool:
            texts = list(pool.map(lambda request: client.complete(request).text, asked))
        assert all(texts), "a reply is empty"

    return run


def plain(settings: LLMSettings, asked: list[ChatRequest]) -> Callable[[], None]:
    bodies = [ServerCapabilities(settings.host).options(request) for request in asked]

    async def run() -> None:
        sdk = openai.AsyncOpenAI(api_key="none", base_url=settings.url, max_retries=0)
        slots = asyncio.Semaphore(CONCURRENCY)

        async def ask(body: dict[str, object]) -> None:
            async with slots:
                reply = await sdk.chat.completions.create(**body)
            assert reply.choices[0].message.content

        await asyncio.gather(*(ask(body) for body in bodies))
        await sdk.close()

    return lambda: asyncio.run(run())


def json_alone(settings: LLMSettings, asked: list[ChatRequest]) -> Callable[[], None]:
    bodies = [ServerCapabilities(settings.host).options(request) for request in asked]
    reply = json.dumps(completion("x" * 40))

    def run() -> None:
        for body in bodies:
            json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            json.loads(reply)

    return run


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=2.0, help="seconds that the server takes to answer")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each; the median counts")
    chosen = parser.parse_args()
    ideal_s = math.ceil(REQUESTS / CONCURRENCY) * chosen.latency
    measured: dict[str, list[tuple[float, float]]] = {"ours": [], "budget": [], "plain": [], "json": []}
    with server_process(chosen.latency) as (_, url):
        settings = LLMSettings(base_url=url, model="m", concurrency=CONCURRENCY, max_retries=0, max_tokens=500)
        plain(settings, requests(-1000)[:CONCURRENCY])()  # Imports and warms up both sides.
        for number in range(chosen.rounds):
            asked = requests(number * REQUESTS)
            for name, budget_usd in (("ours", None), ("budget", 1000.0)):
                with tempfile.TemporaryDirectory() as folder:
                    measured[name].append(timed(ours(settings, Path(folder), asked, budget_usd)))
            measured["plain"].append(timed(plain(settings, asked)))
            measured["json"].append(timed(json_alone(settings, asked)))
    walls = {name: sorted(wall for wall, _ in runs)[len(runs) // 2] for name, runs in measured.items()}
    cpus_ms = {name: sorted(cpu for _, cpu in runs)[len(runs) // 2] / REQUESTS * 1e3 for name, runs in measured.items()}
    for name in ("ours", "budget"):
        what = "wall" if name == "ours" else "wall with a budget"
        tell(what, walls[name] / ideal_s, "x ideal", ideal_s=ideal_s, ratio=round(walls[name] / walls["plain"], 3))
    pairs = sorted(budget / ours for (_, ours), (_, budget) in zip(measured["ours"], measured["budget"], strict=True))
    tell(
        "cpu a request with a budget", pairs[len(pairs) // 2], "x without", rounds=[round(pair, 3) for pair in pairs],
        wall_ratio=round(walls["budget"] / walls["ours"], 3),
    )  # fmt: skip
    for name in ("ours", "budget"):
        what = "cpu a request beyond JSON" + ("" if name == "ours" else ", with a budget")
        peer_ms = cpus_ms["plain"] - cpus_ms["json"]
        own_ms = cpus_ms[name] - cpus_ms["json"]
        tell(
            what, own_ms, "ms", json_ms=round(cpus_ms["json"], 3), peer_ms=round(peer_ms, 3),
            ratio=round(own_ms / peer_ms, 3), rounds_ms=[round(cpu / REQUESTS * 1e3, 2) for _, cpu in measured[name]],
        )  # fmt: skip
