import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from apportion.llm_client.cache import leases
from apportion.llm_client.cache.leases import RENEW_S, started_at, this_process


def test_this_process_lives():
    assert this_process().lives()


def test_a_process_that_has_ended_does_not_live_nor_does_one_that_nobody_has_waited_for():
    process = subprocess.Popen([sys.executable, "-c", ""])
    while started_at(process.pid) is not None:
        time.sleep(0.005)  # It has ended, and is still in the table of processes until it is waited for.
    process.wait()
    assert started_at(process.pid) is None
    assert not replace(this_process(), pid=process.pid).lives()


def test_a_number_that_is_used_again_is_another_process():
    assert not replace(this_process(), started="1").lives()


def test_a_process_elsewhere_lives_as_long_as_its_lease():
    elsewhere = replace(this_process(), host="another", pid=1, started="1")
    assert elsewhere.lives()
    assert not replace(elsewhere, expires_at=time.time() - 1).lives()


def test_a_lease_that_has_ended_frees_a_process_of_this_host_that_renews_it_no_more(monkeypatch):
    silent = replace(this_process(), expires_at=time.time() - 1)
    now_s = time.monotonic()
    # The clock may have been set, or the machine have slept: whoever lives has time to renew.
    for passed_s, lives in ((0, True), (RENEW_S, True), (RENEW_S + 6, False)):
        monkeypatch.setattr(time, "monotonic", lambda passed_s=passed_s: now_s + passed_s)
        assert silent.lives() is lives
    assert replace(silent, expires_at=time.time() - 0.5).lives()
    assert not replace(silent, pid=2**22 + 1, expires_at=time.time() - 0.5).lives()


@pytest.mark.parametrize(("error", "lives"), [(ProcessLookupError, False), (PermissionError, True), (None, True)])
def test_without_proc_only_the_number_counts(monkeypatch, error, lives):
    class Nowhere:
        def __init__(self, path):
            pass

        def read_text(self, **options):
            raise FileNotFoundError

    def kill(pid, signal):
        if error is not None:
            raise error

    monkeypatch.setattr(leases, "Path", Nowhere)
    monkeypatch.setattr(os, "kill", kill)
    assert started_at(5) == ("" if lives else None)
