"""Where a file at a URL may lie, how large it is, and its bytes in ranges; nobody's credentials are ever told."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.util import find_spec
from typing import IO, Any
from urllib.parse import unquote, urljoin, urlsplit

from apportion.foundation.errors import UnitError

HOSTS = "APPORTION_MEDIA_HOSTS"
"""The environment variable with the hosts that a person agrees to read from though they are private or not encrypted:
host names or addresses, commas between them."""
PACKAGES: Mapping[str, tuple[str, str]] = {
    "s3": ("s3fs", "'apportion[s3]'"),
    "gs": ("gcsfs", "gcsfs"),
    "az": ("adlfs", "adlfs"),
    "abfs": ("adlfs", "adlfs"),
    "https": ("requests", "requests"),
    "http": ("requests", "requests"),
    "memory": ("fsspec", "fsspec"),
}
"""By scheme: the package that reads it, and how pip calls it. Files of this machine are named by their path."""
ALLOWED = f"{', '.join(f'{scheme}://' for scheme in PACKAGES)} (http:// for hosts of {HOSTS} alone)"
OPTIONS: Mapping[str, Mapping[str, Any]] = {"s3": {"config_kwargs": {"retries": {"max_attempts": 0}}}}
"""What each package is told besides, so that it does not try again itself."""
MOST_REDIRECTS = 3
PATIENCE_S = (10, 60)
"""Seconds until a server is connected, and between two pieces of its answer."""
PIECE = 1 << 16
_LATER = (408, 425, 429, 500, 502, 503, 504)


class TryAgainError(Exception):
    """The server or the network failed, and may not the next time."""


class ChangedError(Exception):
    """The recording is not the one that was looked at before."""


@dataclass(frozen=True)
class Remote:
    """A recording as its server tells of it: bytes, ETag and time of change; None where that is not said."""

    size: int
    etag: str | None
    changed: str | None


def shown(url: str) -> str:
    """A URL for messages, without what may be a secret: a user, a password, a query.

    >>> shown("https://ann:pw@host/film.mp4?X-Amz-Signature=1f")
    'https://host/film.mp4'
    """
    scheme, _, rest = url.partition("://")
    place = rest.partition("?")[0].partition("#")[0]
    host, slash, key = place.partition("/")
    return ascii(f"{scheme}://{host.rpartition('@')[2]}{slash}{key}")[1:-1]


def address_fault(url: str, *, tables: bool = False) -> tuple[str, str] | None:
    """What is wrong with a URL and what to do, or None; nobody is asked.

    ``tables``: tables may lie there, so that it may be a folder, or a whole bucket.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in PACKAGES:
        read, remedy = ("tables", "to this machine") if tables else ("recordings", "into the corpus")
        return f"is no address that {read} are read from; allowed are {ALLOWED}", f"Copy the file {remedy}."
    try:
        parts = urlsplit(url)
        alone = scheme == "memory" or (tables and not scheme.startswith("http"))
        named = bool(parts.netloc) and (alone or bool(parts.path.strip("/"))) and (parts.port or 1) > 0
    except ValueError:
        named = False
    if not named or not url.isprintable() or " " in url:
        return "is no address of a file", "Write it as SCHEME://HOST/FILE, other characters as %20 and the like."
    if "@" in parts.netloc or "?" in url or "#" in url:
        return (
            "holds a user, a query or a fragment, which may be a secret and would be written down with the results",
            "Give the plain address; credentials come from the environment (AWS_ACCESS_KEY_ID and the like).",
        )
    if scheme == "http" and parts.hostname not in _agreed():
        return "is not encrypted", f"Give an https:// address, or agree with {HOSTS}={parts.hostname}."
    package, named_so = PACKAGES[scheme]
    if find_spec(package) is None:
        return f"needs the package {package}", f"Install it with `pip install {named_so}`."
    return None


def source_of(url: str, *, tables: bool = False) -> Web | Bucket:
    """What reads ``url``. Raises ``UnitError``: it may not be read, or its package is not installed."""
    if fault := address_fault(url, tables=tables):
        raise UnitError(f"{shown(url)} {fault[0]}. {fault[1]}")
    return Web(url) if url.lower().startswith("http") else Bucket(url)


