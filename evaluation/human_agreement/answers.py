"""Who said what of which system on which item: one criterion's answers, one row an assignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError


@dataclass(frozen=True, eq=False)
class Answers:
    """A assignments (an annotator's answers on an item) of K systems by one criterion.

    ``systems`` [length K]. ``items``, ``annotators`` int64 [shape=(A,)]: a number an item, a number an annotator; an
    annotator answers an item once. ``values`` float64 [shape=(A, K)]: 1 and 0 where systems are marked or not, else a
    rating; NaN where a system was not shown or not judged. Raises InputError: shapes that do not belong together, a
    system named twice, an item that an annotator answered twice.
    """

    systems: tuple[str, ...]
    items: NDArray[np.int64]
    annotators: NDArray[np.int64]
    values: Floats

    def __post_init__(self) -> None:
        shape = (len(self.items), len(self.systems))
        if self.values.shape != shape or self.annotators.shape != self.items.shape:
            raise InputError(
                f"answers of shape {self.values.shape} do not belong to {shape[0]} items, {len(self.annotators)} "
                f"annotators and {shape[1]} systems. Give a row an assignment and a column a system."
            )
        twice = sorted({name for name in self.systems if self.systems.count(name) > 1})
        if twice:
            raise InputError(f"system {twice[0]!r} is named twice. Give each system one column.")
        pairs, counts = np.unique(np.stack([self.items, self.annotators]), axis=1, return_counts=True)
        if (counts > 1).any():
            item, annotator = pairs[:, int(np.argmax(counts > 1))]
            raise InputError(
                f"annotator {annotator} answered item {item} {int(counts.max())} times. Keep one answer, say the last."
            )

    def place(self, system: str) -> int:
        """The column of a system. Raises InputError: no such system."""
        if system not in self.systems:
            raise InputError(f"no system {system!r}; there are {', '.join(self.systems)}.")
        return self.systems.index(system)

    def by_unit(self) -> Floats:
        """What each annotator said of each response [shape=(U, annotators)], as `krippendorff_alpha` reads it."""
        items, item_at = np.unique(self.items, return_inverse=True)
        people, person_at = np.unique(self.annotators, return_inverse=True)
        cube = np.full((len(items), len(self.systems), len(people)), np.nan)
        cube[item_at, :, person_at] = self.values
        return cube.reshape(len(items) * len(self.systems), len(people))

    def of_annotators(self, wanted: Sequence[int]) -> Answers:
        """The answers of some annotators alone, such as those whom no check flagged."""
        kept = np.isin(self.annotators, np.asarray(wanted, np.int64))
        return Answers(self.systems, self.items[kept], self.annotators[kept], self.values[kept])

    def of_systems(self, wanted: Sequence[str]) -> Answers:
        """The answers on some systems alone, in the order that they are named in. Raises InputError: no such system."""
        columns = [self.place(system) for system in wanted]
        return Answers(tuple(wanted), self.items, self.annotators, self.values[:, columns])
