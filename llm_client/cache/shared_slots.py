"""Who may send how much to a server: its limits are shared out among all clients on one cache that ask it.

Every function is a part of a transaction. What a minute allows is taken from one bucket by all, so that it holds
whoever asks, one beside the other or one after the other, and whoever of them was killed. Requests at once are dealt
out evenly; who has too many gives them up as their replies come, and only then others get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apportion.llm_client.cache.leases import living_owners
from apportion.llm_client.cache.schema import Connection
from apportion.llm_client.token_bucket import CLOCK_GRAIN_S, Bucket

_PUT_BUCKET = """
INSERT INTO buckets (name, level, at_s) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET level = excluded.level, at_s = excluded.at_s
"""
_PUT_ASKER = """
INSERT INTO askers (server, owner, slots, most) VALUES (?, ?, ?, ?)
ON CONFLICT (server, owner) DO UPDATE SET slots = excluded.slots, most = excluded.most
"""


class Slots(NamedTuple):
    """Requests that a client may have under way: the ``held`` are kept for it; it lets go of those beyond ``share``."""

    held: int = 0
    share: int = 0

    @property
    def usable(self) -> int:
        """How many may be under way before another goes out."""
        return min(self)


def share_of(most: int, rank: int, askers: int) -> int:
    """The share of the client number ``rank`` (from 0) where ``most`` are dealt out to ``askers`` as evenly as can be.

    All shares together are ``most``. With more askers than that, the last ones have none and wait for the first.
    """
    return most // askers + (rank < most % askers)


def balance_slots(connection: Connection, owner: int, server: str, most: int, under_way: int) -> Slots:
    """What ``owner``, who has ``under_way`` requests under way, may have of the ``most`` that all may have at once.

    A share that others still hold comes to it once they have let go of it, so that all together never hold more. Where
    others know of a smaller limit, that holds for all.
    """
    living = living_owners(connection) - {owner}
    rows = connection.execute("SELECT owner, slots, most FROM askers WHERE server = ?", (server,)).fetchall()
    others = {number: (slots, limit) for number, slots, limit in rows if number in living}
    asking = sorted({owner, *others})
    least = min([most, *(limit for _, limit in others.values())])
    share = share_of(least, asking.index(owner), len(asking))
    held = max(under_way, min(share, least - sum(slots for slots, _ in others.values())))
    connection.execute(_PUT_ASKER, (server, owner, held, most))
    return Slots(held, share)


def leave(connection: Connection, owner: int, server: str) -> None:
    """``owner`` does not ask the server any more, so that its share falls to the others."""
    connection.execute("DELETE FROM askers WHERE server = ? AND owner = ?", (server, owner))


def take(connection: Connection, buckets: Mapping[str, Bucket], amounts: Mapping[str, float]) -> float:
    """Take the amounts from all ``buckets`` by their names, or from none; returns the seconds until it may be."""
    _bring_up_to_date(connection, buckets)
    wait_s = max((bucket.wait_s(amounts[name]) for name, bucket in buckets.items()), default=0.0)
    if wait_s > CLOCK_GRAIN_S:
        return wait_s
    _take(connection, buckets, amounts)
    return 0.0


def correct(connection: Connection, buckets: Mapping[str, Bucket], amounts: Mapping[str, float]) -> None:
    """Take from ``buckets`` what turned out to be more than was taken, or give back a negative amount."""
    _bring_up_to_date(connection, buckets)
    _take(connection, buckets, amounts)


def _bring_up_to_date(connection: Connection, buckets: Mapping[str, Bucket]) -> None:
    for name, bucket in buckets.items():
        row = connection.execute("SELECT level, at_s FROM buckets WHERE name = ?", (name,)).fetchone()
        if row is not None:
            bucket.state = row
        bucket.fill()
        if row is not None and bucket.state[1] < row[1]:
            connection.execute(_PUT_BUCKET, (name, *bucket.state))  # The clock was set back: it fills from now on.


def _take(connection: Connection, buckets: Mapping[str, Bucket], amounts: Mapping[str, float]) -> None:
    for name, amount in amounts.items():
        buckets[name].take(amount)
        connection.execute(_PUT_BUCKET, (name, *buckets[name].state))
