"""The recordings of a session: which file, channel or half of the picture belongs to which speaker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.textfile import read_json
from apportion.corpus.importers.reading.asking import choose
from apportion.corpus.recordings.presentation import Presentation, SoundTrack, present
from apportion.corpus.speakers.names import clean_name, same_name
from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import UnitError

CHANNEL_MAP = "channel_map.json"
HALVES = {"L": "left", "R": "right"}
REMEDY = "Say which: -o sound_track={0} (it counts for every file in which several sound)."


@dataclass(frozen=True)
class Recording:
    """A file and what it presents: its end, its pictures, and the sound ``track`` that counts, None without any.

    ``asked``: whether several sound, and somebody said which counts.
    """

    path: Path
    presentation: Presentation
    track: SoundTrack | None
    asked: bool

    @property
    def duration_s(self) -> float | None:
        """From presentation time 0, as the session's clock counts; None where nobody can know."""
        return self.presentation.end_s

    @property
    def has_video(self) -> bool:
        """Whether there is a picture."""
        return self.presentation.videos > 0

    @property
    def audio_channels(self) -> int:
        """Of the track that counts; 0 without any."""
        return 0 if self.track is None else self.track.channels

    @property
    def chosen(self) -> str | None:
        """What to say of the tracks: nothing where there was nothing to choose."""
        return None if self.track is None else self.presentation.chosen(self.track, self.asked)

    def channel(self, side: str | None = None) -> str | None:
        """What the media table says of the sound, or of one ``side`` of it."""
        if self.track is None or not (self.asked or self.track.number):
            return side
        return f"track{self.track.number}{':' if side else ''}{side or ''}"


@dataclass(frozen=True)
class TrackPart:
    """The part of a file that belongs to one speaker: ``kind`` audio or video, ``channel`` None for all of it."""

    speaker: str
    kind: str
    path: Path
    channel: str | None = None


def probe(path: Path, sound_track: int | None = None) -> Recording:
    """Look into a recording; ``sound_track`` is the one that is meant where several sound. None: a person is asked.

    Raises ``UnitError``: zero bytes, damaged, neither sound nor picture, several sound tracks and none is meant.
    """
    presentation = present(path, path.name)
    account.current().recording(path, presentation.end_s)
    if not presentation.videos and not presentation.sounds:
        raise UnitError(f"{path.name}: neither sound nor picture in it. Copy or export it again.")
    sounding = {str(track): track.number for track in presentation.sounds if track.sounds}
    several = len(sounding) > 1
    if several and sound_track is None:
        chosen = choose(
            f"{path.name}: {len(sounding)} of its sound tracks sound. Whose voice is meant?", list(sounding)
        )
        sound_track = None if chosen is None else sounding[chosen]
    return Recording(path, presentation, presentation.sound(sound_track if several else None, REMEDY), several)


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
    sides = {side: same_name(name, speakers) or clean_name(name) for side, name in by_side.items()}
    if len(set(sides.values())) < len(sides):
        raise UnitError(f"{path.name}: {sides['L']!r} is on both sides. Name two people.")
    return sides


def track_parts(
    recordings: Sequence[Recording], speakers: Sequence[str], sides: Mapping[str, str]
) -> tuple[list[TrackPart], list[str], list[str]]:
    """One part a speaker and kind, notes on what a file lacks, and what had to be chosen.

    A file named after a speaker is theirs; any other is shared, and ``sides`` says whose the halves are. A speaker's
    own file goes before a shared one, a file of sound alone before the sound of a video.

    Raises ``UnitError``: a file that belongs to nobody.
    """
    best: dict[tuple[str, str], tuple[int, TrackPart]] = {}
    notes: list[str] = []
    chosen: list[str] = []
    for recording in recordings:
        owner = same_name(recording.path.stem, [*speakers, *sides.values()])
        if owner is None and not sides:
            near = nearest(recording.path.stem.casefold(), [name.casefold() for name in speakers])
            hint = f"did you mean {same_name(near, speakers)!r}? " if near else ""
            raise UnitError(
                f"{recording.path.name}: belongs to no speaker ({', '.join(speakers)}); {hint}"
                f"Name it after its speaker, or say in {CHANNEL_MAP} who is on which side."
            )
        owned = list(_owned(recording, owner)) if owner else []
        tracks = owned or list(_shared(recording, sides, notes))
        rank = 2 * (owner is None) + recording.has_video
        chosen += [recording.chosen] if recording.chosen and tracks else []
        for part in tracks:
            key = (part.speaker, part.kind)
            if key in best and rank == best[key][0]:
                chosen.append(_second(part, best[key][1]))
            if key not in best or rank < best[key][0]:
                best[key] = (rank, part)
    parts = [part for _, part in best.values()]
    for recording in recordings:
        if all(part.path != recording.path for part in parts):
            account.current().unused(recording.path, "their people have others, or no channel of their own")
    return parts, notes, chosen


def _second(part: TrackPart, first: TrackPart) -> str:
    """Two recordings of equal right to one person: nobody says which of them shows the session."""
    what = "films" if part.kind == "video" else "sound files"
    return (
        f"{part.speaker} has two {what}: {first.path.name} is used and {part.path.name} is not. Take the one that does "
        "not belong to this session out of the folder, or join them"
    )


def _owned(recording: Recording, owner: str) -> Iterator[TrackPart]:
    if recording.has_video:
        yield TrackPart(owner, "video", recording.path)
    if recording.audio_channels:
        yield TrackPart(owner, "audio", recording.path, recording.channel())


def _shared(recording: Recording, sides: Mapping[str, str], notes: list[str]) -> Iterator[TrackPart]:
    if recording.has_video:
        yield from (TrackPart(name, "video", recording.path, HALVES[side]) for side, name in sides.items())
    if recording.audio_channels >= 2:
        yield from (TrackPart(name, "audio", recording.path, recording.channel(side)) for side, name in sides.items())
    elif recording.audio_channels == 1:
        notes.append(f"{recording.path.name} has one audio channel for all its speakers: its sound is not used")
