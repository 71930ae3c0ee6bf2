"""Text that any file can hold, that can be seen, and in which no dialogue can say a tokenizer's control words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

IN_TABLES = "?"
"""What half a surrogate pair is in the tables of a corpus."""
UNSEEN = ("Cf", "Cc")
"""Categories of Unicode of what cannot be seen, blanks aside: joiners, direction marks, control characters."""
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def whole_text(text: str, instead: str = "\ufffd") -> str:
    r"""``text`` with ``instead`` for each half of a surrogate pair: JSON can spell one, and no UTF-8 file can hold it.

    >>> whole_text("lamp \ud83d!", IN_TABLES)
    'lamp ?!'
    """
    return _HALF_A_PAIR.sub(instead, text)


def is_seen(text: str) -> bool:
    """Whether anything of ``text`` can be seen: blanks, joiners and direction marks cannot.

    >>> is_seen("\u200b \ufeff"), is_seen(" :)")
    (False, True)
    """
    return any(not letter.isspace() and unicodedata.category(letter) not in UNSEEN for letter in text)


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