def _agreed() -> set[str]:
    return {host.strip().lower() for host in os.environ.get(HOSTS, "").split(",") if host.strip()}


class Web:
    """A recording of a web server, which is asked for parts of it and may send the whole."""

    def __init__(self, url: str) -> None:
        self._url = url

    def look(self) -> Remote:
        """Its size and state.

        Raises ``TryAgainError``: see there. ``UnitError``: it is not there, may not be read, or its size is not said.
        """
        with self._answer(0, 1) as answer:
            if answer.status_code == 416:
                return Remote(0, None, None)
            length = answer.headers.get("Content-Range", "").rpartition("/")[2]
            length = length if answer.status_code == 206 else answer.headers.get("Content-Length", "")
            if not length.isdecimal():
                raise UnitError(f"{shown(self._url)}: the server does not say how long it is. Copy it into the corpus.")
            return Remote(int(length), answer.headers.get("ETag"), answer.headers.get("Last-Modified"))

    def copy(self, file: IO[bytes], start: int, end: int, remote: Remote) -> None:
        """Add the bytes from ``start`` to ``end`` to the file; all of them where the server has no ranges.

        Raises ``TryAgainError``: as `look`; what came is in the file. ``ChangedError``: it is another one by now.
        """
        with self._answer(start, end) as answer:
            if answer.headers.get("ETag") != remote.etag:
                raise ChangedError
            if answer.status_code == 200:
                file.truncate(0)
                start, end = 0, remote.size
            elif answer.headers.get("Content-Range", "") != f"bytes {start}-{end - 1}/{remote.size}":
                raise ChangedError
            try:
                for piece in answer.iter_content(PIECE):
                    start += len(piece)
                    if start > end:
                        raise ChangedError
                    file.write(piece)
            except self._library.RequestException as error:
                raise TryAgainError(type(error).__name__) from None

    @cached_property
    def _library(self) -> Any:
        import requests

        return requests

    @contextmanager
    def _answer(self, start: int, end: int) -> Iterator[Any]:
        """The answer to a request for a range, behind redirects to hosts that may be asked, too."""
        url = self._url
        with self._library.Session() as session:
            session.trust_env = False  # No .netrc: its passwords are not for whomever a corpus names.
            for _ in range(MOST_REDIRECTS + 1):
                headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
                with self._asked(session, url, headers) as answer:
                    if not answer.is_redirect:
                        self._check(answer.status_code)
                        yield answer
                        return
                    url = urljoin(url, answer.headers["Location"])
        raise UnitError(f"{shown(self._url)}: more than {MOST_REDIRECTS} redirects. Give the last address.")

    def _asked(self, session: Any, url: str, headers: dict[str, str]) -> Any:
        """The answer of one server, at an address that was checked: asked again, its name may lead elsewhere."""
        parts, left = urlsplit(url), _checked_host(url, self._url)
        name, place = parts.netloc.rpartition("@")[2], url
        if left:  # The certificate and the request are those of the name, whatever the address.
            to_address = self._library.adapters.HTTPAdapter()
            to_address.init_poolmanager(1, 1, server_hostname=parts.hostname, assert_hostname=parts.hostname)
            session.mount("https://", to_address)
            headers = {**headers, "Host": name}
        while True:
            if left:
                address, port = left.pop(0), f":{parts.port}" if parts.port else ""
                place = parts._replace(netloc=(f"[{address}]" if ":" in address else address) + port).geturl()
            try:
                return session.get(place, headers=headers, stream=True, timeout=PATIENCE_S, allow_redirects=False)
            except self._library.RequestException as error:
                if not left or not isinstance(error, self._library.ConnectionError):
                    raise TryAgainError(type(error).__name__) from None

    def _check(self, status: int) -> None:
        if status in _LATER:
            raise TryAgainError(f"answered {status}")
        if status not in (200, 206, 416):
            told = {401: "may not be read", 403: "may not be read", 404: "is not there", 410: "is not there"}
            raise UnitError(
                f"{shown(self._url)} {told.get(status, 'cannot be read')} (the server answered {status}). Correct the "
                "address (of a recording: in the media table), or put the file there where everybody may read it."
            )


