"""Where the hosts of a run leave what the others must see: its own folder, or a bucket by its URL (fsspec).

Credentials come from the environment, as each package reads it, and are in no file and no message.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from apportion.corpus.recordings.addresses import bucket_files
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.truncate import shortened

SCHEMES = {"s3": ("s3fs", "'apportion[s3]'"), "gs": ("gcsfs", "gcsfs"), "az": ("adlfs", "adlfs"), "memory": ("", "")}
"""The package that each needs, and what pip is asked for to have it."""
WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Between the times that a call is tried; each is shortened by chance to no less than half."""
PUSHED_S = 5.0
"""How long what was noted may wait until it is seen by others."""
LARGEST_NOTE = 1 << 26
"""Bytes that are read of an object that is no artifact."""
IDENTITY = "apportion-store"
LOCAL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
PASSING = (408, 409, 425, 429)
_secret_name = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CONNECTION|CREDENTIAL|SAS")


class StoreError(ApportionError):
    """The bucket does not do its part: the run ends, what is finished is kept (exit code 1)."""


class RefusedError(StoreError):
    """The bucket is not there, or does not allow what was asked."""


def checked_url(url: str) -> str:
    """``url`` as it may be configured; raises InputError where it holds a secret, which is not shown, else ValueError.

    >>> checked_url("s3://bucket/chats")
    's3://bucket/chats'
    """
    if re.search(r"[@?#]", url):
        raise InputError(
            "run.store: a URL with a user, a password, a query or a fragment (not shown here, since it may hold a "
            "secret). Write s3://BUCKET/FOLDER; credentials come from the environment, e.g. AWS_ACCESS_KEY_ID."
        )
    parts = re.fullmatch(r"([a-z0-9]+)://([\w.-]+(?:/[\w.=+-]+)*)/?", url, re.ASCII)
    if parts is None or parts[1] not in SCHEMES or {".", ".."} & set(parts[2].split("/")):
        raise ValueError(
            f"allowed are {', '.join(f'{name}://BUCKET/FOLDER' for name, of in SCHEMES.items() if all(of))}"
        )
    return url.rstrip("/")


def shared_place(url: str | None, folder: Path) -> Folder | Bucket:
    """The bucket at ``url``; without one, ``folder``."""
    return Folder(folder) if url is None else Bucket(url)


def check_bucket(url: str | None, *, writes: bool = True) -> None:
    """Find out before any work whether processes can share the bucket, by reading and writing.

    Raises InputError: its package is missing, there is no such bucket, it cannot be read or written, or it is
    ``memory://``. Raises StoreError: it does not answer.
    """
    if url is None:
        return
    told, scheme = f"run.store = {url!r}", url.partition("://")[0]
    package, install = SCHEMES[scheme]
    if not package:
        raise InputError(f"{told}: a process' own memory, and a run has several. Take s3, gs or az, or leave it out.")
    if find_spec(package) is None:
        raise InputError(f"{told} needs {package}. Install it with `pip install {install}`.")
    bucket = Bucket(url)
    try:
        if writes:
            bucket.write(IDENTITY, bucket.identity)
        else:
            bucket.read(IDENTITY)
    except RefusedError as error:
        raise InputError(str(error)) from None


