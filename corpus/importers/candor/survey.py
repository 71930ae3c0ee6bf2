"""CANDOR's survey: two rows a conversation, one by each speaker; in its folder, or one table for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.csvfile import BLANK, number, read_head, read_table
from apportion.corpus.files.textfile import read_json
from apportion.corpus.importers.candor.folders import SAFE
from apportion.corpus.importers.candor.transcripts import Line
from apportion.corpus.importers.reading.sources import scale_options
from apportion.foundation.did_you_mean import did_you_mean, nearest
from apportion.foundation.errors import InputError, UnitError

NINE, SEVEN, HUNDRED = (1.0, 9.0), (1.0, 7.0), (0.0, 100.0)
SCALES: Mapping[str, tuple[float, float]] = {
    "overall_affect": NINE,
    "affect": NINE,
    "pre_affect": NINE,
    "begin_affect": NINE,
    "middle_affect": NINE,
    "end_affect": NINE,
    "best_affect": NINE,
    "how_enjoyable": NINE,
    "i_like_you": SEVEN,
    "you_like_me": SEVEN,
    "conversationalist": HUNDRED,
    "my_friends_like_you": HUNDRED,
    "good_for_advice": HUNDRED,
}
"""Columns whose scale is documented; every other one needs the options ``low`` and ``high``."""
IDS = ("user_id", "partner_id", "convo_id")
BEFORE = ("pre_affect", "pre_arousal")
"""Asked before the conversation began."""


@dataclass(frozen=True)
class Question:
    """The survey column that is the score, its scale (low, high), and whether a high value is the good end."""

    column: str
    scale: tuple[float, float]
    higher_is_better: bool


@dataclass(frozen=True)
class Answer:
    """One speaker's row: who, about whom (None where the survey does not say), and the cell of the score."""

    place: str
    user: str
    partner: str | None
    cell: str

    def score(self, question: Question) -> float | None:
        """The score, None for a blank cell. Raises ``UnitError``: not a number, or off the scale."""
        if self.cell.lower() in BLANK:
            return None
        place = f"{self.place}, column {question.column}"
        value = number(self.cell, place, "a number (the score must be a numeric column)")
        low, high = question.scale
        if not low <= value <= high:
            raise UnitError(
                f"{place}: {value:g} is outside its scale, {low:g} to {high:g}. "
                "Correct it, or give the scale's true ends: -o low=… -o high=…"
            )
        return value


def question_of(options: Mapping[str, str]) -> Question:
    """The options ``score``, ``low``, ``high`` and ``better``.

    Raises ``InputError``: a column of unknown scale without ``low`` and ``high``, ends in the wrong order, ``better``
    not high or low.
    """
    column, given = options.get("score", "overall_affect"), scale_options("candor", options)
    better = options.get("better", "high")
    if better not in ("high", "low"):
        raise InputError(f"import candor: option better={better}: which end of the scale is good, high or low?")
    scale = given or SCALES.get(column)
    if scale is None:
        near = nearest(column, SCALES, cutoff=0.75)
        hint = f"did you mean {near!r}? If not, " if near else ""
        raise InputError(
            f"import candor: option score={column}: the ends of its scale are not known; {hint}"
            f"give them: -o low=1 -o high=7. Known: {', '.join(SCALES)}."
        )
    return Question(column, scale, better == "high")


def read_answers(path: Path, column: str, conversation: str) -> list[Answer]:
    """The rows of one conversation's ``survey.csv``; none where the file is empty.

    Raises ``UnitError``: a file that cannot be read or is not CSV, a missing column, rows of another conversation.
    """
    by_conversation = _answers(path, path.name, column, needs_id=False)
    for id_, answers in by_conversation.items():
        if id_ not in (None, conversation):
            raise UnitError(f"{answers[0].place}, column convo_id: {id_!r}; this folder is {conversation!r}.")
    return [answer for answers in by_conversation.values() for answer in answers]


def read_all_answers(path: Path, column: str) -> dict[str, list[Answer]]:
    """The rows of the one survey for all, by conversation (column ``convo_id``).

    Raises ``InputError``: a file that cannot be read or is not CSV, or a missing column.
    """
    try:
        return {id_ or "": answers for id_, answers in _answers(path, path.name, column, needs_id=True).items()}
    except UnitError as error:
        raise InputError(f"{path.parent}: {error}") from None


def _answers(path: Path, name: str, column: str, *, needs_id: bool) -> dict[str | None, list[Answer]]:
    table = read_table(path, name, (*IDS, column))
    if not table.header and not needs_id:
        return {}
    user_at, cell_at, partner_at = table.position("user_id"), table.position(column), table.optional("partner_id")
    id_at = table.position("convo_id") if needs_id else table.optional("convo_id")
    by_conversation: dict[str | None, list[Answer]] = {}
    for line, row in table.rows:
        partner = None if partner_at is None else row[partner_at].strip()
        known = None if partner is None or partner.lower() in BLANK else partner
        id_ = None if id_at is None else row[id_at].strip()
        answer = Answer(f"{name}, line {line}", row[user_at].strip(), known, row[cell_at].strip())
        by_conversation.setdefault(id_, []).append(answer)
        account.current().read("scores")
    return by_conversation


def check_column(surveys: Sequence[Path], column: str) -> None:
    """Refuse a score that no survey has, before anything else is read.

    Raises ``InputError``: no readable survey has the column ``column`` (with the nearest that there is).
    """
    seen: dict[str, None] = {}
    for path in surveys:
        try:
            header, _ = read_head(path, path.name, (*IDS, column))
        except UnitError:
            continue  # Told with its conversation.
        if column in header:
            return
        seen.update(dict.fromkeys(header))
    if seen:
        hint = did_you_mean(column, seen, "choose a numeric column.")
        raise InputError(
            f"import candor: option score={column}: no survey has this column; {hint} "
            f"Columns with a known scale here: {', '.join(name for name in SCALES if name in seen) or 'none'}."
        )


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
