"""What one process does alone: two that want it do it one after the other, and the dead hold nothing."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apportion.foundation import files
from apportion.foundation.files import FileLeases, waiting_for
from apportion.llm_client.cache import leases, postgresql, server_leases
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.server_leases import leases_of
from apportion.llm_client.errors import LedgerAwayError

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys
from pathlib import Path
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.cache.server_leases import leases_of

with leases_of(ledger_place(sys.argv[1]), Path(sys.argv[2])).hold("unit") as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def one(place, tmp_path):
    return leases_of(place, tmp_path / "leases")


def test_one_at_a_time_has_a_name(one, place, tmp_path):
    other = (
        FileLeases(tmp_path / "leases") if isinstance(place, Path) else server_leases.ServerLeases(ReplyCache(place))
    )
    assert one.holder("unit") is None
    with one.hold("unit") as ours, other.hold("unit") as theirs, one.hold("unit") as again, other.hold("b") as another:
        assert (ours, theirs, again, another) == (True, False, False, True)
        assert "process" in other.holder("unit")
    with other.hold("unit") as theirs:
        assert theirs
    if not isinstance(place, Path):
        other.close()


def test_who_is_killed_holds_nothing_and_is_waited_for_until_then(one, place, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(files, "_told", [])
    command = [sys.executable, "-c", HOLDER, str(place), str(tmp_path / "leases")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout.readline() == "True\n"
    got = threading.Event()

    def wait():
        with waiting_for(one, "unit", "judge (s1)"):
            got.set()

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(wait) for _ in range(2)]
        while not caplog.records:
            time.sleep(0.005)
        assert not got.is_set() and one.holder("unit").startswith(f"process {process.pid} of ")
        process.kill()
        process.communicate()
        for future in waiting:
            future.result(60)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1 and told[0].startswith(f"judge (s1) is being made by process {process.pid} of ")
    assert one.holder("unit") is None


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_server_that_was_given_up_is_not_waited_for_at_the_end(place, postgres, monkeypatch):
    made, cache = server_leases.ServerLeases(ReplyCache(place)), ReplyCache(place)
    monkeypatch.setattr(postgresql, "AWAY_S", 0.2)
    postgres.stop()
    try:
        with pytest.raises(LedgerAwayError):
            cache.usage()
        monkeypatch.setattr(postgresql, "AWAY_S", 60.0)
        begun = time.monotonic()
        made.close()
        assert time.monotonic() - begun < 15
    finally:
        postgres.start()
    ReplyCache(place).close()
    assert place not in postgresql._given_up  # it is waited for again


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_claim_on_a_server_is_renewed_while_its_process_lives(place, monkeypatch):
    monkeypatch.setattr(leases, "RENEW_S", 0.02)
    made = server_leases.ServerLeases(ReplyCache(place))
    read = lambda: made._cache.read(lambda c: c.execute("SELECT expires_at FROM owners").fetchone())  # noqa: E731
    first = read()
    while read() == first:
        time.sleep(0.01)
    made.close()
