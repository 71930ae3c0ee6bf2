"""Hosts on one machine: each has a network, process numbers, a name and folders of its own, and is killed as a whole.

The machine itself, at `Network.address`, has what they share: servers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.behaviour.command import ROOT
from tests.bucket_server import ENVIRONMENT

BEGIN = """
hostname {name}
mount --bind {own} {here} && mount -t tmpfs none {all} && cd {here} && exec "$@"
"""
"""In a host: what is its own is at a path that all have alike, and what is the others' is nowhere."""
APART = ("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")


def _do(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{command}: {done.stderr.strip()}")


class Network:
    """A bridge, whose hosts reach the machine and each other; ``folder`` holds what is theirs."""

    def __init__(self, folder: Path) -> None:
        self._number = os.getpid()
        self._bridge = f"ap{self._number}"
        self._net = f"10.213.{self._number % 250}"
        self.address = f"{self._net}.1"
        self.here, self._all = folder / "here", folder / "hosts"
        self._names: list[str] = []
        for made in (self.here, self._all):
            made.mkdir()

    def begin(self) -> None:
        _do(f"ip link add {self._bridge} type bridge")
        _do(f"ip address add {self.address}/24 dev {self._bridge}")
        _do(f"ip link set {self._bridge} up")

    def folder(self, name: str) -> Path:
        """What a host alone has, and sees at ``here``."""
        return self._all / name

    def add(self, name: str) -> None:
        """One host more."""
        space, end = f"{self._bridge}-{name}", f"{self._bridge}{name}"[-15:]
        _do(f"ip netns add {space}")
        self._names.append(name)
        _do(f"ip link add {end} type veth peer name eth0 netns {space}")
        _do(f"ip link set {end} master {self._bridge} up")
        for command in (f"address add {self.at(name)}/24 dev eth0", "link set eth0 up", "link set lo up"):
            _do(f"ip -n {space} {command}")
        for part in ("home", "tmp"):
            (self.folder(name) / part).mkdir(parents=True)

    def at(self, name: str) -> str:
        """A host's address."""
        return f"{self._net}.{2 + self._names.index(name)}"

    def start(self, name: str, command: Sequence[str], **environment: str) -> subprocess.Popen[str]:
        """A program on a host; to kill it kills all that it has started."""
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        own = {"HOME": str(self.here / "home"), "TMPDIR": str(self.here / "tmp")}
        begin = BEGIN.format(name=name, own=self.folder(name), here=self.here, all=self._all)
        return subprocess.Popen(
            ["ip", "netns", "exec", f"{self._bridge}-{name}", *APART, "sh", "-ec", begin, "sh", *command],
            env={**kept, **own, **ENVIRONMENT, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", f"{self._bridge}-{name}"], check=False)
        subprocess.run(["ip", "link", "delete", self._bridge], check=False, capture_output=True)


@contextmanager
def network(folder: Path) -> Iterator[Network]:
    """A network without hosts, or a skip that says what is missing."""
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        pytest.skip("network namespaces need root and Linux")
    if not all(map(shutil.which, ("ip", "unshare"))):
        pytest.skip("no `ip` (Debian: apt-get install iproute2) or `unshare`")
    made = Network(folder)
    try:
        try:
            made.begin()
        except OSError as error:
            pytest.skip(f"no network of its own can be made here: {error}")
        yield made
    finally:
        made.end()
