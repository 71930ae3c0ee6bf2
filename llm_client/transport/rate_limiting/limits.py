"""How many requests and tokens may go out in a minute, each when the server's pace allows it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from apportion.llm_client.errors import LLMError
from apportion.llm_client.token_bucket import CLOCK_GRAIN_S, REQUEST_BURST_S, TOKEN_BURST_S, Bucket
from apportion.llm_client.transport.rate_limiting.pace import Pace, Sent
from apportion.llm_client.transport.rate_limiting.shared import BALANCE_S, SharedLimits

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
