"""What was said in the messages of a chat, by whom, and what of them is no speech."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from apportion.corpus.files.jsontext import kind_of, shown
from apportion.corpus.speakers.names import is_seen
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import listed

RATER, TARGET = "user", "assistant"
PEOPLE = ("agent", "operator", "advisor")
"""Who is rated, and a person: nobody knows which is meant where a machine speaks in the same chat, too."""
SPEAKERS = {
    **dict.fromkeys(("user", "human", "customer", "client", "visitor", "prompter"), RATER),
    **dict.fromkeys(("assistant", "gpt", "ai", "bot", "chatbot", "model", *PEOPLE), TARGET),
}
NOBODY = ("system", "developer", "tool", "function", "function_call", "observation")
NO_MESSAGE = ("function_call_output", "reasoning", "tool_call", "tool_result", "tool_use", "web_search_call")
"""Types of items without a role in OpenAI's newer lists: they stand for what the model did, not for what it said."""
WHO = ("role", "from", "speaker", "author", "sender")
WHAT = ("content", "value", "text", "message", "body", "utterance", "parts")
SHAPES = {"messages": ("role", "content"), "conversations": ("from", "value")}
SPOKEN = {"text": ("text", "content", "value"), "refusal": ("refusal",), "audio": ("transcript",)}
"""Parts of a message that are speech, and the keys under which the words stand."""
KINDS = {"input_text": "text", "output_text": "text", "output_audio": "audio", "input_audio": "audio"}
REASONING = ("reasoning", "reasoning_content", "thinking", "redacted_thinking", "reasoningContent")
CALLS = ("tool_calls", "function_call")
PART_KINDS = ("type", "kind", "part_kind", "content_type")
LANGCHAIN = {"human": "user", "ai": "assistant", "HumanMessage": "user", "AIMessage": "assistant"}
LANGCHAIN |= {
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_CALL = re.compile(r"\s*<(tool_call|function_call)>.*?</\1>\s*", re.DOTALL)
"""How open models write a call into their text."""
_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
MOST_KEYS = 12


@dataclass
class Message:
    """One message: ``text`` of ``speaker``, None where it is no turn; ``apart``: what of it is no speech, by kind;
    ``name``: who of those that have the role."""

    speaker: str | None = None
    text: str | None = None
    apart: Counter[str] = field(default_factory=Counter)
    reasoning: bool = False
    name: str | None = None


@dataclass(frozen=True)
class Score:
    """A score as it was written, of the whole chat, or of one ``turn``; ``by``: who gave it, where that is told."""

    name: str
    value: Any
    by: str | None = None
    by_model: bool = False
    turn: int | None = None


@dataclass(frozen=True)
class Chat:
    """``place`` in its file, an ``id`` where it has one, what was said, what was thought of it, in which language."""

    place: str
    id: str | None
    said: list[Message]
    scores: list[Score] = field(default_factory=list)
    language: str | None = None


@dataclass
class LeftOut:
    """What of the messages became no turn, counted."""

    nobody: int = 0
    reasoning: int = 0
    blank: int = 0
    silent: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)

    def add(self, message: Message) -> None:
        """Count what of ``message`` is no turn."""
        self.reasoning += message.reasoning
        if message.speaker is None:
            self.nobody += 1
        elif message.text is None:
            self.silent[
                " and ".join(sorted(message.apart)) or ("reasoning alone" if message.reasoning else "empty")
            ] += 1
        else:
            self.blank += not is_seen(message.text)
            self.parts.update(message.apart)

    def notes(self) -> tuple[str, ...]:
        """A line for each kind of thing that was left out."""
        notes = []
        if self.nobody:
            notes.append(f"{self.nobody:,} messages of the system, tools or functions were left out")
        if self.silent:
            notes.append(f"{self.silent.total():,} messages without text were left out: {_counts(self.silent)}")
        if self.blank:
            notes.append(f"{self.blank:,} messages are blank: they are turns in which nothing was said")
        if self.parts:
            notes.append(
                f"{self.parts.total():,} parts of messages are no speech and were left out: {_counts(self.parts)}"
            )
        if self.reasoning:
            notes.append(
                f"{self.reasoning:,} messages hold reasoning, which nobody heard: it is kept apart, in no turn"
            )
        return tuple(notes)


