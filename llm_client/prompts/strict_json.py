"""A model's reply as JSON, taken as it stands: nothing is searched for in prose, and nothing is guessed."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from llm_client.request import ChatReply, whole_text

FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
"""One code fence around a whole reply."""


class ReplyMistakeError(ValueError):
    """A reply cannot be used; the text tells the model, and a person, what is wrong with it."""


def check_finished(reply: ChatReply, advice: str) -> None:
    """Raise ReplyMistakeError where the model was cut off, with ``advice`` how to be shorter, or has declined."""
    if reply.finish_reason == "length":
        raise ReplyMistakeError(f"the reply was cut off at the limit of tokens; {advice}")
    if reply.finish_reason in ("refusal", "content_filter"):
        raise ReplyMistakeError(f"the request was declined ({reply.finish_reason})")


def strict_json(text: str) -> Any:
    """The one JSON value that ``text`` is, but for one code fence around the whole.

    >>> strict_json('{"turn": 3}')
    {'turn': 3}

    Raises
    ------
    ReplyMistakeError
        Not JSON, nested too deeply, a key that stands twice in one object, or a number that is not finite.
    """
    text = text.strip()
    fenced = FENCED.match(text)
    try:
        return json.loads(fenced[1] if fenced else text, parse_constant=_no_number, object_pairs_hook=once)
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
    text = whole_text(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 80 else text[:79] + "…"


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is not allowed; use a finite number or null")
