"""Which requests are in which batch, kept in the file of the replies so that both change together."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion.llm_client.cache.cache import CachedReply, ReplyCache, insert_reply
from apportion.llm_client.cache.leases import claimed_keys
from apportion.llm_client.cache.reservations import reserve
from apportion.llm_client.cache.schema import Connection

_BATCHES = "SELECT id, token, dialect, sent_at, input_file, batch_id FROM batches WHERE url = ? ORDER BY id"

_PUT_REQUEST = """
INSERT INTO batched (key, batch, reservation) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, reservation = excluded.reservation
"""


@dataclass(frozen=True)
class BookedBatch:
    """One batch: ``token`` is our name for it, ``batch_id`` the server's, None until we know it.

    ``sent_at`` (Unix seconds) is when the server may first have heard of it, ``learnt`` the dialect that it was
    written in, ``input_file`` the server's name for the file of requests.
    """

    number: int
    token: str
    learnt: str
    sent_at: float | None
    input_file: str | None
    batch_id: str | None


class BatchBook:
    """The account of batches; every change is on the disk when its method returns.

    ``cache``: the file that it is kept in. ``url``: the server whose batches these are; those of another are left
    alone.
    """

    def __init__(self, cache: ReplyCache, url: str) -> None:
        self._cache = cache
        self._url = url

    def batches(self) -> list[BookedBatch]:
        """Every batch that is not settled, the oldest first."""
        rows = self._cache.transact(lambda connection: connection.execute(_BATCHES, (self._url,)).fetchall())
        return [BookedBatch(*row) for row in rows]

    def elsewhere(self) -> list[str]:
        """Addresses of other servers that batches of this file are at."""
        query = "SELECT DISTINCT url FROM batches WHERE url != ? ORDER BY url"
        return [url for (url,) in self._cache.transact(lambda c: c.execute(query, (self._url,)).fetchall())]

    def claim(
        self, most_usd: Mapping[str, float | None], ceiling_usd: float | None, learnt: str
    ) -> tuple[BookedBatch, list[str], str | None]:
        """Put requests into a new batch, each with what is set aside for it, as far as the budget goes.

        What another process is asking at this moment is left to it.

        ``most_usd``: by key, the dearest that the request can be; read only where there is a ceiling. ``ceiling_usd``:
        US dollars, or None. ``learnt``: the dialect that the batch will be written in. Returns the batch, the keys that
        are in it, and the first key that did not fit into the budget, if any. Where no key is in it, there is no batch
        in the book either.
        """
        token = uuid.uuid4().hex

        def claim(connection: Connection) -> tuple[int, list[str], str | None]:
            row = connection.execute(
                "INSERT INTO batches (token, url, dialect) VALUES (?, ?, ?) RETURNING id", (token, self._url, learnt)
            ).fetchone()
            number, claimed, too_dear = int(row[0]), [], None
            elsewhere = claimed_keys(connection)
            for key, usd in most_usd.items():
                if key in elsewhere:
                    continue
                reservation = None
                if ceiling_usd is not None and usd is not None:
                    reservation = reserve(connection, usd, ceiling_usd)
                    if reservation is None:
                        too_dear = key
                        break
                # In the place of one that stands in a batch which a damaged file has lost.
                connection.execute(_PUT_REQUEST, (key, number, reservation))
                claimed.append(key)
            if not claimed:
                connection.execute("DELETE FROM batches WHERE id = ?", (number,))
            return number, claimed, too_dear

        number, claimed, too_dear = self._cache.transact(claim)
        return BookedBatch(number, token, learnt, None, None, None), claimed, too_dear

    def note(self, batch: BookedBatch, **known: str | float) -> None:
        """Write down what has become known of ``batch``: its ``input_file``, ``sent_at`` or ``batch_id``."""
        columns = ", ".join(f"{name} = ?" for name in known)
        values = (*known.values(), batch.number)
        self._cache.transact(lambda c: c.execute(f"UPDATE batches SET {columns} WHERE id = ?", values))

    def keys(self, batch: BookedBatch) -> set[str]:
        """Requests of ``batch`` that have no reply yet."""
        query = "SELECT key FROM batched WHERE batch = ?"
        return {key for (key,) in self._cache.transact(lambda c: c.execute(query, (batch.number,)).fetchall())}

    def settle(self, batch: BookedBatch, replies: Sequence[CachedReply]) -> int:
        """Keep ``replies`` and take them out of ``batch``, all at once; those not in it any more are left aside.

        Returns how many were kept.
        """

        def settle(connection: Connection) -> int:
            kept = 0
            for entry in replies:
                row = _take(connection, entry.key, batch)
                if row is not None:
                    insert_reply(connection, replace(entry, reservation=row[0]))
                    kept += 1
            return kept

        return self._cache.transact(settle)

    def ask_directly(self, batch: BookedBatch, keys: Sequence[str]) -> None:
        """These got no reply in ``batch`` and would get none in another; nothing is paid for them."""

        def turn(connection: Connection) -> None:
            for key in keys:
                if _release(connection, key, batch):
                    connection.execute("INSERT INTO batched VALUES (?, NULL, NULL)", (key,))

        self._cache.transact(turn)

    def free(self, batch: BookedBatch, keys: Sequence[str]) -> None:
        """These got no reply in ``batch``, are not paid, and may go into another."""
        self._cache.transact(lambda connection: [_release(connection, key, batch) for key in keys])

    def drop(self, batch: BookedBatch, *, paid: bool = False) -> int:
        """Forget ``batch`` and free its requests; returns how many there were.

        ``paid`` says that they may have to be paid all the same, so that what is set aside for them stays so.
        """

        def drop(connection: Connection) -> int:
            if not paid:
                connection.execute(
                    "DELETE FROM reserved WHERE id IN (SELECT reservation FROM batched WHERE batch = ?)",
                    (batch.number,),
                )
            freed = connection.execute("DELETE FROM batched WHERE batch = ?", (batch.number,)).rowcount
            connection.execute("DELETE FROM batches WHERE id = ?", (batch.number,))
            return int(freed)

        return self._cache.transact(drop)


def keys_in_batches(cache: ReplyCache) -> dict[str, str]:
    """Requests that are in a batch of any server, with the batch's name: asking them directly would pay twice."""
    query = "SELECT key, coalesce(batch_id, 'not sent yet') FROM batched JOIN batches ON batched.batch = batches.id"
    action: Callable[[Connection], list[tuple[str, str]]] = lambda c: c.execute(query).fetchall()  # noqa: E731
    return dict(cache.transact(action))


def keys_to_ask_directly(cache: ReplyCache) -> set[str]:
    """Requests that a batch has refused."""
    query = "SELECT key FROM batched WHERE batch IS NULL"
    return {key for (key,) in cache.transact(lambda connection: connection.execute(query).fetchall())}


def _take(connection: Connection, key: str, batch: BookedBatch) -> tuple[int | None] | None:
    """Take a request out of ``batch``: its reservation, or None where it is not in it."""
    row: tuple[int | None] | None = connection.execute(
        "DELETE FROM batched WHERE key = ? AND batch = ? RETURNING reservation", (key, batch.number)
    ).fetchone()
    return row


def _release(connection: Connection, key: str, batch: BookedBatch) -> bool:
    row = _take(connection, key, batch)
    if row is not None and row[0] is not None:
        connection.execute("DELETE FROM reserved WHERE id = ?", row)
    return row is not None
