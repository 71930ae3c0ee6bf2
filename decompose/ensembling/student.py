"""A student of a language model: what its judgements of a few sessions say of the rater's replies, for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import HISTORY
from apportion.corpus.session import EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling.component import Component, trust_in, turn_opinions
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.model import FittedReactionModel, judged_turns, standardised_features, standardising
from apportion.foundation.arrays import Floats, Null
from apportion.foundation.errors import UnitError

FEWEST = 3
"""Judged sessions below which there is nothing to learn from, since one of them is left out."""
LEAST = 0.5
"""The part of the chosen sessions that have to be judged: a choice is spread over scores, and the first few of it are
not."""
PENALTIES = 10.0 ** np.arange(-1, 3.1, 0.5)
"""Tried for the penalty, in units of the mean squared singular value of the judged turns' reactions."""


@dataclass(frozen=True, eq=False)
class Student:
    """What judgements taught: a reaction with the numbers x is worth ((x - centre) / scale - mean) . weights + bias.

    - ``centre``, ``scale`` (float64 [shape=(F,)]): Of the reactions to all training turns, as in
      `apportion.decompose.reactions.model.ReactionModel`.
    - ``mean``, ``weights`` (float64 [shape=(F,)])
    - ``bias`` (float): The mean judgement, in whose units values are.
    - ``penalty`` (float): The one of least left-out error.
    - ``explained`` (float): R^2 of the judgements of sessions that were left out one at a time; below 0 the student
      knows nothing.
    - ``left_out`` (mapping of EpisodeKey to float64 [shape=(T,)]): What a student that had not read a session's own
      judgements says of its turns.
    """

    centre: Floats
    scale: Floats
    mean: Floats
    weights: Floats
    bias: float
    penalty: float
    explained: float
    left_out: Mapping[EpisodeKey, Floats]

    def values(self, reactions: Reactions) -> Floats:
        """The worth of every turn [shape=(N,)]."""
        worth: Floats = (standardised_features(reactions, self.centre, self.scale) - self.mean) @ self.weights
        return worth + self.bias


def learn_student(
    reactions: Reactions, judged: Mapping[EpisodeKey, Floats], training: frozenset[str], asked: int | None = None
) -> Student:
    """Learn what a reaction is worth from a language model's judgements of turns.

    Ridge regression of judgements on the reactions to the judged turns, which keep their level from session to session.
    The penalty is the one of least error on sessions that are left out one at a time, without a second fit: with the
    hat matrix H, the left-out errors of a session are (I - H_ss)^-1 times its residuals. Scores and turn labels are not
    arguments.

    ``judged`` [shape=(T,)] are the language model's values, NaN where it said nothing; only those of the ``training``
    sessions teach, and reactions are standardised over them. ``asked`` is how many sessions were chosen to be judged
    for all; None where all are to be.

    Raises UnitError: Fewer than three judged sessions train, or fewer than half of those chosen; or their judgements
    never vary.
    """
    offsets = reactions.offsets
    trains = np.array([episode.session_id in training for episode in reactions.episodes], dtype=np.bool_)
    taught = [
        (place, np.asarray(judged[episode.key], dtype=np.float64))
        for place, episode in enumerate(reactions.episodes)
        if trains[place] and episode.key in judged and np.isfinite(judged[episode.key]).any()
    ]
    _check_enough(len({reactions.episodes[place].session_id for place, _ in taught}), asked)
    centre, scale = standardising(reactions, np.repeat(trains, np.diff(offsets)))
    features = standardised_features(reactions, centre, scale)
    rows = [offsets[place] + np.flatnonzero(np.isfinite(values)) for place, values in taught]
    targets = np.concatenate([values[np.isfinite(values)] for _, values in taught])
    if np.ptp(targets) <= 1e-9 * max(1.0, float(np.abs(targets).max())):
        raise UnitError(
            f"all {len(targets)} judgements of the sessions that train are alike, so that there is nothing to learn "
            "from them. Ask another model, or with another prompt."
        )
    sizes = [len(of) for of in rows]
    x, bias = features[np.concatenate(rows)], float(targets.mean())
    mean, y = x.mean(axis=0), targets - bias
    weights, penalty, errors = _ridge(x - mean, y, sizes)
    explained = 1.0 - float(errors @ errors) / float(y @ y)
    left_out = {}
    for (place, values), predicted in zip(taught, _parts(targets - errors, sizes), strict=True):
        own = (features[offsets[place] : offsets[place + 1]] - mean) @ weights + bias
        own[np.isfinite(values)] = predicted
        left_out[reactions.episodes[place].key] = own
    return Student(centre, scale, mean, weights, bias, penalty, explained, left_out)


