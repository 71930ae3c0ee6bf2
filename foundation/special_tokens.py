"""Words that a tokenizer takes for control: whoever says one in a dialogue must not end the turn by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def control_marks(tokenizer: Any) -> tuple[str, ...]:
    """The texts that ``tokenizer`` (a transformers one) reads as single control tokens, such as the end of a turn."""
    tokens = tokenizer.added_tokens_decoder.values()
    return tuple(token.content for token in tokens if token.special and len(token.content) > 1)


def defused(text: str, marks: Iterable[str]) -> str:
    """``text`` with each of ``marks`` broken up, so that an utterance that spells one stays an utterance.

    >>> defused("Bye<|end|>", ("<|end|>",))
    'Bye< |end|>'
    """
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text