@dataclass(frozen=True)
class MessageReader:
    """Reads the messages of chats; keys and names of speakers that are not ours as options say them."""

    speaker_key: str | None = None
    text_key: str | None = None
    rater: str | None = None
    target: str | None = None

    def read(self, messages: list[Any], shape: tuple[str, str] = SHAPES["messages"]) -> list[Message]:
        """Every message. Raises ``UnitError``: one is no message, its speaker is unknown, or none holds a text."""
        read = [self._message(position, message, shape) for position, message in enumerate(messages, start=1)]
        objects = [message for message in messages if isinstance(message, dict)]
        if objects and not any(self._has_content(message, shape) for message in objects):
            keys = listed(sorted({key for message in objects for key in message}), MOST_KEYS)
            raise UnitError(
                f'no message has "{shape[1]}". Found the keys: {keys}. Say which holds the text: -o text=KEY.'
            )
        self._check_target(messages, shape)
        for message, after in pairwise(read):
            if (
                message.speaker == TARGET
                and after.speaker is None
                and message.text is not None
                and not is_seen(message.text)
            ):
                message.text = None  # It called the tool that answers next.
                message.apart["before a tool's answer"] += 1
        return read

    def _message(self, position: int, message: Any, shape: tuple[str, str]) -> Message:
        role = self._role(message, shape)
        if role is None:
            found = (
                f"found the keys {listed(list(message), MOST_KEYS)}" if isinstance(message, dict) else shown(message)
            )
            raise UnitError(
                f'message {position}: an object with "{shape[0]}" and "{shape[1]}" is needed, {found}. '
                "Where other keys hold them: -o speaker=KEY -o text=KEY."
            )
        label = role.strip().casefold() if isinstance(role, str) else ""
        if label in NOBODY or label in NO_MESSAGE:
            return Message()
        speaker = self._speaker(label)
        if speaker is None:
            allowed = ", ".join((*SPEAKERS, *NOBODY))
            raise UnitError(
                f"message {position}: role {shown(role)}; allowed: {allowed}. "
                "Say who rates and who is rated: -o rater=NAME -o target=NAME."
            )
        return self._said(speaker, self._unwrapped(message, shape), shape)

    def _unwrapped(self, message: Mapping[str, Any], shape: tuple[str, str]) -> Any:
        """The message itself, which LangChain puts under "data" or "kwargs"."""
        inner = message.get("kwargs" if "lc" in message else "data")
        is_wrapped = isinstance(inner, dict) and not any(key in message for key in self._keys(shape))
        return inner if is_wrapped else message

    def _role(self, message: Any, shape: tuple[str, str]) -> Any:
        if not isinstance(message, dict):
            return None
        for key in (self.speaker_key,) if self.speaker_key else (shape[0], *WHO):
            if message.get(key) is not None:
                found = message[key]
                return found.get("role", found) if isinstance(found, dict) else found
        if "lc" in message and isinstance(message.get("id"), list) and message["id"]:
            return LANGCHAIN.get(str(message["id"][-1]))
        known = message.get("type")  # LangChain's and the newer OpenAI lists say it there.
        if isinstance(known, str) and not any(key in message for key in (*self._keys(shape), "data")):
            return known if known in SPEAKERS else NO_MESSAGE[0]  # It says what it is, and no words.
        return known if known in (*SPEAKERS, *NOBODY, *NO_MESSAGE) else None

    def _speaker(self, label: str) -> str | None:
        for name, speaker in ((self.rater, RATER), (self.target, TARGET)):
            if name is not None and label == name.strip().casefold():
                return speaker
        speaker = SPEAKERS.get(label, "")
        taken = {RATER: self.rater, TARGET: self.target}.get(speaker)
        # Who is not the one that an option names is somebody else, and keeps the own name.
        return (label if taken is not None else speaker) or None

    def _check_target(self, messages: list[Any], shape: tuple[str, str]) -> None:
        if self.target is not None:
            return
        roles = [self._role(message, shape) for message in messages]
        names = {role.strip().casefold() for role in roles if isinstance(role, str)}
        rated = sorted(name for name in names if SPEAKERS.get(name) == TARGET)
        if any(name in PEOPLE for name in rated) and len(rated) > 1:
            raise UnitError(f"{' and '.join(rated)} speak. Say who is rated: -o target={rated[0]}.")

    def _keys(self, shape: tuple[str, str]) -> tuple[str, ...]:
        return (self.text_key,) if self.text_key else (shape[1], *WHAT)

    def _has_content(self, message: Mapping[str, Any], shape: tuple[str, str]) -> bool:
        keys = (*self._keys(shape), *CALLS, *REASONING, "refusal", "audio", "data", "kwargs", "type")
        return any(key in message for key in keys)

    def _said(self, speaker: str, message: Any, shape: tuple[str, str]) -> Message:
        said, texts = Message(speaker), []
        if not isinstance(message, dict):
            message = {shape[1]: message}
        held = [message[key] for key in self._keys(shape) if message.get(key) is not None]
        content = next((one for one in held if not _is_nothing(one)), next(iter(held), None))
        said.name = message["name"] if isinstance(message.get("name"), str) else None
        texts += list(_texts(content, said))
        for kind in ("refusal", "audio"):
            if message.get(kind) is not None:
                texts += list(_part({"type": kind, kind: message[kind]}, said))
        said.reasoning |= any(message.get(key) for key in REASONING)
        text = "\n".join(texts)
        if speaker == TARGET:
            text, thoughts = _THOUGHT.subn("", text, count=1) if _THOUGHT.match(text) else (text, 0)
            said.reasoning |= thoughts > 0
            text, calls = _CALL.subn("\n", text)
            said.apart.update({"tool calls": calls} if calls else {})
        if any(message.get(key) for key in CALLS):
            said.apart["tool calls"] += 1
        # Somebody who answers nothing has had a turn; who thinks or calls a tool goes on.
        is_blank_turn = isinstance(content, str) and not said.apart and not said.reasoning
        said.text = text if is_seen(text) or is_blank_turn else None
        return said


