"""The words of the media table's column ``channel``: a track and a channel of the sound, a half of the picture."""

from __future__ import annotations

import re

HALVES = ("left", "right")
AUDIO_NAMES = {"L": 0, "R": 1}
ALLOWED = "L, R, a channel's number from 0, track0 or track0:L (a sound track of several)"
FORM = re.compile(r"(?:track(?P<track>[0-9]{1,4}))?(?P<colon>:?)(?P<channel>L|R|[0-9]{1,4})?")


def parse_sound(name: str) -> tuple[int | None, int | None] | None:
    """The sound track and the channel that ``name`` asks for, None for what it leaves open; None for other words.

    >>> parse_sound("R"), parse_sound("track1"), parse_sound("track1:2"), parse_sound("middle")
    ((None, 1), (1, None), (1, 2), None)
    """
    found = FORM.fullmatch(name)
    if not name or found is None or bool(found["colon"]) != bool(found["track"] and found["channel"]):
        return None
    channel = found["channel"]
    index = None if channel is None else AUDIO_NAMES.get(channel)
    if index is None and channel is not None:
        index = int(channel)
    return None if found["track"] is None else int(found["track"]), index