def _check_enough(judged: int, asked: int | None) -> None:
    if judged < FEWEST:
        raise UnitError(
            f"a student of a language model needs at least {FEWEST} training sessions that it judged, and there are "
            f"{judged}. Raise decompose.llm.max_sessions, or look for what became of the judgements in the "
            "quarantine table."
        )
    if asked is not None and judged < LEAST * asked:
        raise UnitError(
            f"a student of a language model needs judgements of at least half of the {asked} sessions that were chosen "
            f"for it, and there are {judged}. Run the same command again with a higher --budget, which asks about the "
            "rest alone, lower decompose.llm.max_sessions, or look for what became of the judgements in the "
            "quarantine table."
        )


def _parts(values: Floats, sizes: list[int]) -> list[Floats]:
    return np.split(values, np.cumsum(sizes)[:-1])


def _ridge(x: Floats, y: Floats, sizes: list[int]) -> tuple[Floats, float, Floats]:
    """Weights (F,), the penalty, and each row's error with its session left out [shape=(N,)]."""
    left, singular, right = np.linalg.svd(x, full_matrices=False)
    power = singular**2
    scale = float(power.mean()) or 1.0
    along, starts = left.T @ y, np.cumsum([0, *sizes])
    best: tuple[float, float, Floats] | None = None
    for penalty in PENALTIES * scale:
        shrink = power / (power + penalty)
        residuals = y - left @ (shrink * along)
        errors = np.empty_like(y)
        for start, end in pairwise(starts):
            own = left[start:end]
            # The intercept's share of the leverage is 1 / N, as in a ridge with a free one.
            hat = (own * shrink) @ own.T + 1.0 / len(y)
            errors[start:end] = np.linalg.solve(np.eye(end - start) - hat, residuals[start:end])
        loss = float(errors @ errors)
        if best is None or loss < best[0]:
            best = (loss, float(penalty), errors)
    assert best is not None
    weights: Floats = right.T @ (singular / (power + best[1]) * along)
    return weights, best[1], best[2]


def student_source(
    name: str,
    reactions: Reactions,
    judged: Mapping[EpisodeKey, Floats],
    training: frozenset[str],
    asked: int | None = None,
) -> tuple[Component, Student]:
    """The student as an opinion on every target turn; NaN where nobody replied.

    A session that taught it has what a student says that had not read the session's own judgements, so that neither
    they nor a score that the language model was shown stand in its values.

    Raises UnitError: As `learn_student`.
    """
    student = learn_student(reactions, judged, training, asked)
    said = np.where(reactions.replied, student.values(reactions), np.nan)
    values, replied = reactions.by_episode(said), reactions.by_episode(reactions.replied)
    values |= {key: np.where(replied[key], own, np.nan) for key, own in student.left_out.items()}
    judged_dialogues = len({key[0] for key in student.left_out})
    return Component(name, values, reads_replies=True, trust=trust_in(judged_dialogues)), student


def fit_student(
    method: str,
    episodes: SplitEpisodes,
    table: pa.Table,
    judgements: pa.Table,
    seed: int,
    null: Null,
    features: pa.Table | None = None,
    asked: int | None = None,
) -> FittedReactionModel:
    """Judge every target turn as a student of a language model does that judged some training sessions.

    ``table`` is `apportion.decompose.reactions.extract.read_session` of all sessions, ``judgements`` (REWARDS) what the
    language model judged, ``null`` what a null of those counts as, ``features`` UTTERANCE_FEATURES; ``seed`` is written
    into the table, and nothing is drawn. ``asked`` and what is raised are `learn_student`'s.

    Returns judgements in the language model's units, null for a turn that nobody replied to. The history says how many
    sessions taught it, and how much of left-out ones' judgements it explains.
    """
    reactions = arrange(table, episodes.all, features)
    judged = turn_opinions(judgements, episodes.all, null)
    source, student = student_source(method, reactions, judged, episodes.sessions("train"), asked)
    values = np.concatenate([source.values[episode.key] for episode in reactions.episodes])
    told = {
        "judged sessions": float(len({key[0] for key in student.left_out})),
        "R^2 of left-out judgements": student.explained,
    }
    steps = [{"step": 1, "metric": name, "value": value} for name, value in told.items()]
    return FittedReactionModel(
        judged_turns(method, seed, reactions.episodes, values), pa.Table.from_pylist(steps, schema=HISTORY.arrow)
    )