class Folder:
    """A folder that all hosts of the run see."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def look_anew(self) -> None:
        """From here on what others have done until now is seen."""

    def names(self, under: str) -> dict[str, int]:
        """The files below the folder ``under``, and their sizes in bytes."""
        files = (path for path in (self.root / under).rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in files}

    def read(self, name: str) -> bytes | None:
        """A file's content; None where there is none."""
        return self.read_all([name]).get(name)

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of each of the files that there are."""
        found = {}
        for name in names:
            with suppress(FileNotFoundError):
                found[name] = (self.root / name).read_bytes()
        return found

    def write(self, name: str, content: str) -> None:
        """Replace a file, whole or not at all."""
        write_atomically(self.root / name, content)

    def remove(self, name: str, under: str) -> None:
        """Remove a file below the folder ``under``, if it is there."""
        (self.root / name).unlink(missing_ok=True)

    def clear(self, under: str) -> None:
        """Remove a folder."""
        shutil.rmtree(self.root / under, ignore_errors=True)

    def append(self, name: str, line: str) -> None:
        """A line more in a file that this process alone writes; lost where its folder is missing or the disk full."""
        with suppress(OSError), (self.root / name).open("a", encoding="utf-8") as file:
            file.write(line)

    def flush(self) -> None:
        """See to it that others see what was appended."""


class Bucket(Folder):
    """The same in a bucket. Listings are kept until `look_anew`.

    What a call cannot do is tried again (`WAITS_S`). Raises StoreError: in vain, or there is no point in it.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._listed: dict[str, dict[str, int]] = {}
        self._noted: dict[str, tuple[str, list[str]]] = {}
        self._lock = Lock()
        self._timer: Timer | None = None

    @cached_property
    def _files(self) -> Any:
        return bucket_files(self.url.partition("://")[0], skip_instance_cache=True)

    @cached_property
    def identity(self) -> str:
        """What tells this bucket's folder from any other, also from itself before somebody emptied it."""
        found = self.read(IDENTITY)
        if found is None:
            with suppress(FileExistsError):
                self._call("pipe_file", self._at(IDENTITY), uuid.uuid4().hex.encode(), mode="create")
            found = self.read(IDENTITY)
        return (found or b"").decode(errors="replace")

    def look_anew(self) -> None:
        """Forget the listings."""
        self._listed.clear()

    def names(self, under: str) -> dict[str, int]:
        """The objects below ``under``, and their sizes in bytes."""
        if under not in self._listed:
            try:  # By a prefix: of a folder that is empty s3fs would ask twice more what it is.
                found = self._call("find", self._at("")[:-1], prefix=f"{under}/", detail=True)
            except FileNotFoundError:
                found = {}
            sizes = {name[len(self._at("")) :]: about.get("size") or 0 for name, about in found.items()}
            self._listed[under] = {name: size for name, size in sizes.items() if name.startswith(f"{under}/")}
        return self._listed[under]

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of each of the objects that there are, several asked for at once."""
        at = {self._at(name): name for name in names}
        return {at[path]: content for path, content in self._call(self._cat, list(at)).items()} if at else {}

    def _cat(self, paths: list[str]) -> dict[str, bytes]:
        answers = self._files.cat_ranges(
            paths, 0, LARGEST_NOTE, on_error="return"
        )  # `cat` would first ask what each is.
        for answer in answers:
            if isinstance(answer, Exception) and not _is_missing(answer):
                raise answer
        return {path: answer for path, answer in zip(paths, answers, strict=True) if isinstance(answer, bytes)}

    def write(self, name: str, content: str) -> None:
        """Replace an object."""
        self._call("pipe_file", self._at(name), content.encode())
        for listed in (names for under, names in self._listed.items() if name.startswith(f"{under}/")):
            listed[name] = len(content)

    def remove(self, name: str, under: str) -> None:
        """Remove an object below ``under`` that a listing has; most are not there, and cost no request."""
        if name in self.names(under):
            self._remove([name])

    def clear(self, under: str) -> None:
        """Remove all objects below ``under``."""
        self.look_anew()
        self._remove(self.names(under))

    def _remove(self, names: Iterable[str]) -> None:
        if at := [self._at(name) for name in names]:
            with suppress(FileNotFoundError):
                self._call("rm", at)
            self.look_anew()

    def put(self, path: Path, name: str, *, replace: bool) -> None:
        """Upload a file, whole or not at all; raises FileExistsError where there is one and not to ``replace`` it."""
        self._call("put_file", str(path), self._at(name), mode="overwrite" if replace else "create")

    def get(self, name: str, path: Path) -> None:
        """Download a file to ``path``; raises FileNotFoundError where there is none."""
        self._call("get_file", self._at(name), str(path))

    def append(self, name: str, line: str) -> None:
        """A line more of what is written within `PUSHED_S`, or by `flush`, to an object that nobody else writes."""
        with self._lock:
            folder, _, last = name.rpartition("/")
            self._noted.setdefault(name, (f"{folder}/{uuid.uuid4().hex}/{last}", []))[1].append(line)
            if self._timer is None:
                self._timer = Timer(PUSHED_S, self._push)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Upload what was appended; what comes after it goes to another object."""
        self._push(last=True)

    def _push(self, *, last: bool = False) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            noted = {at: "".join(lines) for at, lines in self._noted.values()}
            if last:
                self._noted.clear()
        for at, text in noted.items():
            with suppress(ApportionError, OSError):  # No result rests on it; what does will tell.
                self._call("pipe_file", self._at(at), text.encode(), waits_s=())

    def _at(self, name: str) -> str:
        return f"{self._files._strip_protocol(self.url)}/{name}"

    def _call(
        self, call: str | Callable[..., Any], *given: Any, waits_s: Iterable[float] | None = None, **more: Any
    ) -> Any:
        # Units may draw from `random` itself.
        chance, begun = random.SystemRandom(), time.monotonic()
        waits = iter(WAITS_S if waits_s is None else waits_s)
        while True:
            try:
                return (getattr(self._files, call) if isinstance(call, str) else call)(*given, **more)
            except Exception as error:
                status = _status(error)
                if _is_missing(error) and call in ("pipe_file", "put_file"):
                    told = "there is no such bucket. Make it, or correct the name."
                    raise RefusedError(f"run.store = {self.url!r}: {told}") from None
                if _is_missing(error):
                    raise FileNotFoundError(errno.ENOENT, "no such object or bucket", self.url) from None
                if isinstance(error, FileExistsError) or status == 412:
                    raise FileExistsError(errno.EEXIST, "there is one", self.url) from None
                if isinstance(error, OSError) and error.errno in LOCAL_ERRORS:
                    raise
                told = f"{type(error).__name__}{f' {status}' if status else ''}: {_without_secrets(str(error))}"
                if isinstance(error, PermissionError) or status in (401, 403):
                    raise RefusedError(
                        f"run.store = {self.url!r}: not allowed ({told}). Check the credentials in the environment, "
                        "and that they may list, get, put and delete objects there."
                    ) from None
                if status == 501 and more.pop("mode", None) == "create":  # The last writer wins, with equal content.
                    continue
                wait_s = next(waits, None) if _may_pass(error, status) else None
                if wait_s is None:
                    raise StoreError(
                        f"{self.url}: the store does not do its part, tried for {time.monotonic() - begun:.0f} s "
                        f"({told}). What is finished is kept: run the same command again to go on."
                    ) from None
                time.sleep(wait_s * chance.uniform(0.5, 1))


def _status(error: BaseException | None) -> int | None:
    """The HTTP status of an answer, wherever a package's error, or what caused it, has it."""
    while error is not None:
        about = getattr(error, "response", None)
        told = about.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(about, dict) else None
        for status in (told, getattr(error, "status_code", None), getattr(error, "code", None)):
            if isinstance(status, int):
                return status
        error = error.__cause__
    return None


def _is_missing(error: Exception) -> bool:
    return isinstance(error, FileNotFoundError) or _status(error) in (404, 416)  # 416: it is empty.


def _may_pass(error: Exception, status: int | None) -> bool:
    """Whether another try may help: not where a request itself is wrong, or nothing says who asks."""
    if status is not None:
        return status >= 500 or status in PASSING
    return not isinstance(error, (TypeError, ValueError, ImportError)) and "Credential" not in type(error).__name__


def _without_secrets(text: str) -> str:
    for name, value in os.environ.items():
        if len(value) >= 6 and _secret_name.search(name.upper()):
            text = text.replace(value, "[key]")
    return shortened(re.sub(r"//[^/@\s]*@", "//", text), 300)
