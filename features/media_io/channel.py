"""Which part of a recording belongs to a person: one audio channel, or one half of the picture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from apportion.corpus.session import Media
from apportion.features.media_io.media import Recording
from apportion.foundation.arrays import Floats
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


CENTRE, DEEP = "FC", "LFE"
"""FFmpeg's names of the centre, which holds the speech of surround sound, and of the channel of low effects."""
SILENT_DB = -30.0
"""A centre that lies this far below the loudest channel is an empty one: a stereo recording in a larger frame."""
STEREO = 2


def voice_channel(recording: Recording) -> tuple[int, str] | None:
    """The index of the voice's channel, and why it is that one; None for one channel or two.

    Their mean would be a voice at a sixth of its loudness beside the echo and the noise of the others. It is the centre
    where the layout names one and it sounds, else the channel with the most energy over the whole recording (of those
    that the layout does not call low effects). Decodes the sound once.

    Raises ``UnitError`` for a damaged file.
    """
    import av

    stream = recording.stream("audio")
    frames = iter(()) if stream is None else recording.frames(stream)
    first = next(frames, None)
    if first is None or first.layout.nb_channels <= STEREO:
        return None
    layout, names = first.layout.name, [channel.name for channel in first.layout.channels]
    to_float = av.AudioResampler(format="fltp")
    energy = _energy(first, to_float)
    # A change of the format on the way is told by whoever reads the channel.
    for frame in takewhile(lambda frame: frame.layout.nb_channels == len(names), frames):
        energy += _energy(frame, to_float)
    count = f"its sound has {len(names)} channels ({layout})"
    loudest = max((i for i, name in enumerate(names) if name != DEEP), key=lambda index: (energy[index], -index))
    if CENTRE not in names:
        return loudest, f"{count} and no centre: the loudest, {loudest}, is taken"
    centre = names.index(CENTRE)
    if energy[centre] >= 10.0 ** (SILENT_DB / 10.0) * energy[loudest]:
        return centre, f"{count}: the centre, {centre}, is taken"
    return loudest, f"{count} and the centre is silent: the loudest, {loudest}, is taken"


def _energy(frame: Any, to_float: Any) -> Floats:
    """Sum of the squared samples of each channel [channels]; samples that are no numbers count as nothing."""
    planes = [part.to_ndarray() for part in to_float.resample(frame)]
    samples = np.nan_to_num(np.concatenate(planes, axis=1).astype(np.float64), posinf=0.0, neginf=0.0)
    energy: Floats = np.sum(samples**2, axis=1)
    return energy
