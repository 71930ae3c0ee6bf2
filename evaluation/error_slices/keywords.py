"""What a kind of turn is called: the words that are common in it and rare elsewhere."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

WORD = re.compile(r"[^\W\d_](?:[\w'’]*[^\W_])?")
"""A word has a letter first, so that times and prices name nothing."""
LEAST_SHARE = 0.15
"""A word that fewer turns of the kind hold does not name it."""
FEWEST_SESSIONS = 3
"""A word of fewer conversations may be a person's name, and names nobody's kind of turn."""
RARER = 1.5
"""A word names a kind where its turns hold it so many times as often as others."""
MOST_WORDS = 4


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in small letters.

    >>> sorted(words_of("Sorry, I can't find 2 rooms. SORRY!"))
    ["can't", 'find', 'i', 'rooms', 'sorry']
    """
    return frozenset(WORD.findall(text.lower().replace("’", "'")))


def distinctive_words(
    said: Sequence[frozenset[str]], sessions: Sequence[int], others: Sequence[frozenset[str]]
) -> tuple[str, ...]:
    """The words that tell a kind's turns from the others, the strongest first; none where no word is common in them.

    A word that the share p of the kind's turns hold, and the share q of the others, counts p log(p / q): its part of
    the divergence between the two, so that it must be both common here and rare there.

    ``said``: the words of each turn of the kind. ``sessions``: the session of each of them. ``others``: the words of
    each other turn.
    """
    inside, outside = Counter(word for of in said for word in of), Counter(word for of in others for word in of)
    spoken_in: dict[str, set[int]] = {}
    for words, session in zip(said, sessions, strict=True):
        for word in words:
            spoken_in.setdefault(word, set()).add(session)

    def ratio(word: str) -> float:
        return inside[word] / len(said) * (len(others) + 1) / (outside[word] + 0.5)

    def strength(word: str) -> float:
        return inside[word] / len(said) * math.log(ratio(word))

    common = [
        word
        for word, count in inside.items()
        if count >= LEAST_SHARE * len(said) and len(spoken_in[word]) >= FEWEST_SESSIONS and ratio(word) >= RARER
    ]
    return tuple(sorted(common, key=lambda word: (-strength(word), word))[:MOST_WORDS])
