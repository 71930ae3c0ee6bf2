"""Answers as a form elsewhere has them: responses by letter, turns by number; and from there to a study's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.foundation.errors import InputError
from apportion.rlhf.compare.blind import LETTERS
from apportion.study.design.answers import TIE, Value, problem_of
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.design.randomization import lettered

REASON = "reason"
"""What the field of the reason is called in forms."""


@dataclass(frozen=True)
class Form:
    """One item as everybody sees it elsewhere, where each annotator cannot have letters of their own.

    ``letters`` are responses' ids by letter, ``turns`` the positions of the agent's turns by their number from 1.
    """

    item: Item
    letters: Mapping[str, str]
    turns: Mapping[str, int]

    def value(self, criterion: Criterion, given: Sequence[str] | str | Mapping[str, int]) -> Value:
        """An answer by letters and numbers as the study keeps it.

        ``given`` is a list of letters (select), a letter or ``tie`` (pair), or a number by letter or by turn.

        Raises InputError: a letter or turn that the item has not, or an answer that is none.
        """
        value: Value
        if isinstance(given, str):
            value = TIE if given.casefold() == TIE else self._id(given)
        elif isinstance(given, Mapping):
            named = self._position if criterion.kind == "turns" else self._id
            value = {named(place): number for place, number in given.items()}
        else:
            value = sorted(self._id(letter) for letter in given)
        if problem := problem_of(criterion, self.item, value):
            raise InputError(f"{criterion.name}: {problem}")
        return value

    def _id(self, letter: str) -> str:
        if letter not in self.letters:
            raise InputError(
                f"{letter!r:.40} is no response of item {self.item.item}; there are {', '.join(self.letters)}"
            )
        return self.letters[letter]

    def _position(self, number: str) -> str:
        if number not in self.turns:
            raise InputError(f"{number!r:.40} is no turn of item {self.item.item}; the agent has {len(self.turns)}")
        return str(self.turns[number])


def form_of(study: StudyFolder, item: Item, where: str) -> Form:
    """The form of an item, letters drawn by the study's seed and the name of the place where it is shown."""
    responses = lettered(f"({where})", study.settings.seed, item)
    letters = {letter: response.id for letter, response in zip(LETTERS, responses, strict=False)}
    return Form(item, letters, numbered_turns(item))


def numbered_turns(item: Item) -> dict[str, int]:
    """The positions of the agent's turns by their number, from 1."""
    return {str(number): position for number, position in enumerate(item.positions, start=1)}


def shown_items(study: StudyFolder) -> tuple[Item, ...]:
    """The items that are shown elsewhere: those that count, and the attention checks. Practice is not."""
    return (*study.counted, *study.check_items)


def most_responses(items: Sequence[Item]) -> tuple[str, ...]:
    """The letters of the item that has the most responses."""
    return tuple(LETTERS[: max((len(item.responses) for item in items), default=0)])


def most_turns(items: Sequence[Item]) -> tuple[str, ...]:
    """The turns' numbers of the item in which the agent speaks most often."""
    return tuple(str(number + 1) for number in range(max((len(item.positions) for item in items), default=0)))
