"""A viewer in a process of its own and a Chromium that looks at it, for the benchmarks and pictures of the viewer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Browser, sync_playwright

from benchmarks.measure import ROOT


@dataclass(frozen=True)
class Viewing:
    """What is looked at: ``address`` brings the token, ``root`` is the same without it; the server's ``process``."""

    address: str
    process: psutil.Process

    @property
    def root(self) -> str:
        """Ends in a slash."""
        return self.address.partition("?")[0]


@contextmanager
def viewing(run: Path, *options: str) -> Iterator[Viewing]:
    """`apportion view` of a run, with ``options``."""
    command = [sys.executable, "-m", "apportion", "view", str(run), "--port", "0", "--no-browser", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        address = ""
        for line in process.stdout:
            address = found[0] if (found := re.search(r"http://\S+", line)) else address
            if "Ctrl-C" in line:
                break
        yield Viewing(address, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; ends the program where there is none."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium here: install the package `chromium`, or name one with CHROMIUM=...")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
