"""What every benchmark prints: one JSON line a figure, with the machine it was measured on."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def machine() -> str:
    """Processor, cores and memory of this machine."""
    told = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in told if line.startswith("model name")]
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = names[0] if names else platform.processor()
    cores = len(os.sched_getaffinity(0))
    return f"{processor}, {cores} cores, {memory_gib:.0f} GiB, Python {platform.python_version()}"


def tell(name: str, figure: float, unit: str, **more: object) -> None:
    """Print one result; ``ratio`` to a peer measured in the same run is among ``more`` where there is a peer."""
    line = {"benchmark": name, "figure": round(figure, 4), "unit": unit, **more, "machine": machine()}
    print(json.dumps(line), flush=True)


def timed(arguments: Sequence[str]) -> tuple[float, float]:
    """Wall seconds, and peak MiB of the largest process so far, of `apportion ARGUMENTS`; its output is dropped."""
    command = [sys.executable, "-m", "apportion", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def memory_mib(name: str) -> float:
    """Memory of this process by a name of /proc/self/status: `VmRSS` now, `VmHWM` at most so far, not the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) / 1024
