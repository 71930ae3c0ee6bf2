"""Reaction-aware decomposition: a turn is worth what the rater's reaction to it tells of the session's score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.files.tablefile import turn_table
from apportion.corpus.schema import HISTORY
from apportion.corpus.session import Episode, EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.arrays import ROWS_AT_ONCE, Floats, added
from apportion.foundation.errors import UnitError

PENALTIES = 10.0 ** np.arange(-2, 4.1, 0.5)
"""Tried for the penalty, in units of the mean squared singular value of the pooled features."""
TALL = 8
"""Rows for a column from which on they are many."""
Blocks = Callable[[], Iterable[Floats]]
"""A table [shape=(N, F)] some rows at a time, as often as it is asked for."""


@dataclass(frozen=True, eq=False)
class PooledRidge:
    """A turn with features x is worth ``(x - mean) @ weights``.

    ``left_out`` [shape=(S,)] foretells each session's score by the ridge of all others, and ``loss`` is the mean of its
    squared errors. ``evidence`` [shape=(P,)] is the log evidence of each penalty less that of no effect at all, and
    ``settled`` [shape=(P,)] the share of the turns' variance within dialogues whose worth the scores settle under it.
    """

    weights: Floats
    mean: Floats
    penalty: float
    loss: float
    left_out: Floats
    evidence: Floats
    settled: Floats

    def values(self, features: Floats) -> Floats:
        """The value of each turn, in units of the score [shape=(N, F) -> (N,)]."""
        worth: Floats = (features - self.mean) @ self.weights
        return worth


def pooled(features: Floats, pooling: Floats, offsets: Sequence[int]) -> Floats:
    """The weighted mean of each session's turns [shape=(N, F), (N,), (S + 1,) -> (S, F)]; no session is empty."""
    starts = np.asarray(offsets[:-1], dtype=np.int64)
    sums = np.add.reduceat(features * pooling[:, None], starts, axis=0)
    means: Floats = sums / np.add.reduceat(pooling, starts)[:, None]
    return means


def fit(features: Floats | Blocks, scores: Floats, turns: Iterable[Floats] = ()) -> PooledRidge:
    """Ridge regression of ``scores`` on pooled ``features``, its penalty the one of least leave-one-out error.

    min_w sum_s (R_s - b - w . x_s)^2 + penalty |w|^2 with a free intercept b. The leave-one-out error needs no second
    fit: it is the residual over 1 - h, with h the leverage of the session (Allen's PRESS, 1974). As Bayes reads a
    ridge, w has a normal prior: s^2 / (s^2 + penalty) is the share of its variance that scores take away along a
    singular vector, and the noise's variance is integrated out of the evidence (MacKay, 1992).

    - ``features`` (float64 [shape=(S, F)]): Or some rows at a time, of many more sessions than columns.
    - ``scores`` (float64 [shape=(S,)]): With fewer than three sessions, or scores or features that never vary, all
      weights are zero.
    - ``turns`` (iterable of float64 [shape=(M, F)]): Those turns, less the mean of their dialogue, some at a time; what
      is settled is 0 without them.
    """
    centred = scores - scores.mean()
    mean, lefts, singular, right = _summed(features, len(scores)) if callable(features) else _decomposed(features)
    power = singular**2
    scale = float(power.mean()) if power.size else 0.0
    if len(scores) < 3 or np.ptp(scores) == 0 or scale <= 1e-12:
        others = scores - centred * len(scores) / max(1, len(scores) - 1)
        loss, nothing = float(np.mean(centred**2)), np.full(len(PENALTIES), -np.inf)
        return PooledRidge(np.zeros(len(mean)), mean, float("inf"), loss, others, nothing, 0 * PENALTIES)
    parts = partial(_beside, lefts, centred)
    along = sum(left.T @ of for left, of, _ in parts())
    spread, of_turns = np.zeros(len(power)), 0.0
    for block in turns:
        spread = added(spread, np.square(block @ right.T))
        of_turns += float(np.square(block).sum())
    spread = spread / max(1e-300, of_turns)
    evidence, settled, total = [], [], float(centred @ centred)
    penalties = PENALTIES * scale
    shrinks = [power / (power + penalty) for penalty in penalties]
    missed = np.empty((len(penalties), len(scores)))
    for left, of, rows in parts():
        squared = np.square(left)
        for row, shrink in zip(missed, shrinks, strict=True):
            row[rows] = (of - left @ (shrink * along)) / (1 - (1 / len(scores) + squared @ shrink))
    for penalty, shrink in zip(penalties, shrinks, strict=True):
        left_over = max(1e-12, 1 - float(shrink @ np.square(along)) / total)
        evidence.append(-0.5 * float(np.log1p(power / penalty).sum()) - (len(scores) - 1) / 2 * math.log(left_over))
        settled.append(float(spread @ shrink))
    losses = [float(np.mean(np.square(row))) for row in missed]
    best = min(range(len(losses)), key=losses.__getitem__)
    weights: Floats = right.T @ (singular / (power + penalties[best]) * along)
    return PooledRidge(
        weights,
        mean,
        float(penalties[best]),
        losses[best],
        scores - missed[best],
        np.array(evidence),
        np.array(settled),
    )


