"""How many requests and tokens may go out in a minute, each when the server's pace allows it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from llm_client.errors import LLMError
from llm_client.live.pace import Pace, Sent

_REQUEST_BURST_S, _TOKEN_BURST_S = 1.0, 6.0
_LONGEST_SLEEP_S = 0.25
_CLOCK_GRAIN_S = 1e-6
_MANY = 10**9


class Bucket:
    """A token bucket that lets no more than ``per_minute`` units through in any 60 s.

    What it holds when full counts against the minute too, so that a burst after a rest does not pass the limit. An
    amount larger than the bucket goes through when the bucket is full and leaves a debt.

    Parameters
    ----------
    per_minute : int
        Units that may go through in a minute.
    burst_s : float
        Seconds' worth of units that may go through at once; one unit always may.
    clock : callable
        Seconds that never run backwards.
    """

    def __init__(self, per_minute: int, burst_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = max(1.0, per_minute * burst_s / 60)
        # A bucket of one unit spaces them evenly, and N even steps fill a minute; a larger one is part of the N.
        self._rate = (per_minute if self._capacity == 1.0 else per_minute - self._capacity) / 60
        self._clock = clock
        self._level = self._capacity
        self._filled_at = clock()

    def wait_s(self, amount: float) -> float:
        """Seconds until ``amount`` may go through."""
        now = self._clock()
        self._level = min(self._capacity, self._level + self._rate * (now - self._filled_at))
        self._filled_at = now
        return max(0.0, min(amount, self._capacity) - self._level) / self._rate

    def take(self, amount: float) -> None:
        """``amount`` goes through; a negative one gives back what was taken too much."""
        self._level = min(self._capacity, self._level - amount)


class RateLimits:
    """Lets requests out in the order in which they came, each when both limits and the server's pace allow it.

    Must be used on one event loop; a waiting request may be cancelled at any time and has then taken nothing.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : int, optional
        None means no limit.
    clock, sleep : callable
        A clock in seconds that never runs backwards, and the way to wait on it.
    pace : Pace, optional
        How fast and how many at once the server takes them; without one, as they come.
    """

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        pace: Pace | None = None,
    ) -> None:
        self._requests = Bucket(requests_per_minute, _REQUEST_BURST_S, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, _TOKEN_BURST_S, clock) if tokens_per_minute else None
        self._sleep = sleep
        self._pace = pace or Pace(_MANY, clock)
        self._under_way = 0
        self._left = asyncio.Event()
        self._ended: tuple[type[LLMError], str] | None = None
        # asyncio's lock wakes those who wait in their order, so no large request starves behind small ones.
        self._turn = asyncio.Lock()

    @property
    def count_tokens(self) -> bool:
        """Whether tokens are limited, so that a request's have to be estimated."""
        return self._tokens is not None

    async def admit(self, tokens: int) -> Sent:
        """Wait until one more request with about ``tokens`` tokens may go out, and count it; `leave` takes it off.

        Raises
        ------
        LLMError
            What `end` was called with: nothing goes out any more.
        """
        async with self._turn:
            while True:
                if self._ended is not None:
                    kind, text = self._ended
                    raise kind(text)
                if self._under_way >= self._pace.at_once:
                    self._left.clear()
                    await self._left.wait()
                elif (wait_s := self._wait_s(tokens)) > _CLOCK_GRAIN_S:
                    # In slices, so that tokens given back in the meantime are noticed.
                    await self._sleep(min(wait_s, _LONGEST_SLEEP_S))
                else:
                    break
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)
            self._under_way += 1
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

    def _wait_s(self, tokens: int) -> float:
        return max(
            self._pace.wait_s(),
            self._requests.wait_s(1) if self._requests is not None else 0.0,
            self._tokens.wait_s(tokens) if self._tokens is not None else 0.0,
        )
