"""Opening a recording safely, and whether its header can be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apportion.corpus.files.picture_size import DECODER_OPTIONS, check_pictures
from apportion.foundation.errors import UnitError

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,asf,mpegts,mpeg,ogg,wav,w64,aiff,au,caf,mp3,aac,ac3,flac,amr"
"""Containers that are read. Playlists (HLS, concat, DASH) are not: they can name other files and hosts."""
SUFFIXES = frozenset((
    ".mp4", ".m4v", ".mov", ".3gp", ".3g2", ".mkv", ".webm", ".avi", ".flv", ".wmv", ".asf", ".mpg", ".mpeg", ".ts",
    ".mts", ".m2ts", ".ogv",
    ".wav", ".w64", ".mp3", ".m4a", ".m4b", ".flac", ".ogg", ".oga", ".opus", ".aac", ".ac3", ".amr", ".aif", ".wma",
    ".aiff", ".caf", ".au",
))  # fmt: skip
"""Endings of the names of recordings."""
HEADED = ("mov", "matroska", "avi", "flv", "asf", "wav", "w64", "aiff", "caf", "flac")
"""Containers whose header states the length; for the others FFmpeg only estimates it, and nothing is promised."""
GUESSED = ("mp3", "aac", "ac3", "eac3", "amr")
"""Of those, the ones whose length FFmpeg guesses from the size of the file and the first packets."""
MAGIC = (0, 2**31, 2**32)
NEAR_MAGIC = 2**13
"""Programs that write a WAV to a pipe leave 0, or about the largest number, where its size stands."""


def open_container(place: Path, name: str) -> Any:
    """PyAV's container of the file ``place``, which messages call ``name``.

    Raises ``UnitError``: empty, damaged, no known container, or pictures too large to read.
    """
    import av

    try:
        if place.stat().st_size == 0:
            raise UnitError(f"{name}: the file has zero bytes. Copy or export the recording again.")
        # A playlist in disguise must not make this machine fetch anything.
        container = av.open(
            str(place), options={"format_whitelist": FORMATS, "protocol_whitelist": "file"} | DECODER_OPTIONS
        )
    except (av.FFmpegError, OSError, ValueError) as error:
        raise UnitError(
            f"{name}: cannot be opened as a recording ({reason(error)}). The file may be cut short, damaged, or in an "
            "unknown format; common ones are mp4, mov, mkv, webm, wav, flac, mp3. Copy or export it again, or convert "
            "it."
        ) from error
    try:
        check_pictures(container, name)
    except UnitError:
        container.close()
        raise
    return container


def reason(error: Exception) -> str:
    """FFmpeg's cause without its number and without the path, which may be private."""
    return getattr(error, "strerror", None) or str(error)


def format_of(container: Any) -> str:
    """The first of the names of the container's format."""
    return str(container.format.name.partition(",")[0])


def promised_bytes(head: bytes) -> int | None:
    """How long a file that begins with ``head`` (36 bytes) says it is; None for what is no WAV or promises nothing."""
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        return None
    size = int.from_bytes(head[4:8], "little")
    return None if any(abs(size - magic) < NEAR_MAGIC for magic in MAGIC[1:]) or size == 0 else size + 8


def is_guess(container: Any, head: bytes) -> bool:
    """Whether the length that the container states was guessed by FFmpeg, or is not stated at all."""
    unsized = head[:4] == b"RIFF" and promised_bytes(head) is None
    return container.duration is None or format_of(container) in GUESSED or unsized


def streams_of(container: Any, kind: str) -> list[Any]:
    """Every ``video`` or ``audio`` stream that can be decoded. Cover pictures are no video."""
    import av

    cover = av.stream.Disposition.attached_pic
    # A stream of a codec that nobody knows has no context, and can be neither heard nor seen.
    known = (stream for stream in container.streams if stream.codec_context is not None)
    return [stream for stream in known if stream.type == kind and not stream.disposition & cover]