def _beside(lefts: Blocks, values: Floats) -> Iterator[tuple[Floats, Floats, slice]]:
    """Each block, the ``values`` of its rows, and which rows these are."""
    start = 0
    for left in lefts():
        rows = slice(start, start + len(left))
        start = rows.stop
        yield left, values[rows], rows


def _decomposed(features: Floats) -> tuple[Floats, Blocks, Floats, Floats]:
    """The mean of the rows, and U, s and V' of what they are apart from it."""
    mean = features.mean(axis=0)
    features = features - mean  # By the same name, so that nobody holds the other while a third is made.
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    return mean, lambda: [left], singular, right


def _summed(features: Blocks, rows: int) -> tuple[Floats, Blocks, Floats, Floats]:
    """`_decomposed` of so many rows, by sums over them."""
    total, products = np.zeros(1), np.zeros(1)
    for block in features():
        total, products = total + block.sum(axis=0), products + block.T @ block
    mean = total / rows
    singular, right, onto = of_products(products - rows * np.outer(mean, mean))
    return mean, lambda: ((block - mean) @ onto for block in features()), singular, right


def of_products(products: Floats) -> tuple[Floats, Floats, Floats]:
    """s and V' of X = U s V' with these X'X, and what X has to be multiplied by to give U: of many rows a tenth of the
    time. What that loses, the smallest directions, every penalty has shrunk to nothing."""
    power, directions = np.linalg.eigh(products)
    singular = np.sqrt(np.maximum(power[::-1], 0.0))
    right = directions.T[::-1]
    counted = singular > 1e-7 * singular[0]
    onto = np.where(counted, right.T / np.where(counted, singular, 1.0), 0.0)
    return np.where(counted, singular, 0.0), right, onto


EMBEDDING_SHARE = 4.0
"""Length of a reply's standardised embedding, whatever its width; cues weigh half each."""
CUE_SHARE = 0.5
FIRST = 0.1
"""Weight of a session's first target turn against the last one's 1.1."""


