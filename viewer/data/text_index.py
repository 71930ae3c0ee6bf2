"""Text as it is indexed, and what a person types as a query of SQLite's FTS5."""

from __future__ import annotations

import re
import unicodedata

# Thai and Lao, Burmese, Khmer; kana and Han, the rarer signs of Han among them.
_SIGNS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_MARKS = "[\u0300-\u036f]"
_PART = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"\w")
_BETWEEN = re.compile(r"[\W_]+")


def searchable(text: str) -> str:
    """Text as it is indexed: characters of scripts without spaces stand alone, so that parts of them are found.

    >>> searchable("退货 now")
    '退  货  now'
    """
    return _SIGNS.sub(r"\1 ", text).strip() if text.isascii() else _SIGNS.sub(r" \1 ", text).strip()


def query_of(text: str) -> str | None:
    """A query of FTS5 for what a person types, None where nothing of it can be searched for.

    All words have to be there; "words in quotes" as they stand; -word must not be there; the last word may go on.
    Nothing a person types is read as FTS5's own language.

    >>> query_of('refund "not happy" -invoice tra')
    '"refund" "not happy" "tra" * NOT "invoice"'
    >>> query_of("-only") is None
    True
    """
    wanted: list[tuple[str, bool]] = []
    unwanted: list[str] = []
    for minus, quoted, word in _PART.findall(text):
        term = searchable(quoted or word).replace('"', " ").replace("\0", " ")
        if not _WORD.search(term):
            continue
        if minus:
            unwanted.append(f'"{term}"')
        else:
            wanted.append((f'"{term}"', bool(word)))
    if not wanted:
        return None
    last, goes_on = wanted[-1]
    # What is still being typed is found by its beginning.
    terms = [term for term, _ in wanted[:-1]] + [f"{last} *" if goes_on and not text[-1:].isspace() else last]
    return " ".join(terms) + "".join(f" NOT {term}" for term in unwanted)


def pattern_of(text: str) -> re.Pattern[str] | None:
    """What a query looks for in a text (`decomposed`): the beginnings of its words and phrases, in any case, with any
    accents.

    >>> [match[0] for match in pattern_of("table").finditer("Comfortable tables, a Table.")]
    ['table', 'Table']
    """
    parts = ((minus, quoted or word) for minus, quoted, word in _PART.findall(text))
    # As in the index, what is between words does not count: `tables?` is found in "tables", "follow up" by `follow-up`.
    wanted = {tuple(filter(None, _BETWEEN.split(composed(term)))) for minus, term in parts if not minus}
    terms = sorted(filter(None, wanted), key=lambda words: sum(map(len, words)), reverse=True)
    if not terms:
        return None
    # A script without spaces has no beginnings of words; to the index, _ is between words.
    begun = rf"(?<![^\W_])(?<!{_MARKS})"
    phrases = (
        ("" if _SIGNS.match(words[0]) else begun) + _BETWEEN.pattern.join(map(_with_accents, words)) for words in terms
    )
    return re.compile("|".join(phrases), re.IGNORECASE)


def decomposed(text: str) -> str:
    """Text in which an accent is a character of its own, behind its letter."""
    return unicodedata.normalize("NFD", text)


def composed(text: str) -> str:
    """Text in which a letter and its accent are one character, as fonts have them."""
    return unicodedata.normalize("NFC", text)


def _with_accents(term: str) -> str:
    letters = re.sub(_MARKS, "", decomposed(term))
    return "".join(re.escape(letter) + (f"{_MARKS}*" if letter.isalpha() else "") for letter in letters)
