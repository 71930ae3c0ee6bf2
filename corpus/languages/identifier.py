"""Which language a dialogue is in, told by its words on this machine: py3langid's model of byte sequences.

How often it is right in dialogues of 20 words: docs/guides/chats.md, "Languages".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from tempfile import gettempdir
from typing import Any

from apportion.corpus.languages.names import NAMES, TOGETHER
from apportion.foundation.errors import InputError

SURE = 0.5
"""The probability from which a dialogue's language is believed."""
SURE_OF_A_TURN = 0.8
"""The same of a single turn, by which it is told that two languages are spoken."""
SHARE = 0.2
"""The least part of the letters, of turns whose language is sure, that makes a second language one that is spoken."""
LETTERS = 12
"""The least number of them."""
PAIRS = 6
"""Pairs of neighbours that are looked at one by one, evenly over the dialogue: they may be two people's turns."""
OF_A_TURN, OF_ALL = 120, 400
"""Characters of a turn, and of all turns together, that are looked at."""
_NOTHING = "zxx"
"""What is no language (code, numbers), as ISO 639 calls it."""


def spoken_in(texts: Sequence[str]) -> str | None:
    """The language of a dialogue's turns, such as ``de``, or ``de+en`` where two are spoken; None where it is unsure.

    >>> spoken_in(["Fährt heute noch ein Zug nach Bonn?", "Ja, um neun Uhr abends."]), spoken_in(["ok"])
    ('de', None)
    """
    said = [text for text in texts if text and any(map(str.isalpha, text))]  # A broken corpus has nulls.
    every = 2 * max(1, len(said) // (2 * PAIRS))
    letters: Counter[str] = Counter()
    for text in (text[:OF_A_TURN] for at in range(0, len(said), every) for text in said[at : at + 2]):
        code, probability = _classify(text)
        if probability >= SURE_OF_A_TURN:
            letters[code] += _weight(text)
    enough = max(LETTERS, SHARE * letters.total())
    spoken = [code for code, many in letters.most_common() if many >= enough and code != _NOTHING]
    if len(spoken) > 1:
        return TOGETHER.join(sorted(spoken))
    code, probability = _classify("\n".join(said)[:OF_ALL]) if said else (_NOTHING, 1.0)
    return code if probability >= SURE and code != _NOTHING else None


def _weight(text: str) -> int:
    """Letters; a character of Chinese or Japanese counts as three, since it is about half a word."""
    return sum(3 if character >= "⺀" else 1 for character in text if character.isalpha())


def _classify(text: str) -> tuple[str, float]:
    code, probability = _model().classify(text)
    return str(code), float(probability)


@cache
def _model() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        where = f"{gettempdir()}: the model of languages cannot be written there ({error.strerror})"
        raise InputError(f"{where}. Free some space, or name another folder: TMPDIR=FOLDER.") from None
    model.set_languages([*NAMES, _NOTHING])
    return model
