"""One line a person of a session: what there is of them, and how many of their words lie inside the recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.recordings.channel import HALVES, parse_sound
from apportion.corpus.recordings.presentation import Presentation, present
from apportion.corpus.session import Media, Session, Turn
from apportion.foundation.errors import UnitError

NEAR_ZERO = 0.05
"""A share below this is told: whoever measured it has the wrong file, or the wrong person in it."""
SLACK_S = 1.0
"""How far words may run past the recording: players and transcribers round differently."""
NO_FACE = "face not looked for"
"""What is said of films, whose faces take minutes to find: commands add what finds them."""
Span = tuple[float, float]


@dataclass(frozen=True)
class Recorded:
    """One recording of a person: ``span`` is where it lies on the session's clock, seconds."""

    path: str
    span: Span


@dataclass(frozen=True)
class PersonLine:
    """What there is of one person: ``parts`` such as "face 96 %" or "sound"; ``words`` of theirs, ``inside`` of them.

    ``faults``: what makes their figures doubtful, each with the next step.
    """

    session_id: str
    speaker: str
    parts: tuple[str, ...]
    words: int
    inside: int
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = [f"words {self.inside:,} of {self.words:,} inside the recording"] if self.words else ["no timed words"]
        return f"session {self.session_id}: {self.speaker}: {', '.join([*self.parts, *words])}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults, each with its place."""
        return tuple(f"session {self.session_id}: {self.speaker}: {fault}" for fault in self.faults)


def person_line(
    session: Session, speaker: str, parts: Sequence[str], recorded: Iterable[Recorded], faults: Iterable[str]
) -> PersonLine:
    """The line of ``speaker``, whose words are counted in the ``recorded`` one that holds the fewest of them."""
    turns = [turn for turn in session.turns if turn.speaker == speaker and turn.start_s is not None]
    words = sum(_words(turn)[0] for turn in turns)
    counts = [(sum(_inside(turn, one.span) for turn in turns), one) for one in recorded]
    inside, least = min(counts, key=lambda count: count[0], default=(words, None))
    told = list(faults)
    if least is not None and _runs_out(turns, least.span):
        told.append(
            f"{words - inside:,} of {words:,} words lie outside {least.path}, which runs from {least.span[0]:.1f} to "
            f"{least.span[1]:.1f} s of the session. Check that file and transcript belong together, or correct "
            "offset_s in the media table"
        )
    return PersonLine(session.session_id, speaker, tuple(parts), words, inside, tuple(told))


def share(name: str, value: float) -> str:
    """``face 96 %``: a share, 0 to 1, in words; only nothing at all is 0 %."""
    percent = 100 * value
    return f"{name} {percent:.0f} %" if percent >= 0.5 or percent == 0 else f"{name} under 1 %"


def _words(turn: Turn) -> tuple[int, float, float]:
    start_s = turn.start_s or 0.0
    return len((turn.text or "").split()), start_s, turn.end_s if turn.end_s is not None else start_s


def _inside(turn: Turn, span: Span) -> int:
    """How many of a turn's words lie in ``span``, as if they were spoken one after the other at a steady pace."""
    words, start_s, end_s = _words(turn)
    if end_s <= start_s:
        return words if span[0] <= start_s <= span[1] else 0
    shared_s = max(0.0, min(end_s, span[1] + SLACK_S) - max(start_s, span[0] - SLACK_S))
    return round(words * min(1.0, shared_s / (end_s - start_s)))


def _runs_out(turns: Sequence[Turn], span: Span) -> bool:
    times = [(start_s, end_s) for _, start_s, end_s in map(_words, turns)]
    return any(start_s < span[0] - SLACK_S or end_s > span[1] + SLACK_S for start_s, end_s in times)


def people_of(session: Session, root: Path) -> Iterator[PersonLine]:
    """The line of everybody who is recorded in ``session``; ``root`` is the corpus folder. Faces are not looked for."""
    media = [row for row in session.media if row.kind in ("audio", "video")]
    for speaker in sorted({row.speaker for row in media}):
        parts, recorded, faults = [], [], []
        for row in sorted((row for row in media if row.speaker == speaker), key=lambda row: row.kind, reverse=True):
            place = _place(root, row.path)
            if place is None:
                continue  # Validation says what is wrong with it.
            try:
                found = present(place, row.path)
                said, wrong = _row(row, found, heard_elsewhere=row.kind == "video" and _has_audio(media, speaker))
            except UnitError as error:
                faults.append(str(error).rstrip("."))
                continue
            parts += said
            faults += wrong
            if found.end_s is not None:
                recorded.append(Recorded(row.path, (row.offset_s, row.offset_s + found.end_s)))
        yield person_line(session, speaker, parts, recorded, dict.fromkeys(faults))


def silent(path: str, much: str = "silent") -> str:
    """What to say of a sound in which there is ``much``."""
    return (
        f"{path}: the sound is {much}, so that hardly any voice can be measured. Listen to it: export it again with "
        "the sound that is meant, or name another file"
    )


def _place(root: Path, path: str) -> Path | None:
    """The file, where it is one inside of the corpus."""
    try:
        place = (root / path).resolve()
        return place if place.is_relative_to(root.resolve()) and place.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _has_audio(media: Sequence[Media], speaker: str) -> bool:
    return any(row.speaker == speaker and row.kind == "audio" for row in media)


def _row(row: Media, found: Presentation, heard_elsewhere: bool) -> tuple[list[str], list[str]]:
    """What a row of the media table brings, and what is wrong with it."""
    parts = [NO_FACE] if row.kind == "video" and found.videos else []
    faults = []
    if row.kind == "video" and found.videos > 1:
        faults.append(
            f"{row.path} holds {found.videos} films: the one in which a face is seen for the longest is measured. "
            "Where another is meant, give it a file of its own"
        )
    if heard_elsewhere or row.channel in HALVES or not found.sounds:
        return [*parts, *["no sound"] * (not heard_elsewhere)], faults
    asked = parse_sound(row.channel or "")
    number, channel = asked or (None, None)
    track = found.sound(number)
    if track is None or track.share(channel) < NEAR_ZERO:
        sounding_s = track.sounding_of(channel) if track else 0.0
        much = f"silent but for {sounding_s:.1f} s" if sounding_s else "silent"
        faults.append(silent(f"{row.path}, channel {row.channel}" if channel is not None else row.path, much))
        parts.append(share("sound", 0.0 if track is None else track.share(channel)))
    else:
        parts.append(share("sound", track.share(channel)) if track.whole else "sound")
    if channel is not None and track is not None and track.alike and track.sounding_s:
        faults.append(
            f"{row.path}: both channels play the same sound, so that one cannot be told from the other by channel. "
            "Give each person a file of their own"
        )
    return parts, faults
