"""Writes into the cache what requests need written, those that come together with one sync of the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from apportion.llm_client.cache import leases, reservations
from apportion.llm_client.cache.cache import CachedReply, ReplyCache, insert_reply
from apportion.llm_client.cache.leases import RENEW_S, RequestLease
from apportion.llm_client.cache.schema import Connection
from apportion.llm_client.request import ChatReply

_Result = TypeVar("_Result")
_Action = Callable[[Connection, int], _Result]


@dataclass(frozen=True)
class _Entry:
    """Something to be written; called with the connection and the number of this client in the cache."""

    action: _Action[Any]
    synced: bool
    done: asyncio.Future[Any]
    keeps: tuple[CachedReply, ...] = ()


class CacheWriter:
    """Claims requests, sets money aside and keeps replies, each on the disk before it is told; for one event loop.

    A sync takes milliseconds, and with many requests under way replies come in bunches: while one bunch is written on
    a thread, the next one gathers. A claim needs no sync: it is of no use to anybody once the machine is down.
    """

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._gathered: list[_Entry] = []
        self._writing: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._owner: int | None = None

    async def keep(self, entry: CachedReply) -> ChatReply:
        """Write ``entry`` and return what is now kept under its key; see ``ReplyCache.put``.

        It is written even where nobody waits for it any more.
        """
        return await self._submit(
            lambda connection, owner: insert_reply(connection, entry), synced=True, keeps=(entry,)
        )

    async def claim(self, key: str) -> RequestLease:
        """Claim the request ``key`` for this client; see ``leases.claim``."""
        claimed = self._submit(lambda connection, owner: leases.claim(connection, key, owner), synced=False)
        return await self._or_undo(claimed, lambda _: self.end_claim(key))

    def end_claim(self, key: str) -> None:
        """This client does not ask the request ``key`` any more, and has no reply."""
        self._submit(lambda connection, owner: leases.end_claim(connection, key, owner), synced=False)

    async def reserve(self, usd: float, ceiling_usd: float) -> int | None:
        """Set ``usd`` aside for a try, on the disk before it is sent; see ``reservations.reserve``."""
        reserved = self._submit(
            lambda connection, owner: reservations.reserve(connection, usd, ceiling_usd, owner), synced=True
        )
        return await self._or_undo(reserved, self._give_back)

    def end_try(self, reservation: int, *, paid: bool) -> None:
        """A try brought no reply; ``paid`` says that it may have to be paid all the same."""
        end = reservations.count_as_lost if paid else reservations.release
        self._submit(lambda connection, owner: end(connection, reservation), synced=False)

    async def act(self, action: _Action[_Result], undo: Callable[[_Result], object] = lambda result: None) -> _Result:
        """Do ``action`` as a part of a transaction; ``undo`` its result where nobody waits for it any more."""
        return await self._or_undo(self._submit(action, synced=False), undo)

    def note(self, action: _Action[object]) -> None:
        """Do ``action`` as a part of a transaction, some time; nobody waits for it."""
        self._submit(action, synced=False)

    def _give_back(self, reservation: int | None) -> None:
        if reservation is not None:
            self.end_try(reservation, paid=False)

    def now(self) -> float:
        """See ``ReplyCache.now``."""
        return self._cache.now()

    async def finish(self) -> None:
        """Wait until everything received is on the disk."""
        while self._writing is not None:
            await self._writing
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Give up all claims, once everything is on the disk."""
        if self._renewing is not None:
            self._renewing.cancel()
        if self._owner is not None:
            self._submit(leases.remove_owner, synced=False)
        await self.finish()

    def _submit(
        self, action: _Action[_Result], *, synced: bool, keeps: tuple[CachedReply, ...] = ()
    ) -> asyncio.Future[_Result]:
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._gathered.append(_Entry(action, synced, done, keeps))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return done

    async def _or_undo(self, done: asyncio.Future[_Result], undo: Callable[[_Result], object]) -> _Result:
        """What ``done`` brings; where nobody waits for it any more, ``undo`` is called with that."""
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            done.add_done_callback(lambda ended: None if ended.exception() else undo(ended.result()))
            raise

    async def _write(self) -> None:
        try:
            while self._gathered:
                bunch, self._gathered = self._gathered, []
                await self._write_bunch(bunch)
        finally:
            self._writing = None

    async def _write_bunch(self, bunch: list[_Entry]) -> None:
        def act(connection: Connection) -> tuple[int, list[Any]]:
            owner = leases.add_owner(connection) if self._owner is None else self._owner
            return owner, [entry.action(connection, owner) for entry in bunch]

        synced = any(entry.synced for entry in bunch)
        keeps = [reply for entry in bunch for reply in entry.keeps]
        try:
            self._owner, results = await asyncio.to_thread(self._cache.transact, act, synced=synced, keeps=keeps)
        except Exception as error:
            for entry in bunch:
                if not entry.done.done():
                    entry.done.set_exception(error)
                    entry.done.exception()  # Whether somebody waits for it or not.
            return
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        for entry, result in zip(bunch, results, strict=True):
            if not entry.done.done():
                entry.done.set_result(result)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            self._submit(leases.renew, synced=False)
