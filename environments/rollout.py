"""What a coalition of one target's acts is worth: its history played on to the end, J times (SAVOIR, section 3.2).

How to use it::

    restored = SIMULATOR.restore(session, folder, complete)       # any apportion.environments.episode_restorer.Rollable
    turns = restored.turns_of("Ann Lee")
    rollouts = Rollouts(restored, "Ann Lee", turns, Utility({"GOAL": 1.0}), rollouts=2)
    rollouts.played_on(frozenset({0, 2}))                        # with her first and third act: two utilities
    shapley_values(rollouts.played_on, len(turns))               # decompose.shapley.values
    shapley_values(Together(rollouts.all_played_on), len(turns)) # the same beside each other: decompose.shapley.worth

The histories H(S) themselves are `apportion.environments.restored_episode`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from apportion.environments.concurrent_rollouts import side_by_side
from apportion.environments.episode_restorer import Rollable, TerminalState
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

PAPER_WEIGHTS: Mapping[str, float] = {"GOAL": 0.5, "REL": 0.3, "KNO": 0.2}
"""Of SAVOIR's utility (Appendix D)."""
HIGHEST = 10.0
"""Of a dimension that is ``scaled``."""
_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class RolloutUtility:
    """The weighted sum of a play's scores: U of SAVOIR, Eq. 3.

    ``weights``: By dimension; `PAPER_WEIGHTS` are the paper's. ``scaled``: Whether each dimension is brought from its
    range to 0 to 10 first. As printed they are not: relationship, from -5 to 5, then counts as much as its weight says
    of a scale as wide, and less than nothing where it is bad. Raises InputError: No weight, or one that is not finite.

    >>> RolloutUtility(PAPER_WEIGHTS).of(TerminalState({"GOAL": 8.0, "REL": -2.0, "KNO": 3.0}))
    4.0
    """

    weights: Mapping[str, float]
    scaled: bool = False

    def __post_init__(self) -> None:
        if not self.weights:
            raise InputError("a utility without weights: name a dimension at least, as GOAL = 1")
        for name, weight in self.weights.items():
            if not math.isfinite(weight):
                raise InputError(f"a utility's weight of {name} is {weight}; it must be a finite number")

    def of(self, ending: TerminalState) -> float | None:
        """The utility of one play; None where a dimension is missing: the others' weights are never stretched.

        Raises UnitError: The environment has no such dimension, a score is not finite, or `scaled` needs a range that
        there is none.
        """
        total = 0.0
        for name, weight in self.weights.items():
            if name not in ending.scores:
                hint = did_you_mean(name, ending.scores, f"there are {', '.join(ending.scores)}")
                raise UnitError(f"the utility weighs {name!r}, which nobody scores here; {hint}")
            score = ending.scores[name]
            if score is None:
                return None
            if not math.isfinite(score):
                raise UnitError(f"{name} is {score}; a score is a finite number, or None where it is not known")
            total += weight * (self._scaled(name, score, ending) if self.scaled else score)
        return total

    def missing(self, ending: TerminalState) -> list[str]:
        """The weighted dimensions that a play has no score in."""
        return [name for name in self.weights if ending.scores.get(name) is None]

    @staticmethod
    def _scaled(name: str, score: float, ending: TerminalState) -> float:
        low, high = ending.ranges.get(name, (0.0, 0.0))
        if not low < high:
            raise UnitError(f"{name} cannot be scaled: its environment does not say from where to where it goes")
        return HIGHEST * (score - low) / (high - low)