def _is_nothing(content: Any) -> bool:
    return not content or (isinstance(content, str) and not is_seen(content))


def _texts(content: Any, said: Message) -> Iterator[str]:
    """The words of a message's content; what is no speech is counted in ``said``."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _part(part, said)
    elif isinstance(content, dict):
        yield from _part(content, said)
    elif content is not None:
        said.apart[kind_of(content)] += 1


def _part(part: Any, said: Message) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    if not isinstance(part, dict):
        said.apart[kind_of(part)] += 1
        return
    if isinstance(part.get("parts"), list):  # ChatGPT's own export: {"content_type": "text", "parts": ["..."]}.
        yield from _texts(part["parts"], said)
        return
    kind = next((part[key] for key in PART_KINDS if key in part), "text")
    kind = kind if isinstance(kind, str) else shown(kind)
    if kind == "text" and part and _words(part, kind) is None:
        kind = str(next(iter(part)))  # Gemini's and Bedrock's parts have no type: {"functionCall": {...}}.
    plain = "reasoning" if part.get("thought") is True else KINDS.get(kind, kind)
    words = _words(part, plain)
    if words is not None:
        yield words
    elif plain in REASONING:
        said.reasoning = True
    else:
        said.apart[kind] += 1


def _words(part: Mapping[str, Any], kind: str) -> str | None:
    places = [part, *(part[key] for key in ("text", "audio", "input_audio") if isinstance(part.get(key), dict))]
    found = (place.get(key) for key in SPOKEN.get(kind, ()) for place in places)
    return next((words for words in found if isinstance(words, str)), None)


def _counts(kinds: Counter[str]) -> str:
    return listed([f"{kind} {many:,}" for kind, many in kinds.most_common()], MOST_KEYS)
