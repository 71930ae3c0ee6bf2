"""How many requests and tokens may go out in a minute, each when the server's pace allows it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from apportion.llm_client.cache import shared_slots
from apportion.llm_client.cache.shared_slots import Slots
from apportion.llm_client.cache.writer import CacheWriter
from apportion.llm_client.errors import LLMError
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.token_bucket import CLOCK_GRAIN_S, REQUEST_BURST_S, TOKEN_BURST_S, Bucket
from apportion.llm_client.transport.rate_limiting.pace import Pace, Sent

BALANCE_S = 1.0
"""A client looks so often whether its share has changed."""
SHORT_S = 0.2
"""And so often while it has less than it could use."""


class SharedLimits:
    """Requests at once and a minute, and tokens a minute, accounted in the cache for all who ask the same model there.

    Whatever runs beside this client or has run in the last minute counts: shards of one stage, another stage, another
    run, one that was killed. Must be used on one event loop, and by one that awaits it at a time.

    ``keeper``: writes into the cache. ``settings``: the server, the model, and the limits. ``clock``: seconds on which
    all processes that use the cache agree; by default the cache's.
    """

    def __init__(self, keeper: CacheWriter, settings: LLMSettings, clock: Callable[[], float] | None = None) -> None:
        clock = clock or keeper.now
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


_LONGEST_SLEEP_S = 0.25
_MANY = 10**9


class RateLimits:
    """Lets requests out in the order in which they came, each when both limits and the server's pace allow it.

    Must be used on one event loop; a waiting request may be cancelled at any time and has then taken nothing.

    ``requests_per_minute``, ``tokens_per_minute``: none means no limit. ``clock``, ``sleep``: a clock in seconds that
    never runs backwards, and the way to wait on it. ``pace``: how fast and how many at once the server takes them;
    without one, as they come. ``shared``: limits that hold for other clients, too; they take the place of the two
    above.
    """

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        pace: Pace | None = None,
        shared: SharedLimits | None = None,
    ) -> None:
        self._requests = Bucket(requests_per_minute, REQUEST_BURST_S, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, TOKEN_BURST_S, clock) if tokens_per_minute else None
        self._sleep = sleep
        self._pace, self._shared = pace or Pace(_MANY, clock), shared
        self._under_way = self._admitted = 0
        self._looking: asyncio.Task[None] | None = None
        self._left = asyncio.Event()
        self._ended: tuple[type[LLMError], str] | None = None
        # asyncio's lock wakes those who wait in their order, so no large request starves behind small ones.
        self._turn = asyncio.Lock()

    @property
    def count_tokens(self) -> bool:
        """Whether tokens are limited, so that a request's have to be estimated."""
        return self._tokens is not None or (self._shared is not None and self._shared.count_tokens)

    async def admit(self, tokens: int) -> Sent:
        """Wait until one more request with about ``tokens`` tokens may go out, and count it; `leave` takes it off.

        Raises ``LLMError``: what `end` was called with: nothing goes out any more.
        """
        async with self._turn:
            if self._shared is None:
                await self._wait(tokens)
            else:
                await self._wait_with_others(tokens, self._shared)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)
            self._under_way += 1
            self._admitted += 1
            return self._pace.send()

    def leave(self) -> None:
        """A request that was let out is over."""
        self._under_way -= 1
        self._left.set()

    def end(self, kind: type[LLMError], text: str) -> None:
        """Let nothing out any more: whoever waits or comes is told so by an error of ``kind``."""
        self._ended = kind, text
        self._left.set()

    def correct(self, estimated: int, used: int) -> None:
        """A request that was counted with ``estimated`` tokens has turned out to have ``used``."""
        if self._tokens is not None:
            self._tokens.take(used - estimated)
        if self._shared is not None:
            self._shared.correct(estimated, used)

    async def close(self) -> None:
        """Look after nothing any more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    @property
    def _at_once(self) -> int:
        return self._pace.at_once if self._shared is None else min(self._pace.at_once, self._shared.at_once)

    async def _wait_with_others(self, tokens: int, shared: SharedLimits) -> None:
        """Wait for this client's limits, take from what all share, and see what has changed meanwhile."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_after(shared))
        while True:
            await self._wait(tokens)
            wait_s = await shared.take(tokens)
            if not wait_s:
                break
            await self._sleep(min(wait_s, _LONGEST_SLEEP_S))
        try:
            await self._wait(tokens)
        except BaseException:
            shared.give_back(tokens)
            raise

    async def _wait(self, tokens: int) -> None:
        while True:
            if self._shared is not None:
                await self._shared.balance(self._under_way)
            if self._ended is not None:
                kind, text = self._ended
                raise kind(text)
            if self._under_way >= self._at_once:
                await self._leaving()
            elif (wait_s := self._wait_s(tokens)) > CLOCK_GRAIN_S:
                # In slices, so that tokens given back in the meantime are noticed.
                await self._sleep(min(wait_s, _LONGEST_SLEEP_S))
            else:
                break

    async def _leaving(self) -> None:
        """Wait until a request of this client is over; what others let go of is looked for now and then."""
        self._left.clear()
        if self._shared is None:
            await self._left.wait()
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._left.wait(), _LONGEST_SLEEP_S)

    async def _look_after(self, shared: SharedLimits) -> None:
        """While requests go out, give to others what became theirs, and all when none has gone out for a while."""
        try:
            seen = -1
            while True:
                await asyncio.sleep(BALANCE_S)
                # Looking and leaving are one turn: who came between them would hold a share that nobody looks after.
                async with self._turn:
                    if not self._under_way and seen == self._admitted:
                        await shared.leave()
                        return
                    seen = self._admitted
                    await shared.balance(self._under_way)
        except (LLMError, RuntimeError):
            pass  # Who asks next meets it, too, and can be told; or the process is ending, and holds nothing then.
        finally:
            self._looking = None

    def _wait_s(self, tokens: int) -> float:
        return max(
            self._pace.wait_s(),
            self._requests.wait_s(1) if self._requests is not None else 0.0,
            self._tokens.wait_s(tokens) if self._tokens is not None else 0.0,
        )
