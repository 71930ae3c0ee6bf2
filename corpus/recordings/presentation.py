"""What a person would see and hear of one recording: how long it is, its tracks, and which of them sounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from apportion.corpus.files.header_clock import header_clock
from apportion.corpus.recordings.container import is_guess, open_container, streams_of
from apportion.foundation.errors import UnitError

SILENT_DB = -70.0
"""A sound of less power than this, dB re full scale, is silence: what a microphone that hears nothing hisses."""
FAR_BELOW_DB = 40.0
"""A track that lies this far below the loudest one of its file does not sound beside it."""
ENOUGH, ENOUGH_S = 0.05, 60.0
"""A single track is listened to until this share of its length, and so many seconds, have sounded."""
AGREES_S = 0.1
"""A stated length that is this near to the measured one is right."""
REMEMBERED = 4096
IN_THE_TABLE = "Say which in the media table's column channel, for example track{0}."


@dataclass(frozen=True)
class SoundTrack:
    """One track of sound: ``sounding_s`` of the ``heard_s`` seconds that were listened to are not silence.

    ``sounds``: whether a person would hear it beside the others. ``whole``: whether all of it was listened to.
    ``each_s``: as ``sounding_s``, of every channel by itself. ``alike``: whether both of two channels play one sound.
    """

    number: int
    title: str
    channels: int
    heard_s: float
    sounding_s: float
    energy: float
    sounds: bool
    whole: bool
    each_s: tuple[float, ...] = ()
    alike: bool = False

    def sounding_of(self, channel: int | None) -> float:
        """The seconds that are not silence, of one channel where there is such a one."""
        known = channel is not None and channel < len(self.each_s)
        return self.each_s[channel] if known and channel is not None else self.sounding_s

    def share(self, channel: int | None = None) -> float:
        """The share, 0 to 1, of what was listened to that is not silence, of one ``channel`` or of all."""
        return self.sounding_of(channel) / self.heard_s if self.heard_s else 0.0

    def __str__(self) -> str:
        return f"track{self.number} ({self.title}, {self.channels} channel{'s' * (self.channels != 1)})"


@dataclass(frozen=True)
class Presentation:
    """What a recording shows and plays; ``name`` is what messages call it.

    ``end_s`` counts from presentation time 0, as the session's clock does: measured where the container only guesses,
    None where nothing can be known. ``videos``: how many. ``sounds``: every track of sound.
    """

    name: str
    end_s: float | None
    videos: int
    sounds: tuple[SoundTrack, ...]

    def sound(self, asked: int | None = None, remedy: str = IN_THE_TABLE) -> SoundTrack | None:
        """The track that is ``asked`` for, else the only one that sounds; the first where none does, None without any.

        Raises ``UnitError``: one that the file does not have; several sound and none is asked for. ``remedy`` says how
        to ask for the track {0}.
        """
        if asked is not None:
            if asked >= len(self.sounds):
                known = _listed(self.sounds) or "none is there"
                raise UnitError(f"{self.name}: sound track {asked} was asked for; allowed: {known}.")
            return self.sounds[asked]
        sounding = [track for track in self.sounds if track.sounds]
        if len(sounding) > 1:
            raise UnitError(
                f"{self.name}: {len(sounding)} of its sound tracks sound, and nobody says whose voice is meant: "
                f"{_listed(sounding)}. {remedy.format(sounding[0].number)}"
            )
        return next(iter(sounding or self.sounds), None)

    def chosen(self, track: SoundTrack, asked: bool = False) -> str | None:
        """What to say of the choice of ``track``: nothing where there is no other."""
        if len(self.sounds) < 2:
            return None
        sounds = "the only one that sounds" if track.sounds else "though none of them sounds"
        why = "which was asked for" if asked else sounds
        return f"{self.name}: {len(self.sounds)} sound tracks in one file: {track} is taken, {why}"


def _listed(tracks: Sequence[SoundTrack]) -> str:
    return ", ".join(map(str, tracks))


def present(place: Path, name: str) -> Presentation:
    """Look at the file ``place``, and listen to it as far as it takes to know what sounds; ``name`` is for messages.

    A file of one track whose channels sound is decoded for a minute or a twentieth of its length, any other whole; what
    is damaged later on is not found here. Raises ``UnitError``: not a readable recording.
    """
    try:
        status = place.stat()
    except OSError as error:
        raise UnitError(f"{name}: cannot be read ({error.strerror or error}). Check it, or copy it again.") from None
    return _present(str(place), name, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=REMEMBERED)
def _present(place: str, name: str, content: tuple[int, int, int]) -> Presentation:
    with open_container(Path(place), name) as container, Path(place).open("rb") as file:
        guess = is_guess(container, file.read(36))
        clock = header_clock(container)
        end_s = None if container.duration is None else clock.end_s
        listening = _Listening(streams_of(container, "audio"), end_s)
        reached_s = _read(container, listening, guess)
        if guess and reached_s is not None and (end_s is None or abs(reached_s - clock.origin_s - end_s) > AGREES_S):
            end_s = reached_s - clock.origin_s
        return Presentation(name, end_s, len(streams_of(container, "video")), listening.tracks())


def _read(container: Any, listening: _Listening, to_the_end: bool) -> float | None:
    """Read packets until all is known; the end of the last one on the container's clock, None where none has a time."""
    import av

    reached_s: float | None = None
    packets = container.demux()
    while to_the_end or not listening.knows():
        try:
            packet = next(packets, None)
        except (av.FFmpegError, OSError, IndexError):  # The last: PyAV's, of a stream that begins on the way.
            break  # What is lost is told by whoever measures.
        if packet is None:
            break
        if packet.pts is not None:
            end = (packet.pts + (packet.duration or 0)) * packet.time_base.numerator / packet.time_base.denominator
            reached_s = end if reached_s is None else max(reached_s, end)
        listening.take(packet)
    return reached_s


