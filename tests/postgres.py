"""A PostgreSQL of the tests' own: a cluster in a folder of its own, reached by a socket in it, gone at the end."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

NUMBERS = count(1)


def _programs():
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    homes += [Path(found).resolve().parent] if found else []
    wanted = ("initdb", "pg_ctl", "createdb")
    return next((home for home in homes if all((home / name).exists() for name in wanted)), None)


def _user():
    """Somebody who is not root, as whom alone PostgreSQL runs; None: whoever runs the tests is one."""
    if os.geteuid() != 0:
        return None
    names = [entry.pw_name for entry in pwd.getpwall()]
    return next((name for name in ("postgres", "nobody") if name in names), "")


class Cluster:
    """A server of PostgreSQL that can be stopped and begun again; reached by ``address``, too, where there is one."""

    def __init__(self, programs, folder, user, address=""):
        self._programs, self._folder, self._user, self._ledger = programs, folder, user, None
        self._address = address
        self.run("initdb", "-D", "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        with (folder / "data" / "pg_hba.conf").open("a") as file:
            file.write("host all tests samenet trust\n")

    def run(self, program, *arguments):
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, cwd=self._folder, user=self._user, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout

    def start(self):
        # The log is a file: a pipe would stay open for as long as the server runs.
        # Killed processes lose nothing that the system has; to sync it would take seconds on a busy disk.
        options = f"-k {self._folder} -c listen_addresses={self._address} -c fsync=off"
        self.run("pg_ctl", "-D", "data", "-w", "-t", "600", "-l", "log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", "data", "-w", "-t", "600", "-m", "immediate", "stop")

    def kill(self):
        """Kill -9 of the server and all that it has forked."""
        process = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True).stdout.split()
        for number in (process, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        while any(Path(f"/proc/{number}/stat").exists() and not _is_zombie(number) for number in (process, *children)):
            time.sleep(0.01)
        # Where nobody collects the dead, the server would be taken for one that runs.
        for left in (self._folder / "data" / "postmaster.pid", *self._folder.glob(".s.PGSQL.*")):
            left.unlink()

    def database(self, user="tests:told-to-nobody"):
        """The URL of a new, empty database."""
        name = f"study{next(NUMBERS)}"
        self.run("createdb", "-h", str(self._folder), "-U", "tests", name)
        return f"postgresql://{user}@/{name}?host={self._folder}"

    def ledger(self):
        """The URL of the one empty database of ledgers: whoever had it before is out."""
        self._ledger = self._ledger or self.database("tests")
        with psycopg.connect(self._ledger, autocommit=True) as connection:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
            connection.execute("DROP SCHEMA IF EXISTS apportion CASCADE")
        return self._ledger


def _is_zombie(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def cluster(address=""):
    """A running server, or a skip that says what is missing."""
    programs, user = _programs(), _user()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    if user == "":
        pytest.skip("PostgreSQL does not run as root, and there is no other user to run it as")
    folder = Path(tempfile.mkdtemp(prefix="apportion-pg-", dir="/tmp"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        server = Cluster(programs, folder, user, address)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
