"""The spending limit of a cache: a try is refused where its dearest cost would pass the ceiling (`cost.budget` asks).

Every function is a part of a transaction, so that processes that share a cache share its limit.
"""

from __future__ import annotations

from apportion.llm_client.cache.leases import living_owners
from apportion.llm_client.cache.schema import Connection

_SPENT = "SELECT (SELECT paid_usd FROM account) + (SELECT coalesce(sum(usd), 0.0) FROM reserved)"


def reserve(connection: Connection, usd: float, ceiling_usd: float, owner: int | None = None) -> int | None:
    """Set ``usd`` aside for a try and return the reservation's number.

    None where it would pass the ceiling together with all that was paid and is set aside, by any process.
    """
    (spent_usd,) = connection.execute(_SPENT).fetchone()
    if spent_usd + usd > ceiling_usd:
        return None
    row = connection.execute("INSERT INTO reserved (usd, owner) VALUES (?, ?) RETURNING id", (usd, owner)).fetchone()
    return int(row[0])


def release(connection: Connection, reservation: int) -> None:
    """Give back what was set aside for a try that is not paid."""
    connection.execute("DELETE FROM reserved WHERE id = ?", (reservation,))


def count_as_lost(connection: Connection, reservation: int) -> None:
    """Nobody waits any more for the reply to a try that may have to be paid."""
    connection.execute("UPDATE reserved SET owner = NULL WHERE id = ?", (reservation,))


def set_aside(connection: Connection) -> tuple[float, float, float]:
    """US dollars set aside for tries whose reply never came, for those under way, and for requests in a batch."""
    living = living_owners(connection)
    booked = "SELECT reservation FROM batched JOIN batches ON batched.batch = batches.id"
    in_batches = {number for (number,) in connection.execute(booked)}
    lost_usd = under_way_usd = in_batches_usd = 0.0
    for number, usd, owner in connection.execute("SELECT id, usd, owner FROM reserved"):
        if number in in_batches:
            in_batches_usd += usd
        elif owner in living:
            under_way_usd += usd
        else:
            lost_usd += usd
    return lost_usd, under_way_usd, in_batches_usd
