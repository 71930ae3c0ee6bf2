"""One file over HTTP by `pooch`, within limits and with words for everything that can go wrong."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import locked

Progress = Callable[[int, int | None], None]
"""Called as ``progress(done, total)`` with bytes; ``total`` is None where the server does not say."""
TIMEOUT_S = 30.0
"""Silence of the server after which the download is given up."""
BLOCK = 1 << 16


class DownloadError(ApportionError):
    """A download did not give the file; trying again may help (exit code 1)."""


class _TooLargeError(Exception):
    """More bytes than the file can have."""


class _Sink:
    """The file that is written and, for pooch, its progress bar: both count the bytes."""

    def __init__(self, file: BinaryIO, most_bytes: int, progress: Progress | None) -> None:
        self._file, self._most, self._progress = file, most_bytes, progress
        self._total, self.done = 0, 0
        self.flush, self.update, self.reset, self.close = file.flush, lambda _: None, lambda: None, lambda: None

    @property
    def total(self) -> int:
        """Bytes that the server promises; 0 where it does not say."""
        return self._total

    @total.setter
    def total(self, promised: int) -> None:
        self._total = promised
        self._check(promised)

    def _check(self, size: int) -> None:
        if size > self._most:
            raise _TooLargeError(f"more than {self._most / 2**20:,.0f} MiB, which the file cannot have")

    def write(self, block: bytes) -> None:
        self.done += len(block)
        self._check(self.done)
        self._file.write(block)
        if self._progress is not None:
            self._progress(self.done, self.total or None)


def download(
    url: str, target: Path, most_bytes: int, advice: str, progress: Progress | None = None, timeout_s: float = TIMEOUT_S
) -> None:
    """Write what ``url`` gives to ``target``, from the start; ``advice`` ends every message.

    Raises ``InputError`` for an address that is not http(s), ``DownloadError`` for everything that the network or the
    server does wrong; OSErrors of ``target`` come as they are. Whatever is in ``target`` after an error is worth
    nothing.
    """
    import requests
    from pooch import HTTPDownloader

    _check(url)
    with target.open("wb") as file:
        sink = _Sink(file, most_bytes, progress)
        # Nothing of ~/.netrc is sent along, and nothing comes packed, so that bytes can be counted.
        options = {"auth": lambda request: request, "headers": {"Accept-Encoding": "identity"}, "timeout": timeout_s}
        try:
            HTTPDownloader(progressbar=sink, chunk_size=BLOCK, **options)(url, sink, None)
        except requests.HTTPError as error:
            refusal: Any = error.response
            cause = f"the server says {refusal.status_code} {refusal.reason}"
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
            cause = f"it broke off after {sink.done:,} of {sink.total:,} bytes"
        except requests.RequestException as error:
            # While a body is read, requests reports a timeout as a broken connection.
            silent = isinstance(error, requests.Timeout) or "Read timed out" in str(error)
            cause = f"the server was silent for {timeout_s:g} s" if silent else f"cannot be reached ({error})"
        except _TooLargeError as error:
            cause = str(error)
        else:
            return
    raise DownloadError(f"{url}: {cause}. {advice}")


def _check(url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"{url!r}: no usable address. Give http:// or https://, or a file that you have.")
    if parts.username is not None:
        raise InputError("an address with a user name or password in it is not taken, since messages show addresses.")


@contextmanager
def fetching(folder: Path, wanted: Path) -> Iterator[None]:
    """Make a folder of the cache where it is missing, and keep others from fetching into it meanwhile.

    Raises ``InputError`` where another fetch is at work, or the system refuses (permission, space): it is told of
    ``wanted`` where the system names no file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        message = f"{folder}: another `apportion models fetch` is at work. Wait for it."
        with locked(folder / ".lock", message, InputError):
            yield
    except OSError as error:
        raise InputError(
            f"{error.filename or wanted}: {error.strerror}. Free space or change its owner, or set APPORTION_CACHE to "
            "a folder of yours."
        ) from None
