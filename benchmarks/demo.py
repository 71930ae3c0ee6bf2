"""Claims: the demo ends in under 6 minutes on 2 cores and under 4 GiB; a second run in under 20 s.

Run: python benchmarks/demo.py. Memory is the sum over all of its processes of the memory that belongs to each alone
(USS) and its share of what several hold (PSS), looked at every half second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import ROOT, tell


def tree(root: int) -> list[int]:
    """A process and all of its descendants."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def memory_mib(pid: int) -> float:
    """Proportional set size of one process."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def demo(output: Path) -> tuple[float, float]:
    """Seconds and peak MiB of one `apportion demo`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    command = [sys.executable, "-m", "apportion", "demo", "--output", str(output)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(memory_mib(pid) for pid in tree(process.pid)))
        time.sleep(0.5)
    if process.returncode != 0:
        raise SystemExit(f"apportion demo ended with {process.returncode}")
    return time.perf_counter() - started, peak


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in ("demo", "demo again"):
            seconds, peak = demo(Path(folder) / "run")
            tell(name, seconds, "s", peak_mib=round(peak))