def _checked_host(url: str, asked: str) -> list[str]:
    """The addresses of a host, in the order to try them; none of one that a person agrees to, wherever it is.

    Those of private networks are refused, which a stranger's corpus or server must not make this machine look at.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host in _agreed() and parts.scheme in ("http", "https"):
        return []
    if parts.scheme != "https":
        raise UnitError(f"{shown(asked)}: leads to {shown(url)}, which is not encrypted. Agree with {HOSTS}={host}.")
    try:
        entries = socket.getaddrinfo(host, parts.port or 443)
    except (OSError, UnicodeError):
        raise TryAgainError(f"the host {host} is not known") from None
    found = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))
    if not all(ipaddress.ip_address(address).is_global for address in found):
        raise UnitError(
            f"{shown(asked)}: {host} is a host of this machine or of a private network, and you have not agreed to "
            f"read from it. If that is meant, set {HOSTS}={host}; otherwise correct "
            "the address (of a recording: in the media table)."
        )
    return found


def bucket_files(scheme: str, **options: Any) -> Any:
    """fsspec's files of a scheme, without a listing that was kept; whoever asks tries again, alike for all."""
    import fsspec  # Not its `url_to_fs`, for which "::" in a name leads elsewhere.

    files = fsspec.filesystem(scheme, use_listings_cache=False, **options, **OPTIONS.get(scheme, {}))
    files.retries = 1
    return files


class Bucket:
    """A file, or a folder of files, in a bucket that fsspec reads, with credentials of the environment."""

    def __init__(self, url: str) -> None:
        self._url, scheme_and_place = url, url.partition("://")
        self._scheme, self._place = scheme_and_place[0].lower(), unquote(scheme_and_place[2])

    def look(self) -> Remote:
        """Its size and state; raises as `Web.look`."""
        with self._errors() as files:
            told = files.info(self._place)
            if told.get("type") == "directory":
                raise IsADirectoryError
            return _remote(told)

    def names(self) -> dict[str, Remote]:
        """The files that lie directly in it, by name; it itself, where it is a file, by "". Raises as `look`."""
        with self._errors("Check the address, and that something was put there.") as files:
            found = [told for told in files.ls(self._place, detail=True) if told.get("type") == "file"]
            own = self._place.strip("/")
            names = {str(told["name"]).lstrip("/").removeprefix(own).lstrip("/"): told for told in found}
            return {name: _remote(told) for name, told in names.items() if not str(told["name"]).endswith("/")}

    def copy(self, file: IO[bytes], start: int, end: int, remote: Remote) -> None:
        """Add the bytes from ``start`` to ``end`` to the file; raises as `Web.copy`."""
        with self._errors() as files:
            content = files.cat_file(self._place, start=start, end=end)
        if end == remote.size and self.look() != remote:
            raise ChangedError
        file.write(content[: end - start])

    @contextmanager
    def _errors(self, remedy: str = "Put the file there or correct the media table.") -> Iterator[Any]:
        try:
            yield bucket_files(self._scheme)
        except (FileNotFoundError, IsADirectoryError) as error:
            told = "no such bucket" if type(error.__cause__).__name__ == "NoSuchBucket" else "is not there"
            raise UnitError(f"{shown(self._url)}{':' if told[0] == 'n' else ''} {told}. {remedy}") from None
        except PermissionError:
            raise UnitError(
                f"{shown(self._url)} may not be read: the credentials of the environment do not allow it. Set them "
                "(AWS_ACCESS_KEY_ID and the like), or correct the address."
            ) from None
        except UnitError:
            raise
        except Exception as error:  # A library's own; its words may hold credentials.
            if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
                raise UnitError(
                    f"{shown(self._url)}: no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what "
                    "your bucket asks for, in the environment."
                ) from None
            raise TryAgainError(type(error).__name__) from None


def _remote(told: Mapping[str, Any]) -> Remote:
    """What a package tells of an object. An ETag tells all; times are told in several ways."""
    keys = ("ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created")
    state = {key.lower(): told[key] for key in keys if told.get(key) is not None}
    etag, changed = state.pop("etag", None), next(iter(state.values()), None)
    if etag is not None or changed is None:
        return Remote(int(told["size"]), etag and str(etag), None)
    return Remote(int(told["size"]), None, str(changed.timestamp() if isinstance(changed, datetime) else changed))
