"""A ceiling for what is paid: the worst case of a try is set aside before it is sent."""

from __future__ import annotations

import asyncio

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.leases import growing_waits_s
from apportion.llm_client.cache.writer import CacheWriter
from apportion.llm_client.cost.prices import SHIPPED, Price
from apportion.llm_client.errors import BudgetError, SetupError
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.usage import exceeded_text, usd_text


class Budget:
    """Lets a try out only if all that was paid, all that is under way at its dearest, and it, stay within the ceiling.

    What counts is everything that the cache file holds, whichever run or process paid it. A try whose reply never came
    (a timeout, a kill) may have been paid and stays counted at its dearest. Once a request did not fit, none is sent
    any more: going on with the small ones would leave a choice of short questions. Must be used on one event loop.

    ``ceiling_usd``: US dollars. ``price``: the model's; None is an error. ``max_tokens``: the longest reply that
    requests ask for. ``cache``: where replies and their cost are kept; None is an error. ``model``: its name, for
    errors. ``keeper``: writes into the cache; needed where requests are sent one by one. Raises ``SetupError``: the
    budget could not be kept: the price or the longest reply is not known, or there is no cache.
    """

    def __init__(
        self,
        ceiling_usd: float,
        price: Price | None,
        max_tokens: int | None,
        cache: ReplyCache | None,
        model: str,
        keeper: CacheWriter | None = None,
    ) -> None:
        if cache is None:
            raise SetupError("a budget needs a cache of replies, which is its account: name its file.")
        if price is None:
            raise SetupError(
                f"a budget of {usd_text(ceiling_usd)} cannot be kept: no price is known for {model!r}. Put it into a "
                f"table like {SHIPPED} and name that (in a run's configuration: run.prices), or leave the budget out."
            )
        if max_tokens is None and price.max_output_tokens is None:
            raise SetupError(
                f"a budget of {usd_text(ceiling_usd)} cannot be kept: nothing says how long a reply of {model!r} can "
                "be. Set max_tokens, or max_output_tokens in your price table."
            )
        self.ceiling_usd = ceiling_usd
        self._price, self._cache, self._keeper = price, cache, keeper
        self._under_way: dict[str, int] = {}
        self._at_once = 0
        self._spent: str | None = None
        self._changed = asyncio.Event()
        # One waits for room at a time, in the order in which they came.
        self._turn = asyncio.Lock()

    async def reserve(self, request: ChatRequest) -> None:
        """Set aside what one try of ``request`` may cost, once there is room for it.

        Raises ``BudgetError``: there is no room, and nothing is under way that could give some back.
        """
        most_usd = self.most_usd(request)
        if not self._turn.locked() and await self._set_aside_at_once(request.key(), most_usd):
            return
        async with self._turn:
            waits_s, alone = growing_waits_s(), False
            while True:
                if self._spent is not None:
                    raise BudgetError(self._spent)
                self._changed.clear()
                if await self._set_aside(request.key(), most_usd):
                    return
                if self._changed.is_set():
                    continue  # Money has come back since the attempt.
                if self._under_way or self._at_once:
                    await self._changed.wait()
                elif self._cache.usage().under_way_usd:
                    # Another process' tries will give most of it back: they cost less than their dearest outcome.
                    await asyncio.sleep(next(waits_s))
                elif not alone:
                    alone = True  # Whoever was under way at the attempt has given back what was left.
                else:
                    self._spent = self.reached(most_usd)

    async def _set_aside_at_once(self, key: str, most_usd: float) -> bool:
        """Nobody waits for room, so that many may try at once and share one sync of the disk."""
        if self._spent is not None:
            raise BudgetError(self._spent)
        self._at_once += 1
        try:
            return await self._set_aside(key, most_usd)
        finally:
            self._at_once -= 1
            self._changed.set()

    async def _set_aside(self, key: str, most_usd: float) -> bool:
        assert self._keeper is not None
        reservation = await self._keeper.reserve(most_usd, self.ceiling_usd)
        if reservation is not None:
            self._under_way[key] = reservation
        return reservation is not None

    def end_try(self, key: str, *, paid: bool) -> None:
        """A try brought no reply; ``paid`` says that it may have to be paid all the same."""
        reservation = self._under_way.pop(key, None)
        if reservation is not None:
            assert self._keeper is not None
            self._keeper.end_try(reservation, paid=paid)
        self._changed.set()

    def settle(self, key: str) -> None:
        """The reply is in the cache, with its cost in place of the reservation."""
        self._under_way.pop(key, None)
        self._changed.set()

    def reservation(self, key: str) -> int | None:
        """The reservation under which ``key`` was sent."""
        return self._under_way.get(key)

    def most_usd(self, request: ChatRequest) -> float:
        """What one try of ``request`` cannot cost more than."""
        most_usd = self._price.most_usd(request)
        assert most_usd is not None  # The constructor has seen to it.
        return most_usd

    def reached(self, most_usd: float) -> str:
        """Why a request that may cost ``most_usd`` was not sent, for a person."""
        used = self._cache.usage()
        exceeded = exceeded_text(self.ceiling_usd, used)
        if exceeded is not None:
            return f"{exceeded}. {used.cost_text()} in all for {used.replies:,} replies."
        aside = [
            (used.unanswered_usd, "set aside for requests whose reply never came"),
            (used.under_way_usd, "set aside by another run that is under way"),
            (used.in_batches_usd, "set aside for requests that are in a batch"),
        ]
        parts = "".join(f", {usd_text(usd)} {what}" for usd, what in aside if usd)
        if used.unpriced:
            parts += f", and {used.unpriced:,} replies of unknown cost not counted"
        return (
            f"stopped before the budget of {usd_text(self.ceiling_usd)} is passed: {usd_text(used.usd)} paid for "
            f"{used.replies:,} replies{parts}; the next request may cost up to {usd_text(most_usd)}."
        )
