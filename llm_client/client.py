"""The one client to a language model: cached, deduplicated, and safe to call from many threads at once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from apportion.llm_client.batch.ledger import keys_in_batches
from apportion.llm_client.cache.cache import CachedReply, ReplyCache, ServedModels
from apportion.llm_client.cache.database import Place
from apportion.llm_client.cache.leases import growing_waits_s
from apportion.llm_client.cache.recorded import RecordedReplies, Recorder, live_header
from apportion.llm_client.cache.writer import CacheWriter
from apportion.llm_client.cost.prices import find_price
from apportion.llm_client.cost.spending_limit import Budget
from apportion.llm_client.errors import InBatchError, RequestError, SetupError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.consent import check_access
from apportion.llm_client.transport.server import Server

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class Provider(Protocol):
    """Where replies come from: a live server, or a file."""

    async def fetch(self, request: ChatRequest) -> ChatReply:
        """The reply, or an ``LLMError``."""

    async def close(self) -> None:
        """Let go of connections."""


class Client:
    """Asks a model; every reply is on the disk before anybody sees it, so that no crash pays twice.

    Requests run on an event loop in a thread of the client's own; ``complete`` may be called from any number of
    threads. Equal requests that are under way at once are asked once, by whichever process on the same cache: the
    others wait for its reply. The limits of ``settings`` hold for all processes on the cache that ask the model.

    ``settings``: which model answers, and where it is. ``cache``: where replies are kept: an SQLite
    file, or a PostgreSQL URL. Recorded replies do not
    go through it: their file is the one truth. ``recorded``: the file of recorded replies; needed for ``provider =
    "recorded"``. ``record``: a file that each reply is appended to, from the server or from the cache. ``prices``: A
    price table that goes before the shipped one. ``budget_usd``: US dollars that everything ever paid into ``cache``
    may not pass; of no effect on recorded replies. Raises ``SetupError``: no request could succeed: no key, no consent,
    no file of recorded replies, files that cannot be used; Nothing has been sent.
    """

    def __init__(
        self,
        settings: LLMSettings,
        *,
        cache: Place | None = None,
        recorded: Path | None = None,
        record: Path | None = None,
        prices: Path | None = None,
        budget_usd: float | None = None,
    ) -> None:
        self._price = find_price(settings.model, prices)
        live = settings.provider == "openai"
        if live:
            check_access(settings)
        self._cache = ReplyCache(cache) if cache is not None and live else None
        self._keeper = CacheWriter(self._cache) if self._cache is not None else None
        self._served = ServedModels(self._cache) if self._cache is not None else None
        self._budget = None
        if budget_usd is not None and live:
            self._budget = Budget(
                budget_usd, self._price, settings.max_tokens, self._cache, settings.model, self._keeper
            )
        self._provider = _provider(settings, recorded, self._budget, self._keeper)
        self._recorder = Recorder(record, live_header(settings)) if record is not None and live else None
        self._path, self._waited = cache, False
        self._under_way: dict[str, asyncio.Task[ChatReply]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-client", daemon=True)
        self._thread.start()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to ``request``: the kept one, or a new one that is kept from now on. Blocks until it is there.

        Raises ``SetupError``: no request can succeed until a person changes something. ``BudgetError``: it could pass
        the budget, and was not sent. ``RequestError``: this request failed after all retries.
        """
        try:
            return self._run(self._complete(request))
        except CancelledError:
            raise RequestError("the client was closed before the reply came") from None

    def close(self) -> None:
        """Stop what is under way and close everything; replies received so far are kept."""
        if self._loop.is_closed():
            return
        self._run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._cache is not None:
            self._cache.close()
        if self._recorder is not None:
            self._recorder.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _complete(self, request: ChatRequest) -> ChatReply:
        key = request.key()
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._obtain(key, request))
            task.add_done_callback(lambda done: self._under_way.pop(key, None))
        return await task

    async def _obtain(self, key: str, request: ChatRequest) -> ChatReply:
        reply = self._cache.get(key) if self._cache is not None else None
        if reply is None:
            reply = await (self._provider.fetch(request) if self._keeper is None else self._fetch(key, request))
        if self._recorder is not None:
            self._recorder.add(request, reply)
        return reply

    async def _fetch(self, key: str, request: ChatRequest) -> ChatReply:
        """The reply that another run on this cache is about to get, else the server's; kept, and its claim ended."""
        assert self._keeper is not None and self._served is not None
        reply = await self._claimed_elsewhere(key)
        if reply is not None:
            return reply
        try:
            reply = await self._provider.fetch(request)
        except BaseException:
            self._keeper.end_claim(key)
            raise
        entry = CachedReply(
            key,
            reply,
            self._usd(request, reply),
            self._budget.reservation(key) if self._budget is not None else None,
            request.model,
            self._price.overrun(request, reply) if self._price is not None and self._budget is not None else None,
        )
        reply = await self._keeper.keep(entry)
        self._served.note(request.model, reply.model)
        if self._budget is not None:
            self._budget.settle(key)
        return reply

    async def _claimed_elsewhere(self, key: str) -> ChatReply | None:
        """Claim the request, or wait for the reply of the process that has; None where it is ours to ask."""
        assert self._keeper is not None
        waits_s = growing_waits_s()
        while True:
            claim = await self._keeper.claim(key)
            if claim.state == "in a batch":
                self._refuse_what_is_in_a_batch(key)
            elif claim.state == "asked elsewhere":
                if not self._waited:
                    self._waited = True
                    _log.warning(
                        "another run on %s is asking the same requests; this one waits for its replies, so that they "
                        "are paid once",
                        self._path,
                    )
                await asyncio.sleep(next(waits_s))
            else:
                return claim.reply

    def _refuse_what_is_in_a_batch(self, key: str) -> None:
        assert self._cache is not None
        in_batches = keys_in_batches(self._cache)
        if key in in_batches:  # Else it has ended since.
            raise InBatchError(_in_batch(in_batches[key], len(in_batches)))

    def _usd(self, request: ChatRequest, reply: ChatReply) -> float | None:
        if self._price is None:
            return None
        usd = self._price.reply_usd(reply)
        # A budget has to count a reply whose tokens the server did not tell, so it counts as the dearest possible.
        return self._price.dearest_usd(request, reply) if usd is None and self._budget is not None else usd

    async def _finish(self) -> None:
        if self._keeper is not None:
            # What is being written may still be handed out.
            await self._keeper.finish()
            await asyncio.sleep(0)
        under_way = list(self._under_way.values())
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._provider.close()  # It gives back its share of the limits.
        if self._keeper is not None:
            await self._keeper.close()


def _provider(
    settings: LLMSettings, recorded: Path | None, budget: Budget | None, keeper: CacheWriter | None
) -> Provider:
    if settings.provider == "openai":
        return Server(settings, budget, keeper)
    if recorded is None:
        raise SetupError(
            "provider = 'recorded', and no file of recorded replies is named. Name it (in a run's configuration: "
            "run.recorded), or use provider = 'openai'."
        )
    return RecordedReplies(recorded)


def _in_batch(batch: str, requests: int) -> str:
    return (
        f"{requests:,} requests are in a batch ({batch}), and to ask one of them directly would pay it twice. Collect "
        "the batch, or give it up."
    )