@dataclass
class RolloutOutcome:
    """What playing on has come to so far, for whoever tells what a value rests on.

    ``plays`` went on after a history, of ``acts`` acts in all; ``ended`` coalitions had nothing left to play;
    ``dropped`` counts acts of histories that the rules did not allow without those left out.
    """

    coalitions: int = 0
    plays: int = 0
    ended: int = 0
    acts: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class Rollouts:
    """The worth of coalitions of one target's acts; players are the places 0 to n - 1 of ``turns``.

    ``played``: The session. ``target``: Whose acts they are. ``turns``: The n turns of the session that are credited,
    in their order. ``utility``: Of one play. ``rollouts``: J, at least 1. ``seed``: Of everything that is drawn after a
    history. ``common_random_numbers``: Whether play j of every coalition draws by the same seed, so that what differs
    between coalitions is what was left out and not luck. ``at_once``: Plays beside each other, where many coalitions
    are asked for and playing on waits for a server; the worths do not depend on it. Raises InputError: J below 1.
    """

    played: Rollable
    target: str
    turns: Sequence[int]
    utility: RolloutUtility
    rollouts: int = 2
    seed: int | str = 0
    common_random_numbers: bool = True
    at_once: int = 1
    so_far: RolloutOutcome = field(default_factory=RolloutOutcome)

    def __post_init__(self) -> None:
        if self.rollouts < 1:
            raise InputError(f"rollouts = {self.rollouts}: a coalition is played on once at least (J of SAVOIR, Eq. 2)")

    def played_on(self, coalition: frozenset[int]) -> list[float]:
        """The utilities (J,) of H(S) played on; J times the same where it has ended (Eq. 2 is their mean).

        Raises InputError: No play can succeed before a person changes something. Raises StoppedError: The budget of
        what is asked is used up. Raises UnitError: It cannot be played on, or a utility is missing or not finite.
        """
        return self._worth(coalition, self._play_on(coalition, self._seeds(coalition)))

    def as_it_stands(self, coalition: frozenset[int]) -> float:
        """The utility of H(S) when nobody goes on: what the acts contributed to what was, and not to what may come.

        Raises UnitError as `played_on`.
        """
        return self._standing(coalition, self._stand(coalition))

    def all_played_on(self, coalitions: Sequence[frozenset[int]]) -> list[list[float]]:
        """`played_on` of each (K coalitions, J utilities), beside each other where that saves waiting; raises as it.

        The first coalition that fails is told, after all have been played: what was paid is kept for the next time.
        """
        return self.all_plays([(coalition, 0) for coalition in coalitions])

    def all_plays(self, asked: Sequence[tuple[frozenset[int], int]]) -> list[list[float]]:
        """`all_played_on` of coalitions, each with which time it is asked about: another time draws by other seeds."""
        if not self._beside:
            return [
                self._worth(coalition, self._play_on(coalition, self._seeds(coalition, time)))
                for coalition, time in asked
            ]
        self._check_scored()
        plays = [(coalition, seed) for coalition, time in asked for seed in self._seeds(coalition, time)]
        ended = iter(
            self._done(lambda play: self._play_on(play[0], [play[1]]), plays, lambda play: self._last(play[0]))
        )
        endings = [[next(ended) for _ in range(self.rollouts)] for _ in asked]
        return [
            self._worth(coalition, [ending for one in of_one for ending in _raised(one)])
            for (coalition, _), of_one in zip(asked, endings, strict=True)
        ]

    def all_as_they_stand(self, coalitions: Sequence[frozenset[int]]) -> list[list[float]]:
        """`as_it_stands` of each, (K, 1); raises as `all_played_on`."""
        if not self._beside:
            return [[self.as_it_stands(coalition)] for coalition in coalitions]
        ended = self._done(self._stand, coalitions, self._last)
        return [[self._standing(c, _raised(ending))] for c, ending in zip(coalitions, ended, strict=True)]

    def _check_scored(self) -> None:
        """Raise UnitError where rules leave the utility of the session itself missing: before anybody is asked."""
        if getattr(self.played, "scored_for_nothing", False):
            whole = frozenset(range(len(self.turns)))
            self._utility(whole, self._stand(whole))

    @property
    def _beside(self) -> bool:
        return bool(getattr(self.played, "waits", False))

    def _done(
        self, work: Callable[[_Given], _Result], given: Sequence[_Given], first: Callable[[_Given], float]
    ) -> list[_Result | UnitError]:
        return side_by_side(work, given, self.at_once, first)

    def _last(self, coalition: frozenset[int]) -> float:
        return len(coalition) - len(self.turns)  # The more acts are left out, the more are to be played.

    def _play_on(self, coalition: frozenset[int], seeds: Sequence[int]) -> Sequence[TerminalState]:
        endings = self.played.play_on(self.target, self._kept(coalition), seeds)
        if len(endings) != len(seeds):
            raise UnitError(
                f"{self._where(coalition)}: {len(endings)} endings of {len(seeds)} plays. The environment's code "
                "must be corrected."
            )
        return endings

    def _stand(self, coalition: frozenset[int]) -> TerminalState:
        return self.played.as_it_stands(self.target, self._kept(coalition))

    def _worth(self, coalition: frozenset[int], endings: Sequence[TerminalState]) -> list[float]:
        going = [ending.acts for ending in endings if ending.acts]
        self.so_far.coalitions += 1
        self.so_far.ended += not going
        self.so_far.plays += len(going)
        self.so_far.acts += sum(going)
        self.so_far.dropped += endings[0].dropped
        return [self._utility(coalition, ending) for ending in endings]

    def _standing(self, coalition: frozenset[int], ending: TerminalState) -> float:
        self.so_far.coalitions += 1
        self.so_far.dropped += ending.dropped
        return self._utility(coalition, ending)

    def _utility(self, coalition: frozenset[int], ending: TerminalState) -> float:
        try:
            utility = self.utility.of(ending)
        except UnitError as error:
            raise UnitError(f"{self._where(coalition)}: {error}") from None
        if utility is None:
            why = f" ({ending.problem})" if ending.problem else ""
            raise UnitError(
                f"{self._where(coalition)}: {', '.join(self.utility.missing(ending))} is not known{why}, so that its "
                "utility is missing. Weigh dimensions that its judge scores, or let one judge that scores these."
            )
        return utility

    def _kept(self, coalition: frozenset[int]) -> set[int]:
        return {self.turns[player] for player in coalition}

    def _seeds(self, coalition: frozenset[int], time: int = 0) -> list[int]:
        whose = "" if self.common_random_numbers else sorted(self._kept(coalition))
        plays = range(time * self.rollouts, (time + 1) * self.rollouts)
        return [Random(f"{self.seed}/{self.target}/{whose}/{j}").getrandbits(31) for j in plays]

    def _where(self, coalition: frozenset[int]) -> str:
        return f"{self.target}'s turns {sorted(self._kept(coalition))} alone"


def _raised(result: _Result | UnitError) -> _Result:
    if isinstance(result, UnitError):
        raise result
    return result
