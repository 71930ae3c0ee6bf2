"""One spelling of a name, so that the same person is found under it in transcripts, ratings and names of files."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from apportion.foundation.safe_text import UNSEEN

_TYPED = str.maketrans("\u2018\u2019\u02bc\u2010\u2011\u2212", "'''---")
"""Apostrophes and hyphens that programs put for those of a keyboard."""


def clean_name(name: str) -> str:
    """``name`` in Unicode form NFC, without characters that cannot be seen, with single spaces.

    >>> clean_name("Jose\\u0301\\u200b  Smith") == "Jos\\u00e9 Smith"
    True
    """
    # Direction marks, joiners and soft hyphens come along when names are copied from web pages.
    if not name.isprintable():
        name = "".join(letter for letter in name if letter.isspace() or unicodedata.category(letter) not in UNSEEN)
    return " ".join(unicodedata.normalize("NFC", name).split())


def name_key(name: str) -> str:
    """What two spellings of one name have in common: `clean_name`, upper and lower case and the width of letters aside.

    >>> name_key("\uff21\uff4e\uff4e") == name_key("ANN"), name_key("O\u2019Neil") == name_key("o'neil")
    (True, True)
    """
    plain = unicodedata.normalize("NFKC", clean_name(name).translate(_TYPED)).casefold()
    # The small letter of a Turkish I with a dot keeps the dot as a mark of its own.
    return unicodedata.normalize("NFKC", plain.replace("i\u0307", "i"))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """``name`` as it is spelt in ``names``, upper and lower case and Unicode form aside; None where it is not there."""
    key = name_key(name)
    return next((known for known in names if name_key(known) == key), None)
