"""A PostgreSQL of the tests' own: a cluster in a folder of its own, reached by a socket in it, gone at the end."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path

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
    """A server of PostgreSQL that can be stopped and begun again."""

    def __init__(self, programs, folder, user):
        self._programs, self._folder, self._user = programs, folder, user
        self.run("initdb", "-D", "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")

    def run(self, program, *arguments):
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, cwd=self._folder, user=self._user, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout

    def start(self):
        # The log is a file: a pipe would stay open for as long as the server runs.
        options = f"-k {self._folder} -c listen_addresses="
        self.run("pg_ctl", "-D", "data", "-w", "-t", "600", "-l", "log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", "data", "-w", "-t", "600", "-m", "immediate", "stop")

    def database(self):
        """The URL of a new, empty database."""
        name = f"study{next(NUMBERS)}"
        self.run("createdb", "-h", str(self._folder), "-U", "tests", name)
        return f"postgresql://tests:told-to-nobody@/{name}?host={self._folder}"


@contextmanager
def cluster():
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
        server = Cluster(programs, folder, user)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
