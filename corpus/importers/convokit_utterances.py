"""The utterances of a ConvoKit corpus folder, by conversation and in the order in which they were said."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import SkippedSession
from apportion.corpus.files.jsontext import identifier, is_number, kind_of, shown
from apportion.corpus.files.textfile import BrokenLine, parse_lines, read_json, read_text
from apportion.foundation.errors import InputError, UnitError

LINES, ARRAY = "utterances.jsonl", "utterances.json"


@dataclass(frozen=True)
class Utterance:
    """One entry of the file, as it stands there; ``place`` names it in messages."""

    place: str
    values: Mapping[str, Any]

    @cached_property
    def timestamp(self) -> float | None:
        """When it was said, on whatever clock, also where that is a text (ISO 8601 too); None where it is not known."""
        value = self.values.get("timestamp")
        if isinstance(value, str):
            value = _stamp(value)
        return float(value) if is_number(value) else None

    @property
    def is_stamped_oddly(self) -> bool:
        """Whether something stands for its time that is none."""
        return self.timestamp is None and self.values.get("timestamp") not in (None, "")

    def conversation(self) -> str:
        """The conversation that it belongs to; an UnitError where that is no id."""
        keys = [key for key in ("conversation_id", "root", "id") if self.values.get(key) is not None]
        if not keys:
            raise UnitError("no conversation_id, root or id, so nobody knows where it belongs.")
        return identifier(self.values[keys[0]], keys[0])

    def said(self) -> tuple[str, str]:
        """(speaker, text); an UnitError where one of them is no text."""
        speaker, text = self.values.get("speaker", self.values.get("user")), self.values.get("text")
        if not isinstance(speaker, str) or not isinstance(text, str):
            raise UnitError(
                f"{self.place}, utterance {shown(self.values.get('id'))}: no speaker or no text. Both must be texts."
            )
        return speaker, text

    def meta(self) -> Mapping[str, Any]:
        """Its metadata, none where it has none; an UnitError where they are no object."""
        meta = self.values.get("meta")
        if meta is not None and not isinstance(meta, dict):
            raise UnitError(f"{self.place}: its meta is {kind_of(meta)}, {shown(meta)}; an object is needed.")
        return meta or {}

    def id(self, *keys: str) -> str | None:
        """The id under the first of ``keys`` that it has, None where there is none; an UnitError where it is none."""
        key = next(
            (key for key in keys if self.values.get(key) not in (None, "") and self.values[key] == self.values[key]),
            None,
        )
        return None if key is None else identifier(self.values[key], f"{self.place}: {key}")


@dataclass(frozen=True)
class ParsedUtterances:
    """The utterances of each conversation in the order of the file, and what was left out while they were read.

    ``torn``: the conversations that may lack an utterance, and why.
    """

    by_conversation: Mapping[str, list[Utterance]]
    left_out: tuple[SkippedSession, ...]
    torn: Mapping[str, str]


def read_utterances(src: Path) -> ParsedUtterances:
    """Read ``utterances.jsonl``, or the ``utterances.json`` of older versions.

    A line that is broken costs itself and the conversations whose ids stand in it, which would have a hole without it.

    Raises ``InputError``: no such file, one that cannot be read, is of another shape, or in which every line is broken.
    """
    by_conversation: dict[str, list[Utterance]] = {}
    broken: list[tuple[str, str, str]] = []
    for place, value in _entries(src):
        if isinstance(value, dict):
            utterance = Utterance(place, value)
            try:
                by_conversation.setdefault(utterance.conversation(), []).append(utterance)
            except UnitError as error:
                broken.append((place, "", str(error)))
        else:
            text, message = (value.text, value.message) if isinstance(value, BrokenLine) else ("", _no_object(value))
            broken.append((place, text, message))
    if broken and not by_conversation:
        raise InputError(f"{src}: no utterance in it can be read. {broken[0][0]}: {broken[0][2]}")
    torn: dict[str, str] = {}
    for place, text, _ in broken:
        account.current().read("turns")
        account.current().left_out("turns", "broken lines, or of no conversation", place=place)
        for id_ in by_conversation:
            if json.dumps(id_) in text:
                torn.setdefault(id_, f"{place} names it and is broken, so that it may lack an utterance.")
    left_out = tuple(SkippedSession(place, message) for place, _, message in broken)
    return ParsedUtterances(by_conversation, left_out, torn)


def _no_object(value: Any) -> str:
    return f"an object is needed, got {kind_of(value)}."


def _entries(src: Path) -> Iterator[tuple[str, Any]]:
    """(place, value) of every entry of the file; a `BrokenLine` for a line that is no object."""
    if (src / LINES).is_file():
        yield from ((f"{LINES}, line {line}", value) for line, value in parse_lines(read_text(src / LINES)))
    elif (src / ARRAY).is_file():
        utterances = read_json(src / ARRAY)
        if not isinstance(utterances, list):
            raise InputError(f"{src / ARRAY}: a list of objects is needed. Dump the corpus with ConvoKit again.")
        yield from ((f"{ARRAY}, item {number}", value) for number, value in enumerate(utterances, start=1))
    else:
        raise InputError(f"{src}: no {LINES} in it, so this is not a ConvoKit corpus folder. Name the folder itself.")


def _stamp(text: str) -> float | None:
    """Seconds of a number or of a date in ISO 8601, which is UTC where it does not say; None for neither."""
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError, OverflowError):
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return None


@dataclass(frozen=True)
class Ordered:
    """The utterances of one conversation in their order, and what of that is not as it should be, with how often."""

    spoken: tuple[Utterance, ...]
    odd: Mapping[str, int]


UNSTAMPED = "utterances without a timestamp, put after what they reply to, else where they stand in the file"
ODD_STAMP = "timestamps that are no number and no date, taken as missing"
EARLY = "replies with a timestamp before that of what they reply to, put where the timestamp says"
MOVED = "utterances that stand elsewhere in the file, put by timestamp and reply_to"
NOT_THERE = "replies to what is not in their conversation"
TWICE = "ids that another utterance of the conversation has, so that nobody knows which one is replied to"
CIRCLE = "replies that lead in a circle, left as they stand in the file"


def in_order(spoken: Sequence[Utterance]) -> Ordered:
    """By timestamp; where that is equal or missing, as in the file, but nothing before what it replies to.

    An utterance without a timestamp is put after what it replies to and before what replies to it. Where the others
    stand in the file by their timestamps, it keeps its place there as far as that allows.

    Raises ``UnitError``: an id that is none.
    """
    ids = [utterance.id("id") for utterance in spoken]
    said = [utterance.id("reply_to", "reply-to") for utterance in spoken]
    there = set(ids)
    place = {} if len(there) < len(ids) else {id_: at for at, id_ in enumerate(ids)}
    parents = [None if id_ is None else place.get(id_) for id_ in said]
    order, circles = _by_reply(parents)
    stamps = [utterance.timestamp for utterance in spoken]
    times = _times_of_all(stamps, parents, order)
    rank = {at: number for number, at in enumerate(order)}
    placed = sorted(range(len(spoken)), key=lambda at: (times[at], rank[at]))
    odd = Counter({
        UNSTAMPED: sum(stamp is None for stamp in stamps) if any(stamp is not None for stamp in stamps) else 0,
        ODD_STAMP: sum(utterance.is_stamped_oddly for utterance in spoken),
        EARLY: sum(_is_early(stamps[at], parent, stamps) for at, parent in enumerate(parents)),
        MOVED: sum(at != number for number, at in enumerate(placed)),
        NOT_THERE: sum(id_ is not None and id_ not in there for id_ in said),
        TWICE: len(ids) - len(there),
        CIRCLE: circles,
    })  # fmt: skip
    return Ordered(tuple(spoken[at] for at in placed), +odd)


def _is_early(stamp: float | None, parent: int | None, stamps: Sequence[float | None]) -> bool:
    answered = None if parent is None else stamps[parent]
    return stamp is not None and answered is not None and stamp < answered


def _by_reply(parents: Sequence[int | None]) -> tuple[list[int], int]:
    """Places in the order of the file, but nothing before its parent; and how many parents lead in a circle."""
    placed: dict[int, None] = {}
    circles = 0
    for start in range(len(parents)):
        chain: dict[int, None] = {}
        current: int | None = start
        while current is not None and current not in placed and current not in chain:
            chain[current] = None
            current = parents[current]
        circles += current is not None and current in chain
        placed.update(dict.fromkeys(reversed(chain)))
    return list(placed), circles


def _times_of_all(stamps: Sequence[float | None], parents: Sequence[int | None], order: Sequence[int]) -> list[float]:
    """The timestamps; those that are missing between those of what they reply to and of what replies to them."""
    known = [stamp for stamp in stamps if stamp is not None]
    follows_file = known == sorted(known)
    lower, upper = [-math.inf] * len(stamps), [math.inf] * len(stamps)
    for at in order:
        own, parent = stamps[at], parents[at]
        lower[at] = own if own is not None else -math.inf if parent is None else lower[parent]
    for at in reversed(order):
        own, parent = stamps[at], parents[at]
        upper[at] = upper[at] if own is None else own
        if parent is not None:
            upper[parent] = min(upper[parent], upper[at])
    before, times = -math.inf, []
    for at, own in enumerate(stamps):
        before = before if own is None else own
        wanted = before if follows_file else -math.inf
        times.append(own if own is not None else max(lower[at], min(wanted, upper[at])))
    return times
