"""Which part of a recording belongs to a person: one audio channel, or one half of the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from apportion.corpus.recordings.channel import ALLOWED, HALVES, parse_sound
from apportion.corpus.recordings.presentation import IN_THE_TABLE, present
from apportion.corpus.session import Media
from apportion.features.media_io.media import Recording
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError


@dataclass(frozen=True)
class Channel:
    """``audio`` is a channel's index, None for the voice: the mean of two channels, one of more (``voice_channel``).

    ``half`` is ``left``, ``right`` or None (the whole picture). ``track`` is the sound track's number, None for the one
    that sounds. ``turned``: of two channels the second is turned over before the mean is taken.
    """

    audio: int | None = None
    half: str | None = None
    track: int | None = None
    turned: bool = False


def parse_channel(media: Media) -> Channel:
    """Read the ``channel`` column of a media row.

    Raises ``UnitError`` for a value that is not allowed for the row's kind.
    """
    name = media.channel
    if name is None or name == "":
        return Channel()
    if name in HALVES and media.kind == "video":
        return Channel(half=name)
    asked = parse_sound(name)
    if asked is not None:
        return Channel(track=asked[0], audio=asked[1])
    halves = " or left, right (a half of the picture)" if media.kind == "video" else ""
    raise UnitError(
        f"{media.path}: channel {name!r} of {media.speaker}'s {media.kind} is not known. "
        f"Allowed in the media table: {ALLOWED}{halves}, or nothing for the whole recording."
    )


def heard_channel(recording: Recording, channel: Channel, remedy: str = IN_THE_TABLE) -> tuple[Channel, str | None]:
    """``channel`` with the sound track that a person would hear, and what to say where that had to be chosen.

    Raises ``UnitError``: several tracks sound and ``channel`` names none, or one that the file does not have.
    """
    if channel.track is None and len(recording.streams("audio")) < 2:
        return channel, None
    presentation = present(recording.place, recording.path)
    track = presentation.sound(channel.track, remedy)
    if track is None:
        return channel, None
    told = None if channel.track is not None else presentation.chosen(track)
    return replace(channel, track=track.number), told


CENTRE, DEEP = "FC", "LFE"
"""FFmpeg's names of the centre, which holds the speech of surround sound, and of the channel of low effects."""
SILENT_DB = -30.0
"""A centre that lies this far below the loudest channel is an empty one: a stereo recording in a larger frame."""
STEREO = 2
MUTE_DB = -40.0
"""Of two channels, one that lies this far below the other does not sound: the mean would only be a quieter voice."""
OPPOSED = 0.25
"""Of two channels in which the same voice swings the other way round, the mean has less than this of their power."""


def voice_channel(recording: Recording, channel: Channel) -> tuple[Channel, str] | None:
    """``channel`` with what of the sound is the voice, and why; None where that is the one channel or the mean of two.

    Of two channels it is the one that sounds, and where their waves are opposed half their difference. Of more, the
    mean would be a voice at a sixth of its loudness beside the echo and the noise of the others: it is the centre where
    the layout names one and it sounds, else the channel with the most energy over the whole recording (of those that
    the layout does not call low effects). Decodes the sound once.

    Raises ``UnitError`` for a damaged file.
    """
    import av

    stream = recording.sound(channel.track)
    frames = iter(()) if stream is None else recording.frames(stream)
    first = next(frames, None)
    if first is None or first.layout.nb_channels < STEREO:
        return None
    layout, names = first.layout.name, [channel.name for channel in first.layout.channels]
    to_float = av.AudioResampler(format="fltp")
    energy = _energy(first, to_float)
    # A change of the format on the way is told by whoever reads the channel.
    for frame in takewhile(lambda frame: frame.layout.nb_channels == len(names), frames):
        energy += _energy(frame, to_float)
    if len(names) == STEREO:
        return _of_two(channel, energy)
    count = f"its sound has {len(names)} channels ({layout})"
    loudest = max((i for i, name in enumerate(names) if name != DEEP), key=lambda index: (energy[index], -index))
    if CENTRE not in names:
        return replace(channel, audio=loudest), f"{count} and no centre: the loudest, {loudest}, is taken"
    centre = names.index(CENTRE)
    if energy[centre] >= 10.0 ** (SILENT_DB / 10.0) * energy[loudest]:
        return replace(channel, audio=centre), f"{count}: the centre, {centre}, is taken"
    return replace(channel, audio=loudest), f"{count} and the centre is silent: the loudest, {loudest}, is taken"


def _of_two(channel: Channel, energy: Floats) -> tuple[Channel, str] | None:
    """``energy``: of the first, of the second, and of their mean."""
    first, second, mean = energy
    if min(first, second) < 10.0 ** (MUTE_DB / 10.0) * max(first, second):
        louder = int(second > first)
        return replace(channel, audio=louder), f"one of its two channels is silent: the other, {louder}, is taken"
    if mean < OPPOSED * (first + second) / 2:
        text = (
            "its two channels are opposed (antiphase), so that their mean would hush the voice: half their difference"
        )
        return replace(channel, turned=True), f"{text} is taken"
    return None


def _energy(frame: Any, to_float: Any) -> Floats:
    """Sum of the squared samples of each channel [channels], and of the mean of two; what is no number is nothing."""
    planes = [part.to_ndarray() for part in to_float.resample(frame)]
    samples = np.nan_to_num(np.concatenate(planes, axis=1).astype(np.float64), posinf=0.0, neginf=0.0)
    if len(samples) == STEREO:
        samples = np.vstack([samples, samples.mean(axis=0)])
    energy: Floats = np.sum(samples**2, axis=1)
    return energy
