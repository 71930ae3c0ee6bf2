"""Chance that belongs to one episode: seeded, and copied only when a copy draws."""

from __future__ import annotations

from random import Random


class EpisodeRNG:
    """The random numbers of one episode, apart from all others of the process.

    A copy shares the generator until one of the two draws: the state of ``random.Random`` takes 23 to 27 microseconds
    to copy, and most copies of an environment never draw.

    ``seed``: The same seed gives the same numbers on every machine.

    >>> chance = EpisodeRNG(7)
    >>> copied = chance.copy()
    >>> chance.draws.random() == copied.draws.random() == Random(7).random()
    True
    """

    __slots__ = ("_draws", "_seed", "_shared")

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._draws: Random | None = None  # made when first drawn from: games without chance never pay for it
        self._shared = False

    @property
    def draws(self) -> Random:
        """The generator to draw from; do not keep it over a `copy`."""
        if self._draws is None:
            self._draws = Random(self._seed)
        elif self._shared:
            own = Random()
            own.setstate(self._draws.getstate())
            self._draws = own
        self._shared = False
        return self._draws

    def copy(self) -> EpisodeRNG:
        """Chance that goes on from here by itself."""
        copied = EpisodeRNG.__new__(EpisodeRNG)
        copied._seed, copied._draws = self._seed, self._draws
        copied._shared = self._shared = self._draws is not None
        return copied
