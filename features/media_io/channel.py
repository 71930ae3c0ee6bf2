"""Which part of a recording belongs to a person: one audio channel, or one half of the picture."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.corpus.session import Media
from apportion.foundation.errors import UnitError

HALVES = ("left", "right")
AUDIO_NAMES = {"L": 0, "R": 1}


@dataclass(frozen=True)
class Channel:
    """``audio`` is a channel's index, None for the voice: the mean of two channels, one of more (``voice_channel``).

    ``half`` is ``left``, ``right`` or None (the whole picture).
    """

    audio: int | None = None
    half: str | None = None


def parse_channel(media: Media) -> Channel:
    """Read the ``channel`` column of a media row.

    Raises ``UnitError`` for a value that is not allowed for the row's kind.
    """
    name = media.channel
    if name is None or name == "":
        return Channel()
    if name in HALVES and media.kind == "video":
        return Channel(half=name)
    if name in AUDIO_NAMES:
        return Channel(audio=AUDIO_NAMES[name])
    if name.isascii() and name.isdigit():
        return Channel(audio=int(name))
    halves = " or left, right (a half of the picture)" if media.kind == "video" else ""
    raise UnitError(
        f"{media.path}: channel {name!r} of {media.speaker}'s {media.kind} is not known. "
        f"Allowed in the media table: L, R, a channel number from 0{halves}, or nothing for the whole recording."
    )
