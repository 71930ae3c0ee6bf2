"""The recordings of a session: which file, channel or half of the picture belongs to which speaker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.header_clock import header_clock
from apportion.corpus.files.textfile import read_json
from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import UnitError

SUFFIXES = frozenset(
    [
        ".mp4",
        ".mov",
        ".mkv",
        ".webm",
        ".avi",
        ".m4v",
        ".mpg",
        ".mpeg",
        ".wav",
        ".mp3",
        ".m4a",
        ".flac",
        ".ogg",
        ".opus",
        ".aac",
        ".aif",
        ".aiff",
        ".wma",
    ]
)
CHANNEL_MAP = "channel_map.json"
HALVES = {"L": "left", "R": "right"}


@dataclass(frozen=True)
class Recording:
    """What a file holds: when it ends, whether there is a picture, and how many audio channels.

    ``duration_s`` counts from presentation time 0, as the session's clock does; None where the header does not say.
    """

    path: Path
    duration_s: float | None
    has_video: bool
    audio_channels: int


@dataclass(frozen=True)
class TrackPart:
    """The part of a file that belongs to one speaker: ``kind`` audio or video, ``channel`` None for all of it."""

    speaker: str
    kind: str
    path: Path
    channel: str | None = None


def probe(path: Path) -> Recording:
    """Look into a recording's header. Raises ``UnitError``: zero bytes, damaged, or neither sound nor picture."""
    import av

    if path.stat().st_size == 0:
        raise UnitError(f"{path.name}: the file has zero bytes. Copy or export the recording again.")
    try:
        # A playlist in disguise must not make this machine fetch anything.
        with av.open(str(path), options={"protocol_whitelist": "file"}) as container:
            cover = av.stream.Disposition.attached_pic
            # A stream of a codec that nobody knows has no context, and can be neither heard nor seen.
            video = [s for s in container.streams.video if s.codec_context and not s.disposition & cover]
            sound = [s for s in container.streams.audio[:1] if s.codec_context]
            channels = sound[0].channels if sound else 0
            duration = None if container.duration is None else header_clock(container).end_s
    except (av.error.FFmpegError, OSError) as error:
        cause = getattr(error, "strerror", None) or error
        raise UnitError(f"{path.name}: not a readable recording ({cause}). Copy or export it again.") from None
    if not video and not channels:
        raise UnitError(f"{path.name}: neither sound nor picture in it. Copy or export it again.")
    return Recording(path, duration, bool(video), channels)


def read_channel_map(path: Path, speakers: Sequence[str]) -> dict[str, str]:
    """Speaker by side, from ``{"L": "alice", "R": "bob"}``, spelt as in ``speakers`` where they are known.

    Raises ``UnitError``: other keys or values, one person on both sides. ``InputError``: a file that cannot be read, or
    is not JSON.
    """
    by_side = read_json(path)
    if not isinstance(by_side, dict) or not by_side or not all(isinstance(name, str) for name in by_side.values()):
        raise UnitError(f'{path.name}: {{"L": "alice", "R": "bob"}} is needed.')
    for side in by_side:
        if side not in HALVES:
            raise UnitError(
                f"{path.name}: side {side!r}; allowed: {', '.join(HALVES)} (channel, or half of the picture)."
            )
    sides = {side: same_name(name, speakers) or name for side, name in by_side.items()}
    if len(set(sides.values())) < len(sides):
        raise UnitError(f"{path.name}: {sides['L']!r} is on both sides. Name two people.")
    return sides


def same_name(name: str, names: Sequence[str]) -> str | None:
    """``name`` as it is spelt in ``names``, upper and lower case aside; None where it is not there."""
    return next((known for known in names if known.casefold() == name.casefold()), None)


def track_parts(
    recordings: Sequence[Recording], speakers: Sequence[str], sides: Mapping[str, str]
) -> tuple[list[TrackPart], list[str]]:
    """One part a speaker and kind, and notes on what a file lacks.

    A file named after a speaker is theirs; any other is shared, and ``sides`` says whose the halves are. A speaker's
    own file goes before a shared one, a file of sound alone before the sound of a video.

    Raises ``UnitError``: a file that belongs to nobody.
    """
    best: dict[tuple[str, str], tuple[int, TrackPart]] = {}
    notes: list[str] = []
    for recording in recordings:
        owner = same_name(recording.path.stem, [*speakers, *sides.values()])
        if owner is None and not sides:
            near = nearest(recording.path.stem.casefold(), [name.casefold() for name in speakers])
            hint = f"did you mean {same_name(near, speakers)!r}? " if near else ""
            raise UnitError(
                f"{recording.path.name}: belongs to no speaker ({', '.join(speakers)}); {hint}"
                f"Name it after its speaker, or say in {CHANNEL_MAP} who is on which side."
            )
        owned = [TrackPart(owner, kind, recording.path) for kind in _kinds(recording)] if owner else []
        tracks = owned or list(_shared(recording, sides, notes))
        rank = 2 * (owner is None) + recording.has_video
        for part in tracks:
            key = (part.speaker, part.kind)
            if key not in best or rank < best[key][0]:
                best[key] = (rank, part)
    return [part for _, part in best.values()], notes


def _kinds(recording: Recording) -> list[str]:
    return ["video"] * recording.has_video + ["audio"] * (recording.audio_channels > 0)


def _shared(recording: Recording, sides: Mapping[str, str], notes: list[str]) -> Iterator[TrackPart]:
    if recording.has_video:
        yield from (TrackPart(name, "video", recording.path, HALVES[side]) for side, name in sides.items())
    if recording.audio_channels >= 2:
        yield from (TrackPart(name, "audio", recording.path, side) for side, name in sides.items())
    elif recording.audio_channels == 1:
        notes.append(f"{recording.path.name} has one audio channel for all its speakers: its sound is not used")
