"""The demo's films, measured once for all test processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from apportion.demo.builders.record_replies import demo_with
from tests.made_once import made_once


def demo_films_measured(factory: pytest.TempPathFactory, detector: str, output: Path) -> None:
    """Make ``output`` a run of the demo that has described who is seen, and nothing after that."""
    shutil.copytree(made_once(factory, f"demo-{detector}", lambda folder: demo_with(detector, folder)), output)
