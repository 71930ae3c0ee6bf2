"""Who is asking or making what: a request is claimed before it is sent, so that two runs on one ledger pay it once.

Every function is a part of a transaction. A claim ends with its reply, when its owner gives it up, or when the owner
does not live any more; what `reservations` set aside for a try stays set aside then, as one whose reply never came.
"""

from __future__ import annotations

import logging
import os
import platform
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from apportion.llm_client.cache.schema import Connection, read_reply
from apportion.llm_client.request import ChatReply

_log = logging.getLogger(__name__)
LEASE_S, RENEW_S = 60.0, 15.0
"""A claim that its process has not renewed for so long is free, wherever that process is."""
_GRACE_S = RENEW_S + 5.0
"""A process is watched for so long after its lease has ended: a clock that was set, or a machine that slept, ends all
leases at once, and those who live renew theirs within `RENEW_S`."""
_ended: dict[Owner, float] = {}
"""When, by a clock that nobody sets and that sleeps with the machine, a lease was first seen to have ended."""


@dataclass(frozen=True)
class Owner:
    """A process: ``host`` is one name for all that share its process numbers, ``started`` tells a number used again.

    ``expires_at`` (Unix seconds by the database's clock) is when its claims end unless they are renewed.
    """

    host: str
    pid: int
    started: str
    expires_at: float = float("inf")

    def lives(self, now_s: float) -> bool:
        """Whether its claims hold at ``now_s``; a process on another host is known by its lease alone."""
        if self.host == _host() and started_at(self.pid) != self.started:
            return False
        watched_s = time.monotonic()
        return self.expires_at >= now_s or watched_s - _ended.setdefault(self, watched_s) < _GRACE_S


def this_process() -> Owner:
    """The process that calls."""
    return Owner(_host(), os.getpid(), started_at(os.getpid()) or "")


def started_at(pid: int) -> str | None:
    """What tells the process ``pid`` from others that had its number before; None where there is no such process.

    Empty where the system does not say more than that it lives.
    """
    try:
        # The name may hold spaces and parentheses; the 20th field after it is the start in ticks since the boot.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass  # It is another user's.
    return ""


@lru_cache(maxsize=1)
def _host() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        # Containers of one machine may share its name and a folder, and number their processes apart.
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return platform.node()
    return f"{platform.node()} {boot} {space}"


_FIRST_S, _LONGEST_S = 0.05, 2.0


def growing_waits_s() -> Iterator[float]:
    """Seconds, each half as long again as the one before, with jitter, up to 2 s: endless."""
    wait_s = _FIRST_S
    while True:
        yield wait_s * random.uniform(0.8, 1.2)
        wait_s = min(_LONGEST_S, wait_s * 1.5)


_IN_A_BATCH = "SELECT 1 FROM batched JOIN batches ON batched.batch = batches.id WHERE key = ?"
"""Only of a batch that is known: what a damaged file has lost can be collected by nobody, and is asked anew."""
_CLAIM = f"""
INSERT INTO claims (key, owner) SELECT CAST(? AS TEXT), CAST(? AS INTEGER)
WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = ?)
    AND NOT EXISTS ({_IN_A_BATCH})
ON CONFLICT (key) DO NOTHING
"""
_TAKE = "INSERT INTO claims (key, owner) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner"
_OF_OWNERS = ("claims", "askers")
_ENTER = f"""
INSERT INTO owners (host, pid, started, expires_at) VALUES (?, ?, ?, unix_now() + {LEASE_S})
RETURNING id
"""
_RENEW = f"""
INSERT INTO owners (id, host, pid, started, expires_at) VALUES (?, ?, ?, ?, unix_now() + {LEASE_S})
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
"""


@dataclass(frozen=True)
class RequestLease:
    """What became of an attempt to claim a request: it is ours, its ``reply`` is there, or somebody else asks it."""

    state: Literal["ours", "kept", "in a batch", "asked elsewhere"]
    reply: ChatReply | None = None


def add_owner(connection: Connection) -> int:
    """Enter this process, and clear away what dead ones have left; returns the number that its claims are under."""
    living, me = living_owners(connection), this_process()
    for (number,) in connection.execute("SELECT id FROM owners").fetchall():
        if number not in living:
            _bury(connection, number)
    return int(connection.execute(_ENTER, (me.host, me.pid, me.started)).fetchone()[0])


def _bury(connection: Connection, owner: int) -> None:
    """End what a dead process claims and holds, and tell of it where nobody on this host has seen it die."""
    row = connection.execute("SELECT host, pid FROM owners WHERE id = ?", (owner,)).fetchone()
    if row is not None and row[0] != _host():
        _log.warning(
            "process %d of %s has not renewed its lease for %.0f s: what it was asking or making is free",
            row[1],
            row[0].split()[0],
            LEASE_S + _GRACE_S,
        )
    remove_owner(connection, owner)


def renew(connection: Connection, owner: int) -> None:
    """Let the claims of ``owner`` hold for another lease."""
    me = this_process()
    # Where another took it for dead, it is entered again; what was claimed by then is lost to it.
    connection.execute(_RENEW, (owner, me.host, me.pid, me.started))


def remove_owner(connection: Connection, owner: int) -> None:
    """End all that ``owner`` claims and holds."""
    for table in _OF_OWNERS:
        connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def living_owners(connection: Connection) -> set[int]:
    """The numbers of those who are under way."""
    rows = connection.execute("SELECT id, unix_now(), host, pid, started, expires_at FROM owners").fetchall()
    return {number for number, now_s, *owner in rows if Owner(*owner).lives(now_s)}


def claim(connection: Connection, key: str, owner: int) -> RequestLease:
    """Claim the request ``key`` for ``owner`` unless its reply is there or somebody else is asking it."""
    if connection.execute(_CLAIM, (key, owner, key, key)).rowcount == 1:
        return RequestLease("ours")
    row = connection.execute("SELECT reply, crc FROM replies WHERE key = ?", (key,)).fetchone()
    reply = None if row is None else read_reply(*row)
    if reply is not None:
        return RequestLease("kept", reply)
    if connection.execute(_IN_A_BATCH, (key,)).fetchone():
        return RequestLease("in a batch")
    row = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
    if row is not None and row[0] != owner:
        if row[0] in living_owners(connection):
            return RequestLease("asked elsewhere")
        _bury(connection, row[0])
    connection.execute(_TAKE, (key, owner))
    return RequestLease("ours")


def end_claim(connection: Connection, key: str, owner: int) -> None:
    """``owner`` does not ask the request ``key`` any more."""
    connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, owner))


def claimant(connection: Connection, key: str) -> str | None:
    """Who has claimed ``key``, in words, perhaps dead; None: nobody."""
    query = "SELECT host, pid FROM claims JOIN owners ON owners.id = claims.owner WHERE key = ?"
    row = connection.execute(query, (key,)).fetchone()
    return None if row is None else f"process {row[1]} of {row[0].split()[0]}"


def claimed_keys(connection: Connection) -> set[str]:
    """Requests that a process which lives is asking."""
    living = living_owners(connection)
    return {key for key, owner in connection.execute("SELECT key, owner FROM claims") if owner in living}
