"""One spelling of a name, so that the same person is found under it in transcripts, ratings and names of files."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_UNSEEN = ("Cf", "Cc")


def clean_name(name: str) -> str:
    """``name`` in Unicode form NFC, without characters that cannot be seen, with single spaces.

    >>> clean_name("Jose\\u0301\\u200b  Smith") == "Jos\\u00e9 Smith"
    True
    """
    # Direction marks, joiners and soft hyphens come along when names are copied from web pages.
    if not name.isprintable():
        name = "".join(letter for letter in name if letter.isspace() or unicodedata.category(letter) not in _UNSEEN)
    return " ".join(unicodedata.normalize("NFC", name).split())


def name_key(name: str) -> str:
    """What two spellings of one name have in common: `clean_name`, upper and lower case aside."""
    return unicodedata.normalize("NFC", clean_name(name).casefold())


def same_name(name: str, names: Iterable[str]) -> str | None:
    """``name`` as it is spelt in ``names``, upper and lower case and Unicode form aside; None where it is not there."""
    key = name_key(name)
    return next((known for known in names if name_key(known) == key), None)
