"""A model's answer as JSON, taken as it stands: nothing is searched for in prose, and nothing is guessed."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from apportion.foundation.text_checks import whole_text
from apportion.llm_client.prompts.reasoning import answer_of
from apportion.llm_client.request import ChatReply

_LANGUAGE = re.compile(r"json\w{0,2}", re.IGNORECASE)
_LONGEST = 256 * 1024
"""Characters of an answer; as values, they can take twenty times their bytes."""


class ReplyMistakeError(ValueError):
    """A reply cannot be used; the text tells the model, and a person, what is wrong with it."""


def check_finished(reply: ChatReply, advice: str) -> None:
    """Raise ReplyMistakeError where the model was cut off, with ``advice`` how to be shorter, or has declined."""
    if reply.finish_reason == "length" and not answer_of(reply.text):
        raise ReplyMistakeError("the limit of tokens was reached before the answer began; reason less")
    if reply.finish_reason == "length":
        raise ReplyMistakeError(f"the reply was cut off at the limit of tokens; {advice}")
    if reply.finish_reason in ("refusal", "content_filter"):
        raise ReplyMistakeError(f"the request was declined ({reply.finish_reason})")


def strict_json(text: str) -> Any:
    """The one JSON value that ``text`` is, but for a model's reasoning before it and one code fence around it.

    >>> strict_json('{"answer": 3}')
    {'answer': 3}

    Raises
    ------
    ReplyMistakeError
        Not JSON, longer than 256 Ki characters, nested too deeply, a key that stands twice in one object, or a number
        that is not finite.
    """
    given, text = text, answer_of(text)
    if given.strip() and not text:
        raise ReplyMistakeError("the reply is reasoning alone, without an answer after it")
    if len(text) > _LONGEST:
        raise ReplyMistakeError(f"the reply has {len(text):,} characters, more than the {_LONGEST:,} that are read")
    try:
        return json.loads(_unfenced(text), parse_constant=_no_number, object_pairs_hook=once)
    except RecursionError:
        raise ReplyMistakeError("the reply is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ReplyMistakeError(
            f"the reply is not one JSON object: {error.msg} at character {error.pos} of {len(text)}"
        ) from None
    except ReplyMistakeError:
        raise
    except ValueError as error:  # NaN, Infinity, or an integer of thousands of digits
        raise ReplyMistakeError(f"the reply holds a number that cannot be used: {error}") from None


def _unfenced(text: str) -> str:
    """``text`` without one code fence around the whole."""
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    inside = text[3:-3]
    language = _LANGUAGE.match(inside)
    return inside[language.end() if language else 0 :].strip()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object, for ``json.loads(object_pairs_hook=...)``.

    Raises
    ------
    ReplyMistakeError
        A key that stands there twice.
    """
    # JSON's readers silently take the last of several; which one the model meant is not ours to guess.
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise ReplyMistakeError(f"the key {short_json(twice[0])} stands twice in one object")
    return dict(pairs)


def short_json(value: Any) -> str:
    """``value`` as JSON of at most 80 characters, to be named in a mistake."""
    try:
        text = whole_text(json.dumps(value, ensure_ascii=False))
    except RecursionError:  # What could just be read may be too deep to be written.
        return "something nested too deeply"
    return text if len(text) <= 80 else text[:79] + "…"


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is not allowed; use a finite number or null")
