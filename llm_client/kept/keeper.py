"""Writes replies into the cache, those that come in together with one sync of the disk."""

from __future__ import annotations

import asyncio

from llm_client.kept.cache import KeptReply, ReplyCache
from llm_client.request import ChatReply


class Keeper:
    """Hands each reply out once it is on the disk; must be used on one event loop.

    A sync takes milliseconds, and with many requests under way replies come in bunches: while one bunch is written on
    a thread, the next one gathers.
    """

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._gathered: list[tuple[KeptReply, asyncio.Future[ChatReply]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def keep(self, entry: KeptReply) -> ChatReply:
        """Write ``entry`` and return what is now kept under its key; see ``ReplyCache.put``.

        It is written even where nobody waits for it any more.
        """
        done: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._gathered.append((entry, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await done

    async def finish(self) -> None:
        """Wait until everything received is on the disk."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        try:
            while self._gathered:
                bunch, self._gathered = self._gathered, []
                await self._write_bunch(bunch)
        finally:
            self._writing = None

    async def _write_bunch(self, bunch: list[tuple[KeptReply, asyncio.Future[ChatReply]]]) -> None:
        try:
            kept = await asyncio.to_thread(self._cache.put_all, [entry for entry, _ in bunch])
        except Exception as error:
            for _, done in bunch:
                if not done.done():
                    done.set_exception(error)
            return
        for (_, done), reply in zip(bunch, kept, strict=True):
            if not done.done():
                done.set_result(reply)
