"""One file over HTTP, within limits and with words for everything that can go wrong."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import locked

Progress = Callable[[int, int | None], None]
"""Called as ``progress(done, total)`` with bytes; ``total`` is None where the server does not say."""
TIMEOUT_S = 30.0
"""Silence of the server after which the download is given up."""
BLOCK = 1 << 16


class DownloadError(ApportionError):
    """A download did not give the file; trying again may help (exit code 1)."""


def download(
    url: str, target: Path, most_bytes: int, advice: str, progress: Progress | None = None, timeout_s: float = TIMEOUT_S
) -> None:
    """Write what ``url`` gives to ``target``, from the start; ``advice`` ends every message.

    Raises ``InputError`` for an address that is not http(s), ``DownloadError`` for everything that the network or the
    server does wrong; OSErrors of ``target`` come as they are. Whatever is in ``target`` after an error is worth
    nothing.
    """
    import requests

    _check(url)
    done, total = 0, 0
    too_large = _failed(url, f"more than {most_bytes / 2**20:,.0f} MiB, which the file cannot have", advice)
    # Nothing of ~/.netrc is sent along, and nothing comes packed, so that bytes can be counted.
    options: dict[str, Any] = {
        "auth": lambda request: request,
        "headers": {"Accept-Encoding": "identity"},
        "timeout": timeout_s,
    }
    try:
        with target.open("wb") as file, requests.get(url, stream=True, **options) as reply:
            reply.raise_for_status()
            total = int(reply.headers.get("Content-Length", 0))
            if total > most_bytes:
                raise too_large
            for block in reply.iter_content(BLOCK):
                done += len(block)
                if done > most_bytes:
                    raise too_large
                file.write(block)
                if progress is not None:
                    progress(done, total or None)
    except requests.HTTPError as error:
        refusal: Any = error.response
        raise _failed(url, f"the server says {refusal.status_code} {refusal.reason}", advice) from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise _failed(url, f"it broke off after {done:,} of {total:,} bytes", advice) from None
    except requests.RequestException as error:
        # While a body is read, requests reports a timeout as a broken connection.
        silent = isinstance(error, requests.Timeout) or "Read timed out" in str(error)
        cause = f"the server was silent for {timeout_s:g} s" if silent else f"cannot be reached ({error})"
        raise _failed(url, cause, advice) from None


def _failed(url: str, cause: str, advice: str) -> DownloadError:
    return DownloadError(f"{url}: {cause}. {advice}")


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
