"""A client's share of what all clients on one cache may send to a server."""

from __future__ import annotations

import time
from collections.abc import Callable

from apportion.llm_client.cache import shared_slots
from apportion.llm_client.cache.shared_slots import Slots
from apportion.llm_client.cache.writer import CacheWriter
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.token_bucket import REQUEST_BURST_S, TOKEN_BURST_S, Bucket

BALANCE_S = 1.0
"""A client looks so often whether its share has changed."""
SHORT_S = 0.2
"""And so often while it has less than it could use."""


class SharedLimits:
    """Requests at once and a minute, and tokens a minute, accounted in the cache for all who ask the same model there.

    Whatever runs beside this client or has run in the last minute counts: shards of one stage, another stage, another
    run, one that was killed. Must be used on one event loop, and by one that awaits it at a time.

    ``keeper``: writes into the cache. ``settings``: the server, the model, and the limits. ``clock``: seconds on which
    all processes that use the cache agree.
    """

    def __init__(self, keeper: CacheWriter, settings: LLMSettings, clock: Callable[[], float] = time.time) -> None:
        self._keeper, self._most = keeper, settings.concurrency
        self._server = f"{settings.url.rstrip('/')} {settings.model}"
        self._requests, self._tokens = f"requests a minute {self._server}", f"tokens a minute {self._server}"
        self._buckets: dict[str, Bucket] = {}
        if settings.requests_per_minute:
            self._buckets[self._requests] = Bucket(settings.requests_per_minute, REQUEST_BURST_S, clock)
        if settings.tokens_per_minute:
            self._buckets[self._tokens] = Bucket(settings.tokens_per_minute, TOKEN_BURST_S, clock)
        self._slots, self._balanced_at = Slots(), float("-inf")

    @property
    def count_tokens(self) -> bool:
        """Whether tokens are limited, so that a request's have to be estimated."""
        return self._tokens in self._buckets

    @property
    def at_once(self) -> int:
        """Requests that this client may have under way."""
        return self._slots.usable

    async def balance(self, under_way: int) -> None:
        """Look after this client's share of the requests at once, where it is time to."""
        now, wait_s = time.monotonic(), SHORT_S if under_way >= self.at_once else BALANCE_S
        if now - self._balanced_at >= wait_s:
            self._balanced_at = float("-inf")  # Should nobody wait for the result, it is not known.
            self._slots = await self._keeper.act(
                lambda connection, owner: shared_slots.balance_slots(
                    connection, owner, self._server, self._most, under_way
                )
            )
            self._balanced_at = now

    async def take(self, tokens: int) -> float:
        """Count one more request with about ``tokens`` tokens, or return the seconds after which to try again."""
        if not self._buckets:
            return 0.0
        amounts = self._amounts(1, tokens)
        return await self._keeper.act(
            lambda connection, owner: shared_slots.take(connection, self._buckets, amounts),
            lambda wait_s: self.give_back(tokens) if not wait_s else None,
        )

    def give_back(self, tokens: int) -> None:
        """A request that was counted does not go out."""
        if self._buckets:
            self._correct(self._amounts(-1, -tokens))

    def correct(self, estimated: int, used: int) -> None:
        """A request that was counted with ``estimated`` tokens has turned out to have ``used``."""
        if self.count_tokens and used != estimated:
            self._correct({self._tokens: used - estimated})

    async def leave(self) -> None:
        """Nothing is under way, and nothing waits: what others could use falls to them."""
        self._slots, self._balanced_at = Slots(), float("-inf")
        await self._keeper.act(lambda connection, owner: shared_slots.leave(connection, owner, self._server))

    def _amounts(self, requests: int, tokens: int) -> dict[str, float]:
        counts = {self._requests: requests, self._tokens: tokens}
        return {name: counts[name] for name in self._buckets}

    def _correct(self, amounts: dict[str, float]) -> None:
        self._keeper.note(lambda connection, owner: shared_slots.correct(connection, self._buckets, amounts))
