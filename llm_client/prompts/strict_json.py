"""A model's answer as JSON, taken as it stands: nothing is searched for in prose, and nothing is guessed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from apportion.foundation.safe_text import whole_text
from apportion.llm_client.request import REASONING, ChatReply

_BEGINS_WITH_JSON = ("{", "[", "```")
_MOST_PIECES = 8
_OPENED = re.compile(r"<(think|thinking)>")
_CLOSED = re.compile(r"</(?:think|thinking)>")
_FINAL = re.compile(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
"""Where the answer begins in gpt-oss's own form (harmony)."""
_HARMONY_ENDS = ("<|return|>", "<|end|>", "<|call|>")
_BARE_HARMONY = re.compile(r"\Aanalysis.*?assistantfinal(?=\s*[\[{`])", re.DOTALL)
"""The same where the server has left out the special tokens and not what stood between them."""


def answer_of(text: str) -> str:
    """``text`` without byte order mark and without the reasoning at its head; empty where there is nothing else.

    What begins as JSON is taken as it stands, whatever it quotes. Reasoning ends at the first mark that ends it, so
    what follows has to be the answer and nothing but it; a chat template may have opened it in the question, and then
    only its end is in the reply.

    >>> answer_of("<think>Is it 3? Yes.</think> 3")
    '3'
    >>> answer_of("<|channel|>analysis<|message|>3?<|end|><|start|>assistant<|channel|>final<|message|>3<|return|>")
    '3'
    """
    text = text.strip().removeprefix("\ufeff").strip()
    for _ in range(_MOST_PIECES):
        rest = None if text.startswith(_BEGINS_WITH_JSON) else _after_reasoning(text)
        if rest is None:
            break
        text = rest.strip()
    return text


def _after_reasoning(text: str) -> str | None:
    """What follows the first piece of reasoning; None where there is none."""
    if text.startswith("<|"):
        final = _FINAL.search(text)
        if final is not None:
            rest = text[final.end() :].rstrip()
            return next((rest.removesuffix(end) for end in _HARMONY_ENDS if rest.endswith(end)), rest)
        return "" if text.startswith("<|channel|>analysis") else None
    opened, closed = _OPENED.match(text), _CLOSED.search(text)
    if closed is not None:
        return text[closed.end() :]
    if opened is not None:
        # Never closed: an answer only where nothing stands before it.
        rest = text[opened.end() :].lstrip()
        return rest if rest.startswith(_BEGINS_WITH_JSON) else ""
    bare = _BARE_HARMONY.match(text)
    return None if bare is None else text[bare.end() :]


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
    if reply.finish_reason == REASONING:
        raise ReplyMistakeError("it is empty, and JSON stands in reasoning_content alone; write the answer after it")
    if reply.finish_reason in ("refusal", "content_filter"):
        raise ReplyMistakeError(f"the request was declined ({reply.finish_reason})")


def strict_json(text: str) -> Any:
    """The one JSON value that ``text`` is, but for a model's reasoning before it and one code fence around it.

    >>> strict_json('{"answer": 3}')
    {'answer': 3}

    Raises ``ReplyMistakeError``: not JSON, longer than 256 Ki characters, nested too deeply, a key that stands twice in
    one object, or a number that is not finite.
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


def reply_json(reply: ChatReply, advice: str) -> Any:
    """The one JSON value that a reply is; raises as `check_finished`, which takes the ``advice``, and `strict_json`."""
    check_finished(reply, advice)
    return strict_json(reply.text)


def _unfenced(text: str) -> str:
    """``text`` without one code fence around the whole."""
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    inside = text[3:-3]
    language = _LANGUAGE.match(inside)
    return inside[language.end() if language else 0 :].strip()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object, for ``json.loads(object_pairs_hook=...)``.

    Raises ``ReplyMistakeError``: a key that stands there twice.
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


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has these properties, in this order, and nothing else."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is not allowed; use a finite number or null")
