"""What a method that simulates would play on, listed before anything is: by letting it judge plays worth nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.corpus.session import Episode
from apportion.decompose.method import Method
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.episode_restorer import TerminalState


@dataclass(frozen=True)
class History:
    """H(S) of ``target``, of its turns those ``kept``, played on once for each seed; none: scored as it stands."""

    target: str
    kept: frozenset[int]
    seeds: tuple[int, ...] = ()


@dataclass
class _Listing:
    """A `Playable` that plays nothing and remembers what it was asked for."""

    scores: dict[str, float | None]
    histories: list[History] = field(default_factory=list)

    def play_on(self, target: str, kept: Collection[int], seeds: Sequence[int]) -> list[TerminalState]:
        self.histories.append(History(target, frozenset(kept), tuple(seeds)))
        return [self._ending() for _ in seeds]

    def as_it_stands(self, target: str, kept: Collection[int]) -> TerminalState:
        self.histories.append(History(target, frozenset(kept)))
        return self._ending()

    def _ending(self) -> TerminalState:
        return TerminalState(self.scores, ranges=dict.fromkeys(self.scores, (0.0, 1.0)))


def histories_of(method: Method, episode: Episode, settings: DecomposeSettings) -> list[History]:
    """The histories whose plays ``method`` would ask for to judge an episode, in its order.

    A method that chooses them by what earlier ones were worth lists what it would ask where all are worth nothing.

    Raises UnitError: It cannot judge such an episode whatever its plays are worth: a budget that is too small.
    """
    scores: dict[str, float | None] = defaultdict(float, dict.fromkeys(settings.savoir.weights or (), 0.0))
    scores[episode.rating.name] = 0.0
    listing = _Listing(scores)
    judge: Any = method.resolve()
    judge(episode, None, settings, None, listing)
    return listing.histories
