"""Who the two people of a CANDOR conversation are, and on which channel of the sound each of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.textfile import read_json
from apportion.corpus.importers.candor.folders import SAFE
from apportion.corpus.importers.candor.survey import Answer
from apportion.corpus.importers.candor.transcripts import Line
from apportion.foundation.errors import InputError, UnitError

SIDES = ("L", "R")


@dataclass(frozen=True)
class Metadata:
    """What ``metadata.json`` says: the two speakers, and who is on which side where it says so."""

    speakers: tuple[str, ...]
    sides: Mapping[str, str]


def read_metadata(path: Path) -> Metadata:
    """Read ``metadata.json``: ``{"speakers": [{"user_id": …, "channel": "L"}, …]}``.

    Raises ``UnitError``: a file that cannot be read, is not JSON, or does not name two speakers.
    """
    try:
        document = read_json(path)
    except InputError as error:
        raise UnitError(str(error)) from None
    speakers = document.get("speakers") if isinstance(document, dict) else None
    entries = [entry for entry in speakers if isinstance(entry, dict)] if isinstance(speakers, list) else []
    ids = [entry.get("user_id") for entry in entries]
    names = tuple(dict.fromkeys(id_ for id_ in ids if isinstance(id_, str) and id_))
    if len(names) != 2 or len(ids) != 2:
        raise UnitError(f'{path.name}: "speakers" must be two objects, each with a "user_id" of its own.')
    sides = {entry["channel"]: entry["user_id"] for entry in entries if entry.get("channel") in SIDES}
    return Metadata(names, sides if len(sides) == 2 else {})


def people_of(metadata: Metadata | None, answers: Sequence[Answer], lines: Sequence[Line]) -> frozenset[str]:
    """The two people: of the metadata, else of the survey, else of the transcript.

    Raises ``UnitError``: there are not two of them, an id that cannot be one, a survey about or by somebody else.
    """
    surveyed = {name for answer in answers for name in (answer.user, answer.partner) if name}
    people = frozenset(metadata.speakers if metadata else ())
    if not people:
        people = frozenset(surveyed if len(surveyed) == 2 else {line.speaker for line in lines})
    if len(people) != 2:
        shown = ", ".join(sorted(map(repr, people))[:4]) or "nobody"
        raise UnitError(
            f"two speakers are needed, found {len(people)} ({shown}). Add metadata.json with the right two."
        )
    for person in people:
        if not SAFE.fullmatch(person):
            raise UnitError(f"user_id {person[:60]!r}: letters, digits, '-', '_' and '.' are allowed.")
    return people


def rated_pair(answer: Answer, people: frozenset[str]) -> tuple[str, str]:
    """(rater, target) of an answer. Raises ``UnitError``: its user or its partner is not of the conversation."""
    known = " and ".join(sorted(people))
    if answer.user not in people:
        raise UnitError(f"{answer.place}, column user_id: {answer.user!r} is not of this conversation ({known}).")
    (other,) = people - {answer.user}
    if answer.partner not in (None, other):
        raise UnitError(f"{answer.place}, column partner_id: {answer.partner!r} is not the other speaker ({other}).")
    return answer.user, other
