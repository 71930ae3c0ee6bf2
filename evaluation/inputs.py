"""What is evaluated, what it is held against, and what is known of the methods: all that an evaluation reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from apportion.corpus.session import Episode, EpisodeKey
from apportion.evaluation.confidence_intervals.bootstrap import Missing
from apportion.evaluation.figures.global_loss import Residuals

TurnValues = Mapping[EpisodeKey, Sequence[float]]
"""Values of an episode's target turns, in their order."""
NOT_GIVEN = Missing("it was not computed")
Unjudged = Mapping[str, Collection[EpisodeKey]]
"""Method to the episodes that gave it nothing to judge by (no face, no reply)."""


@dataclass(frozen=True)
class SupportCount:
    """The sessions of which a method, or the local part of its objective, had something to judge by.

    ``training`` of ``training_sessions``, ``test`` of ``test_sessions``; rated sessions in which the target speaks.
    """

    method: str
    part: Literal["all", "local"]
    training: int
    training_sessions: int
    test: int
    test_sessions: int

    def text(self) -> str:
        """A note for below the tables."""
        training = f"{self.training:,} of {self.training_sessions:,} training sessions"
        if self.part == "local":
            return f"{self.method}: its local part rests on {training}; in the others it learns from the score alone."
        return (
            f"{self.method}: rests on {training}, and as a decomposition on {self.test:,} of {self.test_sessions:,} "
            "test sessions; the others hold nothing that it could judge by, so that they have no rewards."
        )


def rests_on(
    unjudged: Unjudged, unjudged_locally: Unjudged, training: Sequence[Episode], test: Sequence[Episode]
) -> tuple[SupportCount, ...]:
    """One a method that lacks some episode, sorted by name."""
    found = [_rests(name, "all", keys, training, test) for name, keys in unjudged.items() if keys]
    found += [_rests(name, "local", keys, training, test) for name, keys in unjudged_locally.items() if keys]
    return tuple(sorted(found, key=lambda rests: rests.method))


def _rests(
    name: str,
    part: Literal["all", "local"],
    unjudged: Collection[EpisodeKey],
    training: Sequence[Episode],
    test: Sequence[Episode],
) -> SupportCount:
    lacking = frozenset(unjudged)
    counts = []
    for episodes in (training, test):
        speaking = [episode for episode in episodes if episode.target_turns]
        counts.append(len({episode.session_id for episode in speaking if episode.key not in lacking}))
        counts.append(len({episode.session_id for episode in speaking}))
    return SupportCount(name, part, *counts)


@dataclass(frozen=True, eq=False)
class MethodValues:
    """The values of every method and of the reward models that they taught.

    ``scores``: REWARDS schema: ``reward`` is a reward model's r_theta(s_t, a_t); ``method`` is what it was taught by.
    ``rewards``: REWARDS schema: the decompositions themselves, projected onto the score. ``offsets``: Method to what
    its reward model adds to a session's summed rewards (the training mean, or 0). ``samples``: SAMPLES schema, of all
    splits; None where no method was asked more than once. ``residuals``: What is missing from the sums of a method's
    own values, one mapping a seed, as the projection tells it: it alone knows what a null counts as, and what a prompt
    was asked to hand out. Found from the values where it is not given.
    """

    scores: pa.Table
    rewards: pa.Table
    offsets: Mapping[str, float]
    samples: pa.Table | None = None
    residuals: Residuals = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What people did and said during the turns, and what was computed of them.

    ``utterance_features``: UTTERANCE_FEATURES schema, for the local difference; None without recordings.
    ``turn_labels``: For the agreement with people and, apart from it, with what was computed; None where there are
    none. ``frames``: FRAMES schema, for the local difference by the most probable emotion (``happiness_source =
    "mode"``). ``sentiment``: of the held-out turns' own texts. ``state_only``: what the dialogue before a held-out turn
    foretells of each reward model's values, learnt from training sessions, by method.
    """

    utterance_features: pa.Table | None = None
    turn_labels: pa.Table | None = None
    frames: pa.Table | None = None
    sentiment: TurnValues | Missing = NOT_GIVEN
    state_only: Mapping[str, TurnValues] | Missing = NOT_GIVEN


@dataclass(frozen=True)
class MethodRemarks:
    """What has to be known of the methods to read their figures.

    ``own_units``: Methods whose rewards are in units of their own: they are never called the best, and their local
    difference is compared with none. ``notes``: Sentences about the methods that are to stand below the tables.
    ``unjudged``, ``unjudged_locally``: Episodes that gave a method, or the local part of its objective, nothing to
    judge by: they are no failure, and the other methods are compared on them all the same.
    """

    own_units: Collection[str] = ()
    notes: Sequence[str] = ()
    unjudged: Unjudged = field(default_factory=dict)
    unjudged_locally: Unjudged = field(default_factory=dict)

    @property
    def partial(self) -> list[str]:
        """The methods that could judge some episodes alone."""
        return [name for name, episodes in self.unjudged.items() if episodes]
