import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from llm_client.kept import owner
from llm_client.kept.owner import started_at, this_process


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


def test_a_lease_that_has_ended_frees_a_process_of_this_host_too():
    assert not replace(this_process(), expires_at=time.time() - 1).lives()


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

    monkeypatch.setattr(owner, "Path", Nowhere)
    monkeypatch.setattr(os, "kill", kill)
    assert started_at(5) == ("" if lives else None)
