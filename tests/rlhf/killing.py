"""A real alignment in a process of its own, killed after each of its steps."""

import signal
from pathlib import Path
from typing import Any

from tests.forked import Tell, ended, killed
from tests.rlhf.test_alignment import digest, run


def _aligned(tell: Tell, changes: dict[str, Any], out: Path, kept: Path | None, hold: bool) -> None:
    def progress(done: int, total: int, text: str) -> None:
        tell(done)
        if done == total and hold:
            signal.pause()  # However busy the machine: what is killed here has not ended.

    run(out, checkpoints=kept, progress=progress, **changes)


def check_killed_between_steps(folder: Path, steps: int, **changes: Any) -> None:
    """Kill (SIGKILL) after each step and at the very end: the policy is that of a run that nobody disturbed."""
    changes = {**changes, "steps": steps}
    ended(_aligned, changes, folder / "a", None, False)
    for stop in range(1, steps + 1):
        killed(_aligned, changes, folder / "b", folder / "kept", True, at=lambda done, stop=stop: done >= stop)
        assert not (folder / "b" / "README.md").exists()
    ended(_aligned, changes, folder / "b", folder / "kept", False)
    assert digest(folder / "a") == digest(folder / "b")
