"""A student of a language model or of people: what they say of a few sessions' turns, carried to all by the replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import HISTORY
from apportion.corpus.session import EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling.component import Component, trust_in
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.model import (
    TALL,
    FittedReactionModel,
    LinearWorth,
    judged_turns,
    of_products,
    standardised_features,
    standardising,
)
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError

_T = TypeVar("_T")
FEWEST = 3
"""Judged sessions below which there is nothing to learn from, since one of them is left out."""
LEAST = 0.5
"""The part of the chosen sessions that have to be judged: a choice is spread over scores, and the first few of it are
not."""
PENALTIES = 10.0 ** np.arange(-1, 3.1, 0.5)
"""Tried for the penalty, in units of the mean squared singular value of the judged turns' reactions."""


@dataclass(frozen=True)
class Teacher:
    """Who judged, as errors tell it: what is needed of it, what to do where it is too little, or all alike.

    ``within``: only differences within a dialogue teach, since each person has a level of her own in each.
    """

    needs: str
    more: str
    others: str
    within: bool = False


LLM = Teacher(
    "a student of a language model needs at least {fewest} training sessions that it judged, and there are {judged}",
    "Raise decompose.llm.max_sessions, or look for what became of the judgements in the quarantine table.",
    "Ask another model, or with another prompt.",
)
PEOPLE = Teacher(
    "a student of people needs labels of turns with a reply in at least {fewest} training sessions, and there are "
    "{judged}",
    "Label more: `apportion label serve CORPUS`, then `apportion label merge`. Sessions of validation and test teach "
    "nothing, and of labels with several names evaluate.label says which teach.",
    "Label other sessions, on a finer scale: `apportion label serve CORPUS`.",
    within=True,
)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a student is taught.

    ``judged`` [shape=(T,)] are values of target turns, NaN where nothing was said; ``asked`` is how many sessions were
    chosen to be judged for all, None where all are to be.
    """

    judged: Mapping[EpisodeKey, Floats]
    teacher: Teacher = LLM
    asked: int | None = None


@dataclass(frozen=True, eq=False)
class Student:
    """What judgements taught.

    - ``worth``: Of a reaction, its bias the mean judgement, in whose units values are; reactions are standardised over
      all training turns, as in `apportion.decompose.reactions.model.ReactionModel`.
    - ``penalty`` (float): The one of least left-out error.
    - ``explained`` (float): R^2 of the judgements of sessions that were left out one at a time; below 0 the student
      knows nothing.
    - ``left_out`` (mapping of EpisodeKey to float64 [shape=(T,)]): What a student that had not read a session's own
      judgements says of its turns.
    """

    worth: LinearWorth
    penalty: float
    explained: float
    left_out: Mapping[EpisodeKey, Floats]


def learn_student(reactions: Reactions, lesson: Lesson, training: frozenset[str]) -> Student:
    """Learn what a reaction is worth from judgements of turns, by a language model or by people.

    Ridge regression of judgements on the reactions to the judged turns, which keep their level from session to session,
    but for people's (`Teacher`). The penalty is the one of least error on sessions that are left out one at a time,
    without a second fit: with the hat matrix H, the left-out errors of a session are e_s = (I - H_ss)^-1 times its
    residuals, and what the others teach is w - (X'X + penalty)^-1 X_s' e_s. Scores are not arguments. Only the
    ``training`` sessions teach, and reactions are standardised over them.

    Raises UnitError: Fewer than three judged sessions train, or fewer than half of those chosen; or their judgements
    never vary.
    """
    offsets, judged = reactions.offsets, lesson.judged
    trains = np.array([episode.session_id in training for episode in reactions.episodes], dtype=np.bool_)
    taught = [
        (place, np.asarray(judged[episode.key], dtype=np.float64))
        for place, episode in sorted(enumerate(reactions.episodes), key=lambda one: one[1].session_id)
        if trains[place] and episode.key in judged and np.isfinite(judged[episode.key]).any()
    ]
    # Several raters of one session have the same turns: they are left out together.
    together = list(Counter(reactions.episodes[place].session_id for place, _ in taught).values())
    _check_enough(len({reactions.episodes[place].session_id for place, _ in taught}), lesson)
    centre, scale = standardising(reactions, np.repeat(trains, np.diff(offsets)))
    rows = [offsets[place] + np.flatnonzero(np.isfinite(values)) for place, values in taught]
    targets = np.concatenate([values[np.isfinite(values)] for _, values in taught])
    within, sizes, bias = lesson.teacher.within, [len(of) for of in rows], float(targets.mean())
    x = standardised_features(reactions, centre, scale, np.concatenate(rows))
    mean = x.mean(axis=0)
    y, means = _centred(x, targets, sizes, within)
    if np.ptp(y) <= 1e-9 * max(1.0, float(np.abs(targets).max())):
        raise UnitError(
            f"all {len(targets)} judgements of the sessions that train are alike{' within each' if within else ''}, so "
            f"that there is nothing to learn from them. {lesson.teacher.others}"
        )
    # Where a person's level counts for nothing, there is none to be fitted either.
    intercept = 0.0 if within else 1.0 / len(y)
    of_session = [sum(of) for of in _grouped(sizes, together)]
    weights, penalty, errors, root = _ridge(x, y, of_session, intercept)
    explained = 1.0 - float(errors @ errors) / float(y @ y)
    left_out = {}
    episodes = _grouped(list(zip((place for place, _ in taught), means, strict=True)), together)
    for raters, own, missed in zip(episodes, _parts(x, of_session), _parts(errors, of_session), strict=True):
        others = weights - root.T @ (root @ (own.T @ missed))
        for place, level in raters:
            turns = standardised_features(reactions, centre, scale, slice(*offsets[place : place + 2])) - level
            left_out[reactions.episodes[place].key] = turns @ others + bias - intercept * missed.sum()
    return Student(LinearWorth(centre, scale, mean, weights, bias), penalty, explained, left_out)


def _check_enough(judged: int, lesson: Lesson) -> None:
    if judged < FEWEST:
        needs = lesson.teacher.needs.format(fewest=FEWEST, judged=judged)
        raise UnitError(f"{needs}. {lesson.teacher.more}")
    if lesson.asked is not None and judged < LEAST * lesson.asked:
        raise UnitError(
            f"a student of a language model needs judgements of at least half of the {lesson.asked} sessions that were "
            f"chosen for it, and there are {judged}. Run the same command again with a higher --budget, which asks "
            "about the rest alone, lower decompose.llm.max_sessions, or look for what became of the judgements in the "
            "quarantine table."
        )


def _centred(x: Floats, y: Floats, sizes: list[int], within: bool) -> tuple[Floats, list[Floats]]:
    """Take from x, in place, its means, of each session by itself (``within``) or of all; y less its own, and x's."""
    means = [of.mean(axis=0) for of in _parts(x, sizes)] if within else [x.mean(axis=0)] * len(sizes)
    levels = [of.mean() for of in _parts(y, sizes)] if within else [y.mean()] * len(sizes)
    for of, its_mean in zip(_parts(x, sizes), means, strict=True):
        of -= its_mean
    return y - np.repeat(levels, sizes), means


def _grouped(values: list[_T], sizes: list[int]) -> list[list[_T]]:
    rest = iter(values)
    return [list(islice(rest, size)) for size in sizes]


def _parts(values: Floats, sizes: list[int]) -> list[Floats]:
    return np.split(values, np.cumsum(sizes)[:-1])


def _ridge(x: Floats, y: Floats, sizes: list[int], intercept: float) -> tuple[Floats, float, Floats, Floats]:
    """Weights (F,), the penalty, each row's error with its session left out [shape=(N,)], and a root R of
    (X'X + penalty)^-1 = R'R for what rows span; ``intercept`` is its share of every leverage: 1 / N, or 0 for none."""
    left, singular, right = _decomposed(x)
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
            hat = (own * shrink) @ own.T + intercept
            errors[start:end] = np.linalg.solve(np.eye(end - start) - hat, residuals[start:end])
        loss = float(errors @ errors)
        if best is None or loss < best[0]:
            best = (loss, float(penalty), errors)
    assert best is not None
    weights: Floats = right.T @ (singular / (power + best[1]) * along)
    return weights, best[1], best[2], right / np.sqrt(power + best[1])[:, None]


def _decomposed(x: Floats) -> tuple[Floats, Floats, Floats]:
    """The singular value decomposition of x; of many rows by X'X."""
    if len(x) <= TALL * x.shape[1]:
        found: tuple[Floats, Floats, Floats] = np.linalg.svd(x, full_matrices=False)
        return found
    singular, right, onto = of_products(x.T @ x)
    return x @ onto, singular, right


def student_source(
    name: str, reactions: Reactions, lesson: Lesson, training: frozenset[str]
) -> tuple[Component, Student]:
    """The student as an opinion on every target turn; NaN where nobody replied.

    A session that taught it has what a student says that had not read the session's own judgements, so that neither
    they nor a score that the language model was shown stand in its values. People's labels of such sessions go along.

    Raises UnitError: As `learn_student`.
    """
    student = learn_student(reactions, lesson, training)
    said = np.where(reactions.replied, student.worth.values(reactions), np.nan)
    values, replied = reactions.by_episode(said), reactions.by_episode(reactions.replied)
    values |= {key: np.where(replied[key], own, np.nan) for key, own in student.left_out.items()}
    judged_dialogues = len({key[0] for key in student.left_out})
    labels = {key: lesson.judged[key] for key in student.left_out} if lesson.teacher is PEOPLE else {}
    return Component(
        name, values, reads_replies=True, trust=trust_in(judged_dialogues), labels=labels, worth=student.worth
    ), student


def fit_student(
    method: str,
    episodes: SplitEpisodes,
    table: pa.Table,
    lesson: Lesson,
    seed: int,
    features: pa.Table | None = None,
) -> FittedReactionModel:
    """Judge every target turn as a student does of who judged some training sessions.

    ``table`` is `apportion.decompose.reactions.extract.read_session` of all sessions, ``features`` UTTERANCE_FEATURES;
    ``seed`` is written into the table, and nothing is drawn. What is raised is `learn_student`'s.

    Returns judgements in the teacher's units, null for a turn that nobody replied to. The history says how many
    sessions taught it, and how much of left-out ones' judgements it explains.
    """
    reactions = arrange(table, episodes.all, features)
    source, student = student_source(method, reactions, lesson, episodes.sessions("train"))
    values = np.concatenate([source.values[episode.key] for episode in reactions.episodes])
    told = {
        "judged sessions": float(len({key[0] for key in student.left_out})),
        "R^2 of left-out judgements": student.explained,
    }
    steps = [{"step": 1, "metric": name, "value": value} for name, value in told.items()]
    judged, history = judged_turns(method, seed, reactions.episodes, values), pa.Table.from_pylist(steps, HISTORY.arrow)
    return FittedReactionModel(judged, history, learnt={"worth": student.worth.to_json()})
