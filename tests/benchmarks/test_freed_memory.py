"""What is told to the C library; how many pages it saves hangs on what else the process holds, and is measured."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import freed_memory

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_the_c_library_understands_all_of_it() -> None:
    told = "from benchmarks.freed_memory import keep_freed_memory; print(keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    assert not freed_memory.keep_freed_memory()
