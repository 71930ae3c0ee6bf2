"""A real alignment in a process of its own, killed after each of its steps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.rlhf.test_alignment import digest

SCRIPT = """
import json
import signal
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
changes = json.loads(sys.argv[1])
kept = Path(sys.argv[3]) if len(sys.argv) > 3 else None

def progress(done, total, text):
    print(done, flush=True)
    if done == total and "hold" in sys.argv:
        signal.pause()  # However busy the machine: what is killed here has not ended.

from tests.rlhf.test_alignment import run
run(Path(sys.argv[2]), checkpoints=kept, progress=progress, **changes)
"""


def check_killed_between_steps(folder: Path, steps: int, **changes: Any) -> None:
    """Kill (SIGKILL) after each step and at the very end: the policy is that of a run that nobody disturbed."""
    command = [sys.executable, "-c", SCRIPT, json.dumps({**changes, "steps": steps})]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    subprocess.run([*command, str(folder / "a")], env=environment, check=True, stdout=subprocess.DEVNULL)
    place = [str(folder / "b"), str(folder / "kept")]
    for stop in range(1, steps + 1):
        killed = [*command, *place, "hold"]
        with subprocess.Popen(killed, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) >= stop:
                    process.send_signal(signal.SIGKILL)
                    break
            process.stdout.read()
        assert process.returncode == -signal.SIGKILL
        assert not (folder / "b" / "README.md").exists()
    subprocess.run([*command, *place], env=environment, check=True, stdout=subprocess.DEVNULL)
    assert digest(folder / "a") == digest(folder / "b")
