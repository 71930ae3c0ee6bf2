"""Chat logs with a score: JSON Lines or a JSON array, in OpenAI's shape or ShareGPT's.

``{"messages": [{"role", "content"}, ...], "score": 4}`` or ``{"conversations": [{"from", "value"}, ...], "score": 4}``,
optionally with ``id``, ``name``, ``low``, ``high``. The user rates the assistant. Messages of the system, of tools and
functions are nobody's utterance: they are left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.jsontext import identifier, kind_of, number, shown
from apportion.corpus.importers.reading.json_items import Item, first_fault, json_items
from apportion.corpus.importers.reading.sources import check_options, numbered, scale_options, source_files, stem
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed

RATER, TARGET = "user", "assistant"
SPEAKERS = {"user": RATER, "human": RATER, "assistant": TARGET, "gpt": TARGET}
NOBODY = ("system", "developer", "tool", "function", "function_call", "observation")
SHAPES = {"messages": ("role", "content"), "conversations": ("from", "value")}
OPTIONS = {
    "low": "the low end of the scale of all scores, where the rows do not say it",
    "high": "the high end of the scale",
    "name": "what the score is called (default: the row's name, else score)",
}
MOST_KEYS = 12
Scale = tuple[float, float]


@dataclass
class _Log:
    """The settings of one import and what it counts on its way."""

    name: str
    scale: Scale | None
    rows: CorpusRows = field(default_factory=CorpusRows)
    ids: set[str] = field(default_factory=set)
    not_spoken: int = 0
    without_text: int = 0

    def notes(self) -> tuple[str, ...]:
        notes = []
        if self.not_spoken:
            notes.append(f"{self.not_spoken:,} messages of the system, tools or functions were left out")
        if self.without_text:
            notes.append(f"{self.without_text:,} messages without text (tool calls, pictures) were left out")
        return tuple(notes)


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions of ``user`` and ``assistant``, with one rating where the row has a ``score``.

    ``src``: a file (plain or gzip), or a folder of ``*.jsonl`` and ``*.json`` files. ``options``: ``low``, ``high``:
    the ends of the scale, where the rows do not say them; ``name``: what the score is called (default: the row's
    ``name``, else "score"). Raises ``InputError``: a file that cannot be read or holds no chats; scores without a scale
    anywhere.
    """
    check_options("chat", options, OPTIONS)
    log = _Log(options.get("name", ""), scale_options("chat", options))
    left_out = []
    for path in source_files(src, (".jsonl", ".json")):
        chats = _chats(path)
        _check_scale(path, chats, log.scale)
        for position, item in enumerate(chats, start=1):
            session_id = numbered(stem(path), position)
            try:
                chat = item.value()
                if chat.get("id") not in (None, ""):
                    session_id = identifier(chat["id"], "id")
                _session(log, session_id, chat, stem(path))
            except UnitError as error:
                left_out.append(SkippedSession(session_id, f"{path.name}, {item.place}: {error}"))
    return CorpusBuild(log.rows.tables(), log.notes(), tuple(left_out))


def _chats(path: Path) -> list[Item]:
    chats = json_items(path)
    if not any(shape in chat.found for chat in chats for shape in SHAPES):
        keys = sorted({key for chat in chats for key in chat.found})
        raise InputError(
            f'{path}: no chat in it: each object needs "messages" (OpenAI) or "conversations" (ShareGPT). '
            f"Found the keys: {listed(keys, MOST_KEYS) or 'none'}.{first_fault(chats)}"
        )
    return chats


def _check_scale(path: Path, chats: list[Item], scale: Scale | None) -> None:
    scored = [chat.found for chat in chats if chat.found.get("score") is not None]
    if scored and scale is None and not any("low" in chat and "high" in chat for chat in scored):
        raise InputError(
            f"{path}: the scores have no scale. Give its ends for all: -o low=1 -o high=5, "
            'or "low" and "high" in every row.'
        )


def _session(log: _Log, session_id: str, chat: Mapping[str, Any], source: str) -> None:
    """Add one chat, all or nothing."""
    if session_id in log.ids:
        raise UnitError(f"the id {session_id!r} is there already. Give each chat an id of its own, or none.")
    spoken = _spoken(log, chat)
    rating = _rating(chat, log.scale)
    name = log.name or _name(chat)
    log.ids.add(session_id)
    log.rows.session(session_id, f"chat/{source}")
    for turn, (speaker, text) in enumerate(spoken):
        log.rows.utterance(session_id, turn, speaker, text)
    if rating is not None:
        score, scale = rating
        log.rows.rating(session_id, (RATER, TARGET), name, score, scale)


def _spoken(log: _Log, chat: Mapping[str, Any]) -> list[tuple[str, str]]:
    shape = next((name for name in SHAPES if isinstance(chat.get(name), list)), None)
    if shape is None:
        raise UnitError('no list "messages" or "conversations".')
    who, what = SHAPES[shape]
    spoken = []
    for position, message in enumerate(chat[shape], start=1):
        if not isinstance(message, dict) or who not in message:
            raise UnitError(f'message {position}: an object with "{who}" and "{what}" is needed.')
        role = message[who] if isinstance(message[who], str) else None
        if role in NOBODY:
            log.not_spoken += 1
            continue
        if role not in SPEAKERS:
            raise UnitError(
                f"message {position}: role {shown(message[who])}; allowed: {', '.join((*SPEAKERS, *NOBODY))}."
            )
        text = _text(message.get(what))
        if text is None:
            log.without_text += 1
            continue
        spoken.append((SPEAKERS[role], text))
    return spoken


def _text(content: Any) -> str | None:
    """The text of a message; a list of parts gives its text parts, a tool call or a picture alone gives None."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(part for part in parts if isinstance(part, str)) or None
    return content if isinstance(content, str) else None


def _rating(chat: Mapping[str, Any], scale: Scale | None) -> tuple[float, Scale] | None:
    """The score and its scale, or None for a chat without a score."""
    if chat.get("score") is None:
        return None
    score = number(chat["score"], "score")
    if scale is None:
        if chat.get("low") is None or chat.get("high") is None:
            raise UnitError('its score has no scale. Add "low" and "high" to the row, or -o low=1 -o high=5 for all.')
        scale = (number(chat["low"], "low"), number(chat["high"], "high"))
    return score, scale


def _name(chat: Mapping[str, Any]) -> str:
    name = chat.get("name") or "score"
    if not isinstance(name, str):
        raise UnitError(f"name = {shown(name)}: a text is needed, got {kind_of(name)}.")
    return name
