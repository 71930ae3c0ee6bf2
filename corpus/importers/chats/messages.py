"""What was said in the messages of a chat, by whom, and what of them is no speech."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from apportion.corpus import account
from apportion.corpus.files.jsontext import kind_of, shown
from apportion.corpus.importers.chats.scales import Scale
from apportion.foundation.errors import UnitError
from apportion.foundation.safe_text import is_seen
from apportion.foundation.truncate import listed, shortened

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
_CALLED = ("tool_call", "function_call")
"""How open models write a call into their text: as an element of this name."""
_TAG = "(think|thinking|reasoning)>"
_THOUGHT = re.compile(rf"\s*<{_TAG}.*?(?:</\1>\s*|\Z)|(?:(?!<{_TAG}).)*?\n[ \t]*</{_TAG}\s*", re.DOTALL)
"""At the beginning: to its end, which an answer that was cut off has not; or without its begin, which templates write.
"""
MOST_KEYS, MOST_KINDS = 12, 4
PARTS = "parts of messages"
NO_SPEAKER = "of the system, tools or functions"
THOUGHT, CALLED = "reasoning, which nobody heard", "tool calls, which nobody heard"


@dataclass(slots=True)
class Message:
    """One message: ``text`` of ``speaker``, None where it is no turn; ``apart``: parts that are no speech, by kind;
    ``name``: who of those that have the role.

    ``spoken``: parts that are speech; ``words``: those in it, of which ``unsaid`` were not said, by reason; ``fault``:
    why it cannot be read; ``silent``: why it is no turn, beside what is ``apart``.
    """

    speaker: str | None = None
    text: str | None = None
    apart: Counter[str] = field(default_factory=Counter)
    spoken: int = 0
    words: int = 0
    unsaid: Counter[str] = field(default_factory=Counter)
    fault: str = ""
    silent: str = ""
    name: str | None = None

    @property
    def parts(self) -> int:
        """How many parts it has."""
        return self.spoken + self.apart.total()


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
    """Its ``id``, what was said, what was thought of it on which ``scale``, in which language."""

    id: str
    said: list[Message]
    scores: list[Score] = field(default_factory=list)
    language: str | None = None
    scale: Scale | None = None


def settle(said: Sequence[Message], place: str) -> None:
    """Say in the account what of the messages of a chat is in its turns, and what is left out, and why."""
    book = account.current()
    for message in said:
        if message.speaker is None:
            leave_out([message], NO_SPEAKER, place)
            continue
        if message.text is None:
            what = listed(sorted(message.apart), MOST_KINDS, " and ")
            book.left_out("messages", message.silent or f"{what} without text".lstrip(), place=place)
            book.left_out(PARTS, "blank", message.spoken, place)
        else:
            book.kept(PARTS, message.spoken)
        for reason, many in message.unsaid.items():
            book.left_out("words", reason, many, place)
        for kind, many in message.apart.items():
            book.left_out(PARTS, kind, many, place)


def leave_out(messages: Sequence[Message], reason: str, place: str) -> None:
    """Say in the account that these messages are in no chat, with all that is in them."""
    book = account.current()
    book.left_out("messages", reason, len(messages), place)
    book.left_out("words", reason, sum(message.words for message in messages), place)
    book.left_out(PARTS, reason, sum(message.parts for message in messages), place)


@dataclass(frozen=True)
class MessageReader:
    """Reads the messages of chats; keys and names of speakers that are not ours as options say them."""

    speaker_key: str | None = None
    text_key: str | None = None
    rater: str | None = None
    target: str | None = None

    def read(self, messages: list[Any], shape: tuple[str, str] = SHAPES["messages"]) -> list[Message]:
        """Every message; the account counts them with their parts and words.

        Raises ``UnitError``: one is no message, its speaker is unknown, or none holds a text.
        """
        read = [self._message(position, message, shape) for position, message in enumerate(messages, start=1)]
        book = account.current()
        book.read("messages", len(messages))
        book.read(PARTS, sum(message.parts for message in read))
        book.read("words", sum(message.words for message in read))
        fault = next((message.fault for message in read if message.fault), None)
        if fault is not None:
            raise UnitError(fault)
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
                message.silent = "blank before a tool's answer"
        return read

    def _message(self, position: int, message: Any, shape: tuple[str, str]) -> Message:
        role = self._role(message, shape)
        if role is None:
            found = (
                f"found the keys {listed(list(message), MOST_KEYS)}" if isinstance(message, dict) else shown(message)
            )
            fault = (
                f'message {position}: an object with "{shape[0]}" and "{shape[1]}" is needed, {found}. '
                "Where other keys hold them: -o speaker=KEY -o text=KEY."
            )
            return replace(self._said(None, message, shape), fault=fault)
        label = role.strip().casefold() if isinstance(role, str) else ""
        is_speech = label not in NOBODY and label not in NO_MESSAGE
        said = self._said(self._speaker(label) if is_speech else None, self._unwrapped(message, shape), shape)
        if is_speech and said.speaker is None:
            allowed = ", ".join((*SPEAKERS, *NOBODY))
            said.fault = (
                f"message {position}: role {shown(role)}; allowed: {allowed}. "
                "Say who rates and who is rated: -o rater=NAME -o target=NAME."
            )
        return said

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

    def _said(self, speaker: str | None, message: Any, shape: tuple[str, str]) -> Message:
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
        said.apart.update("reasoning" for key in REASONING if message.get(key))
        said.apart.update("tool calls" for key in CALLS if message.get(key))
        text = "\n".join(texts)
        text = _without(text, said) if speaker == TARGET else text
        said.words = said.unsaid.total() + account.words_in([text])
        # Somebody who answers nothing has had a turn; who thinks or calls a tool goes on.
        is_blank_turn = isinstance(content, str) and not said.apart and not said.unsaid
        said.text = text if is_seen(text) or is_blank_turn else None
        if said.unsaid[THOUGHT] and said.text is None:
            said.silent = "reasoning without text"
        return said


def _without(text: str, said: Message) -> str:
    """``text`` without what a model wrote into it that nobody heard; ``said`` has what that was."""
    thought = _THOUGHT.match(text)
    if thought:
        text = text[thought.end() :]
        said.unsaid[THOUGHT] += account.words_in([thought[0]])
    pieces = _between_calls(text)
    heard = "\n".join(filter(None, map(str.strip, pieces))) if len(pieces) > 1 else text
    if len(pieces) > 1:
        said.apart["tool calls"] += len(pieces) - 1
        said.unsaid[CALLED] += account.words_in([text]) - account.words_in([heard])
    return heard


def _between_calls(text: str) -> list[str]:
    """What stands before, between and after the calls that a model wrote into its text."""
    pieces, at = list[str](), 0
    for name in _CALLED:
        while (begin := text.find(f"<{name}>", at)) >= 0 and (end := text.find(f"</{name}>", begin)) >= 0:
            pieces.append(text[at:begin])
            at = end + len(f"</{name}>")
    return [*pieces, text[at:]]


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
        said.spoken += 1
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
        said.spoken += 1
        yield words
    else:
        said.apart["reasoning" if plain in REASONING else shortened(kind)] += 1


def _words(part: Mapping[str, Any], kind: str) -> str | None:
    places = [part, *(part[key] for key in ("text", "audio", "input_audio") if isinstance(part.get(key), dict))]
    found = (place.get(key) for key in SPOKEN.get(kind, ()) for place in places)
    return next((words for words in found if isinstance(words, str)), None)
