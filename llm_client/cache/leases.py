"""Who is asking what: a request is claimed before it is sent, so that two runs on one cache pay it once.

Every function is a part of a transaction. A claim ends with its reply, when its owner gives it up, or when the owner
does not live any more; what `reservations` set aside for a try stays set aside then, as one whose reply never came.
"""

from __future__ import annotations

import os
import platform
import random
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from apportion.llm_client.cache.schema import read_reply
from apportion.llm_client.request import ChatReply

LEASE_S, RENEW_S = 60.0, 15.0
"""A claim that its process has not renewed for so long is free, wherever that process is."""
_GRACE_S = RENEW_S + 5.0
"""A process of this host is watched for so long after its lease has ended: a clock that was set, or a machine that
slept, ends all leases at once, and those who live renew theirs within `RENEW_S`."""
_ended: dict[Owner, float] = {}
"""When, by a clock that nobody sets and that sleeps with the machine, a lease was first seen to have ended."""


@dataclass(frozen=True)
class Owner:
    """A process: ``host`` is one name for all that share its process numbers, ``started`` tells a number used again.

    ``expires_at`` (Unix seconds) is when its claims end unless they are renewed.
    """

    host: str
    pid: int
    started: str
    expires_at: float

    def lives(self) -> bool:
        """Whether its claims hold; a process on another host is known by its lease alone."""
        holds = self.expires_at >= time.time()
        if self.host != _host():
            return holds
        if started_at(self.pid) != self.started:
            return False
        now_s = time.monotonic()
        return holds or now_s - _ended.setdefault(self, now_s) < _GRACE_S


def this_process() -> Owner:
    """The process that calls, with a lease from now on."""
    return Owner(_host(), os.getpid(), started_at(os.getpid()) or "", time.time() + LEASE_S)


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


_IN_A_BATCH = "SELECT 1 FROM batched JOIN batches ON batched.batch = batches.id WHERE key = ?1"
"""Only of a batch that is known: what a damaged file has lost can be collected by nobody, and is asked anew."""
_CLAIM = f"""
INSERT INTO claims (key, owner) SELECT ?1, ?2
WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = ?1)
    AND NOT EXISTS ({_IN_A_BATCH})
ON CONFLICT (key) DO NOTHING
"""
_OF_OWNERS = ("claims", "askers")


@dataclass(frozen=True)
class RequestLease:
    """What became of an attempt to claim a request: it is ours, its ``reply`` is there, or somebody else asks it."""

    state: Literal["ours", "kept", "in a batch", "asked elsewhere"]
    reply: ChatReply | None = None


def add_owner(connection: sqlite3.Connection) -> int:
    """Enter this process, and clear away what dead ones have left; returns the number that its claims are under."""
    living = living_owners(connection)
    dead = [(number,) for (number,) in connection.execute("SELECT id FROM owners") if number not in living]
    for table in _OF_OWNERS:
        connection.executemany(f"DELETE FROM {table} WHERE owner = ?", dead)
    connection.executemany("DELETE FROM owners WHERE id = ?", dead)
    me = this_process()
    row = connection.execute(
        "INSERT INTO owners (host, pid, started, expires_at) VALUES (?, ?, ?, ?)",
        (me.host, me.pid, me.started, me.expires_at),
    )
    return int(row.lastrowid or 0)


def renew(connection: sqlite3.Connection, owner: int) -> None:
    """Let the claims of ``owner`` hold for another lease."""
    me = this_process()
    # Where another took it for dead, it is entered again; what was claimed by then is lost to it.
    connection.execute(
        "INSERT INTO owners (id, host, pid, started, expires_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at",
        (owner, me.host, me.pid, me.started, me.expires_at),
    )


def remove_owner(connection: sqlite3.Connection, owner: int) -> None:
    """End all that ``owner`` claims and holds."""
    for table in _OF_OWNERS:
        connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def living_owners(connection: sqlite3.Connection) -> set[int]:
    """The numbers of those who are under way."""
    rows = connection.execute("SELECT id, host, pid, started, expires_at FROM owners").fetchall()
    return {number for number, *owner in rows if Owner(*owner).lives()}


def claim(connection: sqlite3.Connection, key: str, owner: int) -> RequestLease:
    """Claim the request ``key`` for ``owner`` unless its reply is there or somebody else is asking it."""
    if connection.execute(_CLAIM, (key, owner)).rowcount == 1:
        return RequestLease("ours")
    row = connection.execute("SELECT reply, crc FROM replies WHERE key = ?", (key,)).fetchone()
    reply = None if row is None else read_reply(*row)
    if reply is not None:
        return RequestLease("kept", reply)
    if connection.execute(_IN_A_BATCH, (key,)).fetchone():
        return RequestLease("in a batch")
    row = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
    if row is not None and row[0] != owner and row[0] in living_owners(connection):
        return RequestLease("asked elsewhere")
    connection.execute("INSERT OR REPLACE INTO claims (key, owner) VALUES (?, ?)", (key, owner))
    return RequestLease("ours")


def end_claim(connection: sqlite3.Connection, key: str, owner: int) -> None:
    """``owner`` does not ask the request ``key`` any more."""
    connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, owner))


def claimed_keys(connection: sqlite3.Connection) -> set[str]:
    """Requests that a process which lives is asking."""
    living = living_owners(connection)
    return {key for key, owner in connection.execute("SELECT key, owner FROM claims") if owner in living}