@dataclass
class _Heard:
    stream: Any
    to_float: Any
    channels: int = 0
    heard_s: float = 0.0
    sounding_s: float = 0.0
    energy: float = 0.0
    each_s: Any = 0.0
    apart: float = 0.0
    """The energy by which two channels differ, whichever way round they are."""

    def take(self, frame: Any) -> None:
        self.channels = frame.layout.nb_channels
        for part in self.to_float.resample(frame):
            samples = np.nan_to_num(part.to_ndarray().astype(np.float64), posinf=0.0, neginf=0.0)
            if not samples.size:
                continue
            length_s = samples.shape[1] / part.sample_rate
            # About their mean: a constant is no sound.
            powers = samples.var(axis=1)
            power = float(powers.max())
            self.heard_s += length_s
            self.each_s = self.each_s + length_s * (powers >= 10.0 ** (SILENT_DB / 10.0))
            self.sounding_s += length_s * (power >= 10.0 ** (SILENT_DB / 10.0))
            self.energy += power * length_s
            if len(samples) == 2:
                left, right = samples
                self.apart += length_s * min(float((left - right).var()), float((left + right).var()))


@dataclass
class _Listening:
    """Listens to every track of a file."""

    streams: Sequence[Any]
    length_s: float | None
    heard: dict[int, _Heard] = field(init=False)

    def __post_init__(self) -> None:
        import av

        self.heard = {s.index: _Heard(s, av.AudioResampler(format="fltp"), s.channels) for s in self.streams}

    def knows(self) -> bool:
        """Whether there is nothing left to find out."""
        enough_s = max(ENOUGH_S, ENOUGH * (self.length_s or 0.0))
        # Of two channels each may be a person, who says nothing for a while.
        return len(self.heard) < 2 and all(
            (np.min(heard.each_s) if heard.channels == 2 else heard.sounding_s) >= enough_s
            for heard in self.heard.values()
        )

    def take(self, packet: Any) -> None:
        import av

        heard = self.heard.get(packet.stream.index)
        if heard is None or self.knows():
            return
        try:
            for frame in packet.decode():
                heard.take(frame)
        except (av.FFmpegError, ValueError):
            return  # Damage, or another format on the way, is told by whoever measures.

    def tracks(self) -> tuple[SoundTrack, ...]:
        loudest = max((heard.energy for heard in self.heard.values()), default=0.0)
        return tuple(
            SoundTrack(
                number=number,
                title=" ".join(filter(None, (heard.stream.codec_context.name, _title(heard.stream)))),
                channels=heard.channels,
                heard_s=heard.heard_s,
                sounding_s=heard.sounding_s,
                energy=heard.energy,
                sounds=heard.sounding_s > 0 and heard.energy >= loudest * 10.0 ** (-FAR_BELOW_DB / 10.0),
                whole=not self.knows(),
                each_s=tuple(map(float, np.atleast_1d(heard.each_s))),
                alike=heard.channels == 2 and heard.apart < heard.energy * 10.0 ** (-FAR_BELOW_DB / 10.0),
            )
            for number, heard in enumerate(self.heard.values())
        )


def _title(stream: Any) -> str:
    title = str(stream.metadata.get("title", ""))[:60]
    return "".join(c for c in title if c.isprintable())
