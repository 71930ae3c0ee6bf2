"""Recorded replies: a JSONL file that answers requests without a server, and the recorder that writes one.

The first line says where the replies come from: ``{"model": …, "date": …, "how": …}``. Every other line is one reply:
``{"key": …, "reply": …, "model": …, "date": …}`` and, where known, ``finish_reason``, ``prompt_tokens``,
``cached_tokens``, ``completion_tokens`` and ``label``. Prompts are not in the file, only their hashes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import Place, may_exist
from apportion.llm_client.errors import MissingReplyError, SetupError
from apportion.llm_client.request import ChatReply, ChatRequest, json_line
from apportion.llm_client.settings import LLMSettings

_log = logging.getLogger(__name__)
_HEADER_START = b'{"model": '


@dataclass(frozen=True)
class RecordingHeader:
    """Whose replies a file holds: the model family, the day or days (ISO 8601), and how they were made, in words."""

    model: str
    date: str
    how: str


def read_header(path: Path) -> RecordingHeader:
    """The header of a file of recorded replies, to be shown wherever its replies are.

    Raises ``SetupError``: no such file, or its first line is no header.
    """
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"the recorded replies {path} cannot be read: {error}.") from None
    return _header(path, line)


class RecordedReplies:
    """The provider that answers from a file.

    Raises ``SetupError``: the file cannot be read; the message names the line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.header = read_header(path)
        self._replies: dict[str, ChatReply] = {}
        for number, line in enumerate(_whole_lines(path)[1:], start=2):
            entry = _entry(path, number, line)
            # Two processes may have recorded the same request; everybody goes on with the first reply.
            self._replies.setdefault(entry["key"], _reply(entry))

    def find(self, request: ChatRequest) -> ChatReply | None:
        """The recorded reply to ``request``, or None."""
        return self._replies.get(request.key())

    async def fetch(self, request: ChatRequest) -> ChatReply:
        """The recorded reply to ``request``.

        Raises ``MissingReplyError``: the file has none for exactly this request.
        """
        reply = self.find(request)
        if reply is None:
            raise MissingReplyError(
                f"no recorded reply in {self._path} ({self.header.model}, {self.header.date}) for request "
                f"{request.key()} to model {request.model!r}: the session, the prompt or a setting is not one that was "
                "recorded. Use provider = 'openai' with a server, and `record` for a new recording; or leave it out."
            )
        return reply

    async def close(self) -> None:
        """Nothing to let go of."""


class Recorder:
    """Appends replies to a recording, each request once; safe for several processes on one file.

    Raises ``SetupError``: the file is there and is no recording, or cannot be written.
    """

    def __init__(self, path: Path, header: RecordingHeader) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                self._start(header)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError as error:
            raise SetupError(f"the recording {path} cannot be written: {error}.") from None
        self._known = {_entry(path, number, line)["key"] for number, line in enumerate(_whole_lines(path)[1:], start=2)}

    def add(self, request: ChatRequest, reply: ChatReply) -> None:
        """Append one reply unless its request is in the file already."""
        key = request.key()
        if key in self._known:
            return
        answer = asdict(reply)
        entry = {"key": key, "reply": answer.pop("text"), **answer, "date": today(), "label": request.subject}
        try:
            self._append(entry)
        except OSError as error:
            raise SetupError(f"the recording {self._path} cannot be written: {error}.") from None
        self._known.add(key)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _start(self, header: RecordingHeader) -> None:
        content = self._path.read_bytes()
        whole = content.rfind(b"\n") + 1
        rest = content[whole:]
        if whole or (rest and not rest.startswith(_HEADER_START[: len(rest)])):
            read_header(self._path)
        if _is_json(rest):
            self._write(b"\n")  # An editor has left the last line without its end.
            whole = len(content) + 1
        elif rest:
            # A killed writer left part of a line; its reply is still in the cache.
            os.ftruncate(self._descriptor, whole)
        if not whole:
            self._append(asdict(header))

    def _append(self, entry: Mapping[str, Any]) -> None:
        # One write of a whole line on a file opened for appending: lines of several processes do not mix.
        self._write((json_line(entry) + "\n").encode())

    def _write(self, line: bytes) -> None:
        if os.write(self._descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def live_header(settings: LLMSettings) -> RecordingHeader:
    """The header of replies that are recorded while a server gives them."""
    return RecordingHeader(settings.model, today(), f"recorded from {settings.host} while it answered live requests")


def today() -> str:
    """Today in UTC as ISO 8601."""
    return datetime.now(UTC).date().isoformat()


def _whole_lines(path: Path) -> list[str]:
    """The lines of a recording; a last one that a killed writer did not finish is none."""
    try:
        # Not splitlines(): a reply may hold U+2028 and the like unescaped.
        lines = path.read_bytes().split(b"\n")
        last = lines.pop()
        if last and _is_json(last):
            lines.append(last)
        elif last:
            _log.warning("%s: the last line was cut while it was written; the reply in it counts as not recorded", path)
        return [line.decode("utf-8") for line in lines]
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"the recorded replies {path} cannot be read: {error}.") from None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _header(path: Path, line: str) -> RecordingHeader:
    try:
        values = json.loads(line)
        return RecordingHeader(**{name: str(values[name]) for name in ("model", "date", "how")})
    except (ValueError, KeyError, TypeError):
        raise SetupError(
            f'{path}, line 1: not the header of recorded replies. It must be {{"model": …, "date": …, "how": …}}.'
        ) from None


def _entry(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        if isinstance(entry["key"], str) and isinstance(entry["reply"], str):
            return dict(entry)
    except (ValueError, KeyError, TypeError):
        pass
    raise SetupError(
        f'{path}, line {number}: not a recorded reply. It must be {{"key": "…", "reply": "…", "model": …, "date": …}}; '
        "remove the line or record it again."
    )


def _reply(entry: Mapping[str, Any]) -> ChatReply:
    return ChatReply(
        text=entry["reply"],
        model=str(entry.get("model", "")),
        prompt_tokens=entry.get("prompt_tokens"),
        completion_tokens=entry.get("completion_tokens"),
        finish_reason=str(entry.get("finish_reason", "stop")),
        cached_tokens=entry.get("cached_tokens"),
    )


@contextmanager
def kept_replies(
    settings: LLMSettings, cache: Place, recorded: Path | None
) -> Iterator[Callable[[ChatRequest], ChatReply | None]]:
    """Looks up the reply to a request, None where there is none; makes no file.

    Raises ``SetupError``: the file of replies cannot be read.
    """
    if settings.provider == "recorded":
        yield RecordedReplies(recorded).find if recorded is not None else lambda request: None
    elif not may_exist(cache):
        yield lambda request: None
    else:
        with closing(ReplyCache(cache)) as kept:
            yield lambda request: kept.get(request.key())
