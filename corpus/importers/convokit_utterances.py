"""The utterances of a ConvoKit corpus folder, by conversation and in the order in which they were said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    @property
    def timestamp(self) -> float | None:
        """When it was said, on whatever clock; None where that is not known."""
        value = self.values.get("timestamp")
        return float(value) if is_number(value) else None

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
            raise UnitError(f"{self.place}, utterance {shown(self.values.get('id'))}: no speaker or no text.")
        return speaker, text

    def meta(self) -> Mapping[str, Any]:
        """Its metadata, none where it has none; an UnitError where they are no object."""
        meta = self.values.get("meta")
        if meta is not None and not isinstance(meta, dict):
            raise UnitError(f"{self.place}: its meta is {kind_of(meta)}, {shown(meta)}; an object is needed.")
        return meta or {}

    def id(self, *keys: str) -> str | None:
        """The id under the first of ``keys`` that it has, None where there is none; an UnitError where it is none."""
        key = next((key for key in keys if self.values.get(key) is not None), None)
        return None if key is None else identifier(self.values[key], f"{self.place}: {key}")


@dataclass(frozen=True)
class ParsedUtterances:
    """The utterances of each conversation in the order of the file, and what was left out while they were read."""

    by_conversation: Mapping[str, list[Utterance]]
    left_out: tuple[SkippedSession, ...]


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
    left_out = []
    for place, text, message in broken:
        left_out.append(SkippedSession(place, message))
        for id_ in [id_ for id_ in by_conversation if json.dumps(id_) in text]:
            left_out.append(SkippedSession(id_, f"{place} names it and is broken, so that it may lack an utterance."))
            del by_conversation[id_]
    return ParsedUtterances(by_conversation, tuple(left_out))


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


def in_order(spoken: Sequence[Utterance]) -> list[Utterance]:
    """By timestamp where all have one; else as in the file, but nothing before what it replies to.

    Raises ``UnitError``: an id that is none.
    """
    stamped = [(utterance.timestamp, utterance) for utterance in spoken]
    ids = [utterance.id("id") for utterance in spoken]
    if all(timestamp is not None for timestamp, _ in stamped):
        return [utterance for _, utterance in sorted(stamped, key=lambda item: item[0] or 0.0)]
    by_id = {id_: (id_, utterance) for id_, utterance in zip(ids, spoken, strict=True)}
    if len(by_id) < len(spoken):
        return list(spoken)
    placed: dict[str | None, Utterance] = {}
    for id_, utterance in by_id.values():
        chain: dict[str | None, Utterance] = {}
        current: tuple[str | None, Utterance] | None = (id_, utterance)
        while current is not None and current[0] not in placed and current[0] not in chain:
            chain[current[0]] = current[1]
            parent = current[1].id("reply_to", "reply-to")
            current = None if parent is None else by_id.get(parent)
        placed.update(reversed(chain.items()))
    return list(placed.values())
