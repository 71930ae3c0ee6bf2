"""A viewer in a process of its own and a Chromium that looks at it, for the benchmarks of the viewer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.measure import ROOT


@contextmanager
def looking(run: Path) -> Iterator[tuple[Page, str, psutil.Process]]:
    """`apportion view` of a run: a page on its list, the list's address without the token, and the server's process.

    Raises
    ------
    SystemExit
        There is no Chromium.
    """
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium here: install the package `chromium`, or name one with CHROMIUM=...")
    command = [sys.executable, "-m", "apportion", "view", str(run), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    try:
        address = ""
        for line in process.stdout:
            address = found[0] if (found := re.search(r"http://\S+", line)) else address
            if "Ctrl-C" in line:
                break
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=program, args=arguments)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address)
            page.wait_for_url(lambda url: "token" not in url)
            yield page, address.partition("?")[0], psutil.Process(process.pid)
            browser.close()
    finally:
        process.terminate()
        process.wait()
