"""A server's answer, of which no more is held than a setting allows, however much comes and however far it unfolds."""

from __future__ import annotations

import ssl
import sys
import zlib
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, NamedTuple

from apportion.llm_client.transport.connection_errors import why_broken

ENCODINGS = "gzip, deflate"
"""What is asked for: those that can be unfolded piece by piece (an HTTP library unfolds a network chunk at once)."""
KEPT = 64 * 1024
"""Bytes of a body that was cut off that are kept: evidence."""

_WHY = "apportion"
_ANY_WRAPPER = 32 + zlib.MAX_WBITS
"""zlib finds out itself whether the wrapper is gzip's or zlib's."""


class Answer(NamedTuple):
    """An HTTP answer: its status, the bytes of its body after decompression, and what kept that from being whole.

    ``cut_at`` is the number of bytes where reading was ended, ``flaw`` any other reason in words.
    """

    status: int
    body: bytes
    flaw: str | None = None
    cut_at: int | None = None

    @classmethod
    def of(cls, response: Any) -> Answer:
        """The answer in a response that went through `keeper_of_bodies`."""
        return cls(response.status_code, response.content, *response.extensions.get(_WHY, (None, None)))


def keeper_of_bodies(most_bytes: int) -> Callable[[Any], Awaitable[None]]:
    """A hook for the HTTP library's responses: each body is read up to ``most_bytes`` and the connection let go.

    What came before a connection broke is kept as well: it is evidence, and a status is a status without its body.
    """

    async def hold(response: Any) -> None:
        library = library_of(type(response))
        # An error with more has said it, and the SDK makes values of all that there is.
        most = most_bytes if response.status_code < 400 else min(most_bytes, KEPT)
        body, flaw, cut_at = bytearray(), None, None
        try:
            unfold = _unfolding(response.headers.get("content-encoding", ""))
            async for chunk in response.stream:
                # One byte more tells a body of exactly this size from a longer one.
                body += unfold(chunk, most + 1 - len(body))
                if len(body) > most:
                    cut_at = most
                    del body[KEPT:]
                    break
        except (ValueError, zlib.error) as error:
            flaw = f"its compression cannot be read: {error}"
        except library.TimeoutException:
            raise
        except (library.TransportError, ssl.SSLError) as error:
            flaw = f"the connection broke off after {len(body):,} bytes: {why_broken(error)}"
        await response.stream.aclose()
        response.headers.pop("content-encoding", None)
        response.stream = library.ByteStream(bytes(body[:most]))
        if flaw is not None or cut_at is not None:
            response.extensions = {**response.extensions, _WHY: (flaw, cut_at)}

    return hold


def library_of(kind: type) -> ModuleType:
    """The HTTP library that ``kind`` or its nearest base comes from; the SDK's versions bring different ones."""
    names = [base.__module__.split(".")[0] for base in kind.__mro__]
    return sys.modules[next(name for name in names if name.startswith("httpx"))]


def _unfolding(encoding: str) -> Callable[[bytes, int], bytes]:
    """What unfolds the next chunk into at most so many bytes; bytes beyond them are never made."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"it is {encoding[:40]!r}, and only {ENCODINGS} was asked for")
    inflater: Any = None

    def unfold(chunk: bytes, most: int) -> bytes:
        nonlocal inflater
        if inflater is None:
            bare = encoding == "deflate" and chunk[:1] and chunk[0] & 0x0F != 8  # Some leave zlib's wrapper out.
            inflater = zlib.decompressobj(-zlib.MAX_WBITS if bare else _ANY_WRAPPER)
        unfolded: bytes = inflater.decompress(chunk, most)
        return unfolded

    return unfold
