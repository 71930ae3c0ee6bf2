"""One file over HTTP, within limits and with words for everything that can go wrong."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from apportion.foundation.errors import ApportionError, InputError

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
    """Write what ``url`` gives to ``target``, from the start.

    Redirects are followed over http and https only. ``advice`` ends every message. Raises ``InputError`` for an
    address that is not http(s), ``DownloadError`` for everything that the network or the server does wrong; OSErrors
    of ``target`` come as they are. Whatever is in ``target`` after an error is worth nothing.
    """
    _check(url)
    with target.open("wb") as file:
        try:
            with _opener().open(_request(url), timeout=timeout_s) as response:
                _receive(response, file.write, most_bytes, progress)
        except _TargetError as error:
            raise error.cause from None
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{url}: the server says {error.code} {error.reason}. {advice}") from None
        except (OSError, HTTPException, _BrokenError) as error:
            raise DownloadError(f"{url}: {_cause(error, timeout_s)}. {advice}") from None


class _BrokenError(Exception):
    """The server's answer cannot be the file."""


class _TargetError(Exception):
    """Writing failed, which is not the network's fault."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause


def _receive(
    response: HTTPResponse, write: Callable[[bytes], object], most_bytes: int, progress: Progress | None
) -> None:
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isascii() and length.isdigit() else None
    limit = f"more than {most_bytes / 2**20:,.0f} MiB, which the file cannot have"
    if total is not None and total > most_bytes:
        raise _BrokenError(limit)
    done = 0
    while block := response.read1(BLOCK):
        done += len(block)
        if done > most_bytes:
            raise _BrokenError(limit)
        try:
            write(block)
        except OSError as error:
            raise _TargetError(error) from None
        if progress is not None:
            progress(done, total)
    if total is not None and done != total:
        raise _BrokenError(f"it broke off after {done:,} of {total:,} bytes")


def _cause(error: Exception, timeout_s: float) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"the server was silent for {timeout_s:g} s"
    if isinstance(reason, _BrokenError):
        return str(reason)
    if isinstance(reason, HTTPException):
        return f"the server's answer broke off or is no HTTP ({type(reason).__name__})"
    return f"cannot be reached ({getattr(reason, 'strerror', None) or reason})"


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


def _request(url: str) -> urllib.request.Request:
    try:
        agent = f"apportion/{version('apportion')}"
    except PackageNotFoundError:
        agent = "apportion"
    return urllib.request.Request(url, headers={"User-Agent": agent})


def _opener() -> urllib.request.OpenerDirector:
    """urllib's without files and FTP, so that no redirect leads there; proxies as the environment has them."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener
