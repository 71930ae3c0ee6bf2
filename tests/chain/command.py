"""The command line as a user has it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return {**kept, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", **changes}


def apportion(*arguments: object, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run `apportion ARGUMENTS` to its end."""
    command = [sys.executable, "-m", "apportion", *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(**changes), capture_output=True, text=True)


def config(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path
