"""What the tests of the Batch API share: requests, prices, and what a cache holds."""

from pathlib import Path

from apportion.llm_client.batch.batches import Batches
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.cost.prices import Price
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings

ROOT = Path(__file__).resolve().parents[2]
CANARY = "sk-canary-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
PRICES = '[models]\n"m" = { input = 1000, output = 10000, batch = 0.5 }\n'
USD_A_REPLY = (11 * 1000 + 7 * 10000) / 1e6 / 2


def place_of(folder):
    """Where the replies of a test are kept, as its fixture `place` has noted."""
    return ledger_place((folder / "place").read_text())


def requests(count, **options):
    return [
        ChatRequest("m", (ChatMessage("user", f"question {n:02}"),), max_tokens=10, subject=f"session s{n}", **options)
        for n in range(count)
    ]


MOST_USD = Price(input=1000, output=10000).most_usd(requests(1)[0]) / 2


def settings(server, **options):
    return LLMSettings(base_url=server.url, model="m", **{"max_retries": 0, "max_tokens": 10, **options})


def batches(server, folder, **options):
    chosen = {"prices": folder / "prices.toml", "settle_s": 0.0, **options}
    return Batches(settings(server), place_of(folder), **chosen)


def advance(server, folder, asked, **options):
    with batches(server, folder, **options) as chosen:
        return chosen.advance(asked)


def usage(folder):
    cache = ReplyCache(place_of(folder))
    try:
        return cache.usage()
    finally:
        cache.close()


def kept(folder, asked):
    cache = ReplyCache(place_of(folder))
    try:
        return [reply.text if (reply := cache.get(request.key())) else None for request in asked]
    finally:
        cache.close()


def texts(asked):
    return [f"reply to {request.messages[-1].content}" for request in asked]
