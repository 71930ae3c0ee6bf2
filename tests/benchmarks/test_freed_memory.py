import ctypes
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import freed_memory

ROOT = Path(__file__).resolve().parents[2]
FAULTS = """
import resource, sys
import torch
from benchmarks.freed_memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def work():
    parts = [torch.ones(6_000_000) for _ in range(3)]  # 24 MB each.
    del parts
for _ in range(3):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_pages_are_taken_once() -> None:
    def faults(which: str) -> int:
        command = [sys.executable, "-c", FAULTS, which]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    pages = 5 * 72_000_000 // resource.getpagesize()
    assert faults("given back") > pages / 5  # The C library keeps some of them by itself.
    assert faults("kept") < pages / 100


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    assert not freed_memory.keep_freed_memory()
