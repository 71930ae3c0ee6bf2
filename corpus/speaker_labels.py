"""Letters that stand for the speakers of a conversation where their names must not be read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

Speaker = TypeVar("Speaker", bound=Hashable)

TARGET = "B"
"""The letter of the speaker whose turns are credited, however many others there are."""


def letters(speakers: Iterable[Speaker], target: Speaker) -> dict[Speaker, str]:
    """A letter for everybody who speaks: B for ``target``, A, C, D and so on for the others as they first speak.

    Whoever speaks later changes no letter that was given before, so that the beginning of a conversation reads the
    same whether or not its end is known.

    >>> letters(("ann", "bob", "ann", "eve", "dan"), "bob")
    {'bob': 'B', 'ann': 'A', 'eve': 'C', 'dan': 'D'}
    """
    given = {target: TARGET}
    for speaker in speakers:
        if speaker not in given:
            # B is taken: the first of the others has the first letter, the second one the third.
            given[speaker] = _column(1 if len(given) == 1 else len(given) + 1)
    return given


def _column(number: int) -> str:
    """Letters counted as spreadsheets count their columns: 1 is A, 26 is Z, 27 AA, 28 AB and so on."""
    name = ""
    while number:
        number, place = divmod(number - 1, 26)
        name = chr(ord("A") + place) + name
    return name
