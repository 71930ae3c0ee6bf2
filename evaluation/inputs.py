"""What is evaluated, what it is held against, and what is known of the methods: all that an evaluation reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from apportion.evaluation.figures.sum_residual import Residuals
from apportion.evaluation.references.support import Unjudged


@dataclass(frozen=True, eq=False)
class MethodValues:
    """The values of every method and of the reward models that they taught.

    Parameters
    ----------
    scores : pa.Table
        REWARDS schema: ``reward`` is a reward model's r_theta(s_t, a_t); ``method`` is what it was taught by.
    rewards : pa.Table
        REWARDS schema: the decompositions themselves, projected onto the score.
    offsets : mapping of str to float
        Method to what its reward model adds to a session's summed rewards (the training mean, or 0).
    samples : pa.Table or None
        SAMPLES schema, of all splits; None where no method was asked more than once.
    residuals : mapping of str to sequence of mapping
        What is missing from the sums of a method's own values, one mapping a seed, as the projection tells it: it alone
        knows what a null counts as, and what a prompt was asked to hand out. Found from the values where it is not
        given.
    """

    scores: pa.Table
    rewards: pa.Table
    offsets: Mapping[str, float]
    samples: pa.Table | None = None
    residuals: Residuals = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What people did and said during the turns, and what was computed of them.

    Parameters
    ----------
    utterance_features : pa.Table or None
        UTTERANCE_FEATURES schema, for the local difference; None without recordings.
    turn_labels : pa.Table or None
        For the agreement with people and, apart from it, with what was computed; None where there are none.
    frames : pa.Table or None
        FRAMES schema, for the local difference by the most probable emotion (``happiness_source = "mode"``).
    """

    utterance_features: pa.Table | None = None
    turn_labels: pa.Table | None = None
    frames: pa.Table | None = None


@dataclass(frozen=True)
class MethodRemarks:
    """What has to be known of the methods to read their figures.

    Parameters
    ----------
    own_units : collection of str
        Methods whose rewards are in units of their own: they are never called the best, and their local difference is
        compared with none.
    notes : sequence of str
        Sentences about the methods that are to stand below the tables.
    unjudged, unjudged_locally : mapping of str to collection of EpisodeKey
        Episodes that gave a method, or the local part of its objective, nothing to judge by: they are no failure, and
        the other methods are compared on them all the same.
    """

    own_units: Collection[str] = ()
    notes: Sequence[str] = ()
    unjudged: Unjudged = field(default_factory=dict)
    unjudged_locally: Unjudged = field(default_factory=dict)

    @property
    def partial(self) -> list[str]:
        """The methods that could judge some episodes alone."""
        return [name for name, episodes in self.unjudged.items() if episodes]
