"""Where a file of a package lies in the package index that pip uses on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit, urlunsplit

from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.download import DownloadError, download

PYPI = "https://pypi.org/simple"
MOST_PAGE_BYTES = 50 * 2**20
"""A page lists a few thousand files at most."""
PIP_TIMEOUT_S = 30.0


def index_address() -> str:
    """The index that pip is told to use: ``$PIP_INDEX_URL``, else its configuration's ``index-url``, else PyPI."""
    return (os.environ.get("PIP_INDEX_URL") or _configured() or PYPI).strip().rstrip("/")


def file_address(index: str, project: str, version: str, preferred: str, scratch: Path, advice: str) -> str:
    """The address of a wheel of ``project`` in ``version``: ``preferred`` by its name, else the first of its wheels.

    ``index``: address of a "simple" index, without a slash at its end; its pages are HTML (PEP 503), which every index
    gives. ``scratch``: a file that may be written over, for the page. ``advice``: ends every message. Raises
    ``InputError``: ``index`` is not http(s), or holds a password. ``DownloadError``: no network, a server's error, or
    an index that has no such wheel.
    """
    page = f"{index}/{project}/"
    try:
        download(page, scratch, MOST_PAGE_BYTES, advice)
    except InputError as error:
        raise InputError(f"the package index: {error} {advice}") from None
    links = _Links()
    links.feed(scratch.read_text(encoding="utf-8", errors="replace"))
    head = f"{project.replace('-', '_')}-{version}-"
    wheels = {name: link for name, link in links.found if name.startswith(head) and name.endswith(".whl")}
    if not wheels:
        raise DownloadError(f"{page}: lists no wheel of {project} {version}. {advice}")
    chosen = preferred if preferred in wheels else min(wheels)
    address = urlsplit(urljoin(page, wheels[chosen]))
    return urlunsplit(address._replace(fragment=""))


def _configured() -> str | None:
    """``index-url`` of pip's configuration files; None where there is none, or no pip."""
    # `get` knows nothing of $PIP_CONFIG_FILE; -P: nothing is imported from the folder that this was started in.
    command = [sys.executable, "-P", "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (line.partition("=") for line in done.stdout.splitlines())
    return next((value.strip("'\"") for key, _, value in lines if key == "global.index-url"), None)


class _Links(HTMLParser):
    """(text, address) of the page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._address: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._address, self._text = dict(attrs).get("href"), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._address:
            self.found.append((self._text.strip(), self._address))
            self._address = None
