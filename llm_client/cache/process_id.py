"""Which process claims a request, so that others can tell whether it still lives."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

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
