"""CANDOR's recordings: a video a speaker, one stereo sound file, and the behaviour that its authors measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.csvfile import read_table
from apportion.corpus.importers.candor.folders import Conversation
from apportion.corpus.importers.candor.survey import Metadata
from apportion.corpus.importers.reading.json_items import SkipCounter
from apportion.corpus.importers.reading.recordings import CHANNEL_MAP, Recording, TrackPart, probe, read_channel_map
from apportion.corpus.recordings.feature_map import NAME, READY, parse_map
from apportion.foundation.errors import InputError, UnitError

FOLDER = "processed"
PRECOMPUTED = "audio_video_features.csv"
PERSON = "user_id"
BEHAVIOUR = ("timedelta", PERSON)
"""Columns without which the rows of `PRECOMPUTED` are nobody's."""
UNREADABLE = "a recording that cannot be read was left out"
HALF = "a speaker has no video of their own; the side-by-side one is not used, for nobody says whose half is whose"
NO_STEREO = "no stereo mp3: a voice is only heard where the speaker's own video has sound"
UNUSED = "of nobody alone, without picture or sound, or damaged"
NO_SOUND = "sound without speakers was left out"


def recordings_of(
    conversation: Conversation, people: frozenset[str], metadata: Metadata | None, *, video: bool, tally: SkipCounter
) -> tuple[list[TrackPart], float | None]:
    """The sound and, where ``video`` is wanted, the picture of each of ``people``, and the longest duration (s).

    Faults of recordings cost the recording and not the conversation; ``tally`` tells them.
    """
    parts: list[TrackPart] = []
    durations = [0.0]
    videos, sounds = conversation.files(FOLDER, ".mp4"), conversation.files(FOLDER, ".mp3")
    shared = sounds.get(conversation.id)
    for path in (*videos.values(), *sounds.values()):
        account.current().recording(path, None)
    sound = _probed(shared, conversation, tally) if shared else None
    if sound is not None:
        durations.append(sound.duration_s or 0.0)
        parts += _voices(sound, conversation, people, metadata, tally)
    for person in sorted(people) if video and videos else ():
        if person not in videos:
            tally.add(HALF if conversation.id in videos else "a speaker has no video", conversation.id)
            continue
        picture = _probed(videos[person], conversation, tally)
        if picture is not None and picture.has_video:
            durations.append(picture.duration_s or 0.0)
            parts.append(TrackPart(person, "video", picture.path))
    for path in (*videos.values(), *sounds.values()):
        if all(part.path != path for part in parts):
            wanted = video or path.suffix.lower() == ".mp3"
            account.current().unused(path, UNUSED if wanted else "films, which nobody asked for", conversation.id)
    if not parts:
        tally.add("no recording that can be used", conversation.id)
    elif shared is None:
        tally.add(NO_STEREO, conversation.id)
    return parts, max(durations) or None


def precomputed_of(
    conversation: Conversation, people: frozenset[str], text: str | None, tally: SkipCounter
) -> list[TrackPart]:
    """The features that CANDOR's authors measured, one part a person; none where the file is missing or empty.

    ``text``: the map of columns that are named, all of which have to be there.
    """
    missing = f"no {PRECOMPUTED}, or one that cannot be used"
    path = conversation.file(PRECOMPUTED)
    if path is None:
        tally.add(missing, conversation.id)
        return []
    try:
        table = read_table(path, PRECOMPUTED)
        asked = [] if text is None else [c.name for c in parse_map(text).columns if c not in READY[NAME].columns]
        for column in (*BEHAVIOUR, *asked) if table.header else ():
            if column not in table.header:
                raise UnitError(f"it has no column {column!r}")
        measured = {cells[table.position(PERSON)].strip() for _, cells in table.rows}
        if not measured:
            raise UnitError("it has no rows" if table.header else "it is empty")
        table.use(*filter(None, table.header))
    except UnitError as error:
        tally.add(missing, conversation.id, detail=str(error))
        return []
    for person in sorted(people - measured):
        tally.add(f"a speaker has no rows in {PRECOMPUTED}", conversation.id, detail=person)
    return [TrackPart(person, "features", path, text) for person in sorted(people & measured)]


def _probed(path: Path, conversation: Conversation, tally: SkipCounter) -> Recording | None:
    try:
        return probe(path)
    except UnitError as error:
        tally.add(UNREADABLE, conversation.id, detail=str(error))
        return None


def _voices(
    sound: Recording, conversation: Conversation, people: frozenset[str], metadata: Metadata | None, tally: SkipCounter
) -> list[TrackPart]:
    if sound.audio_channels < 2:
        tally.add(NO_SOUND, conversation.id, detail=f"{sound.path.name} has {sound.audio_channels} channel(s), not 2")
        return []
    try:
        sides = _sides(conversation, people, metadata)
    except (UnitError, InputError) as error:
        tally.add(NO_SOUND, conversation.id, detail=str(error))
        return []
    return [TrackPart(person, "audio", sound.path, side) for side, person in sorted(sides.items())]


def _sides(conversation: Conversation, people: frozenset[str], metadata: Metadata | None) -> Mapping[str, str]:
    """Speaker by channel, from channel_map.json, else from metadata.json; the two must not contradict each other."""
    documented = metadata.sides if metadata else {}
    path = conversation.file(f"{FOLDER}/{CHANNEL_MAP}")
    if path is None:
        if not documented:
            raise UnitError(f"neither {CHANNEL_MAP} nor metadata.json says who is on which channel")
        return documented
    sides = read_channel_map(path, sorted(people))
    for side, person in sides.items():
        if person not in people:
            raise UnitError(f"{CHANNEL_MAP}: {person!r} is not of this conversation ({' and '.join(sorted(people))})")
        if documented and documented[side] != person:
            raise UnitError(f"{CHANNEL_MAP} has {person} on {side}, metadata.json {documented[side]}")
    return sides