class FittedReactionModel(NamedTuple):
    """What a fit on a corpus gives.

    ``judgements`` (REWARDS schema) have ``raw_reward``; ``history`` (HISTORY schema) a metric's value at each step;
    ``sources`` (SOURCES schema) what a mix gave each of its sources; ``learnt`` is what was learnt, as JSON, by which
    other sessions can be judged (`apportion.decompose.corpus_methods.frozen`).
    """

    judgements: pa.Table
    history: pa.Table
    sources: pa.Table | None = None
    learnt: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class LinearWorth:
    """A reaction with the numbers x [shape=(F,)] is worth ((x - centre) / scale - mean) . weights + bias."""

    centre: Floats
    scale: Floats
    mean: Floats
    weights: Floats
    bias: float = 0.0

    def values(self, reactions: Reactions) -> Floats:
        """The worth of every turn [shape=(N,)]; raises UnitError where turns have more or fewer numbers than taught."""
        if reactions.width != len(self.centre):
            raise UnitError(
                f"reactions of {reactions.width} numbers a turn, and {len(self.centre)} taught what they are worth: "
                "other measurements of recordings than there were. Leave `frozen` out, so that all is learnt anew."
            )
        parts = [np.zeros(0)]
        for features in _blocks(reactions, np.arange(len(reactions.cues))):
            parts.append((_standardised(features, self.centre, self.scale) - self.mean) @ self.weights)
        worth: Floats = np.concatenate(parts)
        return worth + self.bias if self.bias else worth

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, which has no number for what is infinite."""
        lists = {name: getattr(self, name).tolist() for name in ("centre", "mean", "weights")}
        scale = [None if math.isinf(value) else value for value in self.scale.tolist()]
        return {**lists, "scale": scale, "bias": self.bias}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> LinearWorth:
        """What `to_json` gave, to the bit."""
        scale = [math.inf if value is None else value for value in told["scale"]]
        lists = {name: np.array(told[name], dtype=np.float64) for name in ("centre", "mean", "weights")}
        return cls(scale=np.array(scale, dtype=np.float64), bias=float(told["bias"]), **lists)


@dataclass(frozen=True, eq=False)
class ReactionModel:
    """What was learned: how a reaction is standardised, and what it is worth.

    ``late`` is the power by which later turns weigh more in the session's score; ``losses`` the leave-one-out error of
    each power that was tried, in squared units of the score; ``left_out`` foretells each training episode's score by
    what all others taught. ``settled`` are shares of the turns' variance whose worth the scores settle, one for each
    power and penalty, the last 0 for no effect at all; ``likely`` is how likely each is after the scores were seen,
    where before them no effect is as likely as all others together.
    """

    centre: Floats
    scale: Floats
    ridge: PooledRidge
    late: float
    losses: tuple[float, ...]
    left_out: Mapping[EpisodeKey, float]
    settled: Floats
    likely: Floats

    @property
    def worth(self) -> LinearWorth:
        """What a reaction is worth, in units of the score."""
        return LinearWorth(self.centre, self.scale, self.ridge.mean, self.ridge.weights)


def fit_reactions(
    method: str,
    episodes: SplitEpisodes,
    table: pa.Table,
    settings: ReactionSettings,
    seed: int,
    features: pa.Table | None = None,
) -> FittedReactionModel:
    """Learn from the training sessions' scores what a reaction is worth, and judge every target turn by it.

    The model is w . x_t, with x_t the reply's embedding, its cues and the rater's behaviour; a session's score is the
    mean of w . x_t over its turns, a turn at the place p from 0 to 1 weighing (0.1 + p)^late. So w is a ridge
    regression of scores on pooled reactions: closed, without epochs or random numbers; its penalty and ``late`` are
    those of least exact leave-one-out error of the session scores. Turn labels are not an argument.

    ``table`` is `apportion.decompose.reactions.extract.read_session` of all sessions, ``features`` UTTERANCE_FEATURES
    (None without recordings); ``seed`` is written into the table, and every seed gives the same values.

    Returns judgements in units of the score, null for a turn that nobody replied to; the steps of the history are the
    powers ``late``, from 1.

    Raises UnitError: No training session, or a score that is not finite.
    """
    reactions = arrange(table, episodes.all, features)
    model = learn(reactions, episodes.sessions("train"), settings)
    judged = judged_turns(
        method, seed, reactions.episodes, np.where(reactions.replied, model.worth.values(reactions), np.nan)
    )
    steps = [{"step": i, "metric": "leave-one-out loss", "value": loss} for i, loss in enumerate(model.losses, 1)]
    history = pa.Table.from_pylist(steps, schema=HISTORY.arrow)
    return FittedReactionModel(judged, history, learnt={"worth": model.worth.to_json()})


def judged_turns(method: str, seed: int, episodes: Sequence[Episode], values: Floats) -> pa.Table:
    """Judgements as a table (REWARDS schema with ``raw_reward``).

    - ``values`` (float64 [shape=(N,)]): One a target turn, episode after episode; NaN, null in the table, where there
      is nothing to say.
    """
    keys, turns = [episode.key for episode in episodes], [turn for episode in episodes for turn in episode.target_turns]
    said = {"raw_reward": pa.array(values, from_pandas=True)}
    return turn_table(keys, [len(episode.target_turns) for episode in episodes], turns, said, method, seed)


def learn(reactions: Reactions, sessions: frozenset[str], settings: ReactionSettings) -> ReactionModel:
    """What a reaction is worth, by the scores of ``sessions`` alone (see `fit_reactions`)."""
    training = [i for i, episode in enumerate(reactions.episodes) if episode.session_id in sessions]
    if not training:
        raise UnitError(
            "no training session has turns of its target to learn from. Give split.train a larger share, or look for "
            "what kept the sessions out in the quarantine table."
        )
    offsets = reactions.offsets
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in training])
    centre, scale = standardising(reactions, rows)
    scores = np.array([reactions.episodes[i].score for i in training], dtype=np.float64)
    _check(scores, [reactions.episodes[i] for i in training])

    def dialogues() -> Iterator[tuple[Floats, list[int]]]:
        """The training turns, whole dialogues at a time, and where each of these begins and the last one ends."""
        for some in _some(training, np.diff(offsets)):
            turns = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in some])
            starts = np.cumsum([0, *(offsets[i + 1] - offsets[i] for i in some)])
            yield _standardised(_features(reactions, turns), centre, scale), starts.tolist()

    def turns() -> Iterator[Floats]:
        for features, starts in dialogues():
            features -= np.repeat(pooled(features, np.ones(len(features)), starts), np.diff(starts), axis=0)
            yield features

    def means(late: float) -> Iterator[Floats]:
        for features, starts in dialogues():
            places = FIRST + np.concatenate([turn_places(int(n)) for n in np.diff(starts)])
            yield pooled(features, places**late, starts)

    # Of a hundred thousand dialogues the means alone are a quarter of a gigabyte.
    many = len(training) > TALL * reactions.width
    fitted = [
        fit(partial(means, late) if many else np.concatenate([*means(late)]), scores, turns())
        for late in settings.recency_weights
    ]
    losses = tuple(model.loss for model in fitted)
    best = int(np.argmin(losses))
    left_out = {reactions.episodes[i].key: float(of) for i, of in zip(training, fitted[best].left_out, strict=True)}
    evidence = np.concatenate([*(model.evidence for model in fitted), [math.log(len(fitted) * len(PENALTIES))]])
    likely = np.exp(evidence - evidence.max())
    return ReactionModel(
        centre, scale, fitted[best], settings.recency_weights[best], losses, left_out,
        np.concatenate([*(model.settled for model in fitted), [0.0]]), likely / likely.sum(),
    )  # fmt: skip


def standardising(reactions: Reactions, rows: NDArray[Any]) -> tuple[Floats, Floats]:
    """Where each number of a reaction is centred and what it is divided by, as ``rows`` of the turns have them.

    The centre is the mean of what is known, 0 where nothing is; a column that never varies becomes zero.
    """
    rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    nothing = np.zeros(reactions.width)
    known, total, mean, largest, squares = nothing.astype(np.int64), nothing, nothing, nothing, nothing
    for features in _blocks(reactions, rows):
        there = ~np.isnan(features)
        known, total = known + there.sum(axis=0), added(total, np.where(there, features, 0.0))
    centre = total / np.maximum(known, 1)
    for features in _blocks(reactions, rows):
        filled = np.where(np.isnan(features), centre, features)
        largest, mean = np.maximum(largest, np.abs(filled).max(axis=0)), added(mean, filled)
    for features in _blocks(reactions, rows):
        filled = np.where(np.isnan(features), centre, features)
        squares = added(squares, np.square(filled - mean / len(rows)))
    sd = np.sqrt(squares / len(rows))
    varies = sd > 1e-9 * np.maximum(1.0, largest)
    share, width = np.full(reactions.width, CUE_SHARE), reactions.embeddings.shape[1]
    share[:width] = EMBEDDING_SHARE / np.sqrt(width)
    return centre, np.where(varies, np.where(varies, sd, 1.0) / share, np.inf)


def standardised_features(
    reactions: Reactions, centre: Floats, scale: Floats, rows: NDArray[np.int64] | slice = slice(None)
) -> Floats:
    """Embedding, cues and behaviour of turns (all, or ``rows``) side by side, standardised [shape=(N, F)]."""
    return _standardised(_features(reactions, rows), centre, scale)


def _features(reactions: Reactions, rows: NDArray[np.int64] | slice) -> Floats:
    return np.concatenate([reactions.embeddings[rows], reactions.cues[rows], reactions.behaviour[rows]], axis=1)


def _blocks(reactions: Reactions, rows: NDArray[np.int64]) -> Iterator[Floats]:
    """The numbers of some turns, a block [shape=(M, F)] at a time that is the caller's to change."""
    return (_features(reactions, rows[at : at + ROWS_AT_ONCE]) for at in range(0, len(rows), ROWS_AT_ONCE))


def _some(places: Sequence[int], turns: NDArray[np.int64]) -> Iterator[list[int]]:
    """The ``places`` of dialogues that have ``turns``, as many at a time as there is room for, or one."""
    some: list[int] = []
    room = ROWS_AT_ONCE
    for place in places:
        if some and turns[place] > room:
            yield some
            some, room = [], ROWS_AT_ONCE
        some.append(place)
        room -= turns[place]
    yield some


def _standardised(features: Floats, centre: Floats, scale: Floats) -> Floats:
    """What was not measured counts as the mean."""
    known: Floats = np.where(np.isnan(features), centre, features)
    known -= centre  # In place: of a large corpus a copy is a gigabyte.
    known /= scale
    return known


def turn_places(turns: int) -> Floats:
    """Where each of the T turns stands, from 0 to 1; a single one stands at the end."""
    return np.linspace(0.0, 1.0, turns) if turns > 1 else np.ones(1)


def _check(scores: Floats, episodes: Sequence[Episode]) -> None:
    for score, episode in zip(scores, episodes, strict=True):
        if not np.isfinite(score):
            raise UnitError(f"session {episode.session_id}: score {score}; it must be finite. Correct it in `ratings`.")
