"""CANDOR's transcripts: cliffhanger, backbiter, audiophile; a file a conversation, or one for all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from apportion.corpus import account
from apportion.corpus.files.csvfile import BLANK, Table, number, parsed, read_table
from apportion.corpus.session import BACKCHANNEL, Event
from apportion.corpus.speakers.labels import Cue
from apportion.foundation.errors import InputError, UnitError

KINDS = ("cliffhanger", "backbiter", "audiophile")
COLUMNS = ("speaker", "start", "stop", "utterance", "backchannel")
HEARD = tuple(f"backchannel_{what}" for what in ("count", "speaker", "start", "stop"))
NUMBER_NEEDED = "a number of seconds"
MIDDLE = re.compile(r"(?:middle)?([0-9]{1,6})")


class Line(NamedTuple):
    """One row as text; ``line`` is where it is in its file."""

    line: int
    speaker: str
    start: str
    stop: str
    utterance: str
    backchannel: str
    heard: tuple[str, ...] = ("", "", "", "")
    """Of `HEARD`: how many backchannels, whose, from when to when."""


@dataclass(frozen=True)
class Spoken:
    """T turns of a conversation in the order of their starts.

    ``turns`` are (number, cue); ``backchannels`` lie within another's turn, their strength is how many they are, which
    CANDOR tells together: from the first one's start to the last one's end. The numbers count all rows of the
    transcript from 0, as CANDOR's ``turn_id`` does, also where rows are left out.
    """

    turns: tuple[tuple[int, Cue], ...]
    backchannels: tuple[Event, ...]
    overlapping: int
    out_of_order: int


def read_lines(path: Path, name: str) -> list[Line]:
    """The rows of one conversation's transcript; ``name`` is what messages call it.

    Raises ``UnitError``: a file that cannot be read, is empty, is not CSV, or lacks a column.
    """
    return [line for _, line in _lines(read_table(path, name, COLUMNS), None)]


def read_all_lines(path: Path) -> dict[str, list[Line]]:
    """The rows of the one transcript for all, by conversation (column ``convo_id``).

    Raises ``InputError``: a file that cannot be read, is empty, is not CSV, or lacks a column.
    """
    by_conversation: dict[str, list[Line]] = {}
    try:
        table = read_table(path, path.name, ("convo_id", *COLUMNS))
        for id_, line in _lines(table, table.position("convo_id")):
            by_conversation.setdefault(id_, []).append(line)
    except UnitError as error:
        raise InputError(f"{path.parent}: {error}") from None
    return by_conversation


def _lines(table: Table, id_at: int | None) -> list[tuple[str, Line]]:
    at = [table.position(column) for column in COLUMNS[:4]]
    reaction_at = table.optional("backchannel")
    heard_at = [table.optional(column) for column in HEARD]
    lines = []
    for line, row in table.rows:
        speaker, start, stop, utterance = (row[position] for position in at)
        reaction = "" if reaction_at is None else row[reaction_at]
        heard = tuple("" if place is None else row[place].strip() for place in heard_at)
        id_ = "" if id_at is None else row[id_at].strip()
        said = " ".join(utterance.split())
        lines.append((id_, Line(line, speaker.strip(), start, stop, said, " ".join(reaction.split()), heard)))
    for what, many in counts([line for _, line in lines]).items():
        account.current().read(what, many)
    return lines


def counts(lines: Sequence[Line]) -> dict[str, float]:
    """What the account of an import counts in these rows."""
    heard = sum(line.backchannel.lower() not in BLANK for line in lines)
    return {"cues": len(lines), "words": account.words_in(line.utterance for line in lines), "backchannels": heard}


def spoken(lines: Sequence[Line], name: str, people: frozenset[str], middle: int | None) -> Spoken:
    """Check the rows of one conversation and make turns of them, or of the ``middle`` ones of those with text.

    Backchannels that lie inside another person's turn never become turns: they are events.

    Raises ``UnitError``: no row, a time that is no number, a turn that ends before it starts, a speaker who is not of
    ``people``, only one person who speaks.
    """
    cues = [(line, _cue(line, name, people)) for line in lines]
    if not cues:
        raise UnitError(f"{name}: no turns in it. Copy or export it again.")
    starts = [cue.start_s for _, cue in cues]
    cues.sort(key=lambda item: item[1].start_s)
    with_text = [(turn, line, cue) for turn, (line, cue) in enumerate(cues) if cue.text]
    kept = with_text
    if middle is not None:
        first = max(0, len(with_text) - middle) // 2
        kept = with_text[first : first + middle]
    speaking = sorted({cue.speaker for _, _, cue in kept})
    if len(speaking) < 2:
        who = f"only {speaking[0]} speaks" if speaking else "nobody says anything"
        raise UnitError(f"{name}: {who} in the {len(kept)} turns that are wanted; two people are needed.")
    there, read = {line.line for _, line, _ in kept}, account.current()
    for line, cue in cues:
        place, read_here = f"{name}, line {line.line}", counts([line])
        for what, many in read_here.items() if line.line not in there else ():
            read.left_out(what, "outside of the middle" if cue.text else "without text", many, place)
    return Spoken(
        turns=tuple((turn, cue) for turn, _, cue in kept),
        backchannels=tuple(_heard([(line, cue) for _, line, cue in kept], name, people)),
        overlapping=sum(b.start_s < a.end_s for (_, _, a), (_, _, b) in pairwise(kept)),
        out_of_order=sum(b < a for a, b in pairwise(starts)),
    )


def _cue(line: Line, name: str, people: frozenset[str]) -> Cue:
    place = f"{name}, line {line.line}"
    if line.speaker not in people:
        known = " and ".join(sorted(people))
        raise UnitError(f"{place}, column speaker: {line.speaker!r} is not of this conversation ({known}).")
    start_s = number(line.start, f"{place}, column start", NUMBER_NEEDED)
    end_s = number(line.stop, f"{place}, column stop", NUMBER_NEEDED)
    if start_s < 0 or end_s < start_s:
        raise UnitError(f"{place}: from {start_s:g} s to {end_s:g} s; 0 <= start <= stop is needed.")
    return Cue(line.speaker, line.utterance, start_s, end_s)


def _heard(kept: Sequence[tuple[Line, Cue]], name: str, people: frozenset[str]) -> Iterator[Event]:
    """What the other one said within each of these turns; what nobody said, or at no time, is left out and told."""
    read, there = account.current(), set[tuple[str, float]]()
    for line, cue in kept:
        if line.backchannel.lower() in BLANK:
            continue
        event = _backchannel(line)
        if event is None:
            reason = "without times (backchannel_start, backchannel_stop)"
        elif event.person not in people - {cue.speaker}:
            reason = "of nobody else in the conversation (backchannel_speaker)"
        elif (event.person, event.start_s) in there:
            reason = "told in two turns"
        else:
            there.add((event.person, event.start_s))
            read.kept("backchannels")
            yield event
            continue
        read.left_out("backchannels", reason, 1, f"{name}, line {line.line}")


def _backchannel(line: Line) -> Event | None:
    count, speaker, start, stop = line.heard
    start_s, end_s = parsed(start), parsed(stop)
    if start_s is None or end_s is None or not 0 <= start_s <= end_s:
        return None
    return Event(speaker, BACKCHANNEL, start_s, end_s, max(1.0, parsed(count) or 1.0), line.backchannel)


def middle_turns(text: str) -> int | None:
    """The option ``turns``: None for ``all``, N for ``middleN`` or ``N``.

    Raises ``InputError``: anything else, and numbers below 2.
    """
    if text == "all":
        return None
    match = MIDDLE.fullmatch(text)
    if match is None or int(match[1]) < 2:
        raise InputError(
            f"import candor: option turns={text}: all, or the number of turns from the middle (2 or more) is needed, "
            "for example -o turns=middle100."
        )
    return int(match[1])
