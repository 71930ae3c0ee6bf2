"""From judgements to rewards whose sum is exact: what a prompt can only ask for (Eq. 4, LLM-GELI) is made so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.files.tablefile import Places, row_places
from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.corpus.session import Episode, EpisodeKey
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.method import Attribution, Method, Raw, Scale, ScoreUnits
from apportion.decompose.reply_parsing import LARGEST
from apportion.foundation.arrays import Floats, filled
from apportion.foundation.errors import InputError, UnitError

HIGHEST, MIDDLE = 10.0, 5.0
SAME = 1e-9
"""Values that differ by less than this part of their size differ by rounding only."""


def min_max(values: Floats) -> Floats:
    """``values`` [shape=(n,)] with the lowest as 0 and the highest as 10; all 5 where they are equal.

    Equal values leave the paper's step undefined (0 / 0). Sign and size are lost: a dialogue in which every act did
    harm looks like one in which every act helped.

    >>> min_max(np.array([0.4, 0.8, 1.5, 0.3])).round(2).tolist()
    [0.83, 4.17, 10.0, 0.0]
    """
    if are_equal(values):
        return np.full(values.shape, MIDDLE)
    return np.asarray(HIGHEST * ((values - values.min()) / np.ptp(values)))


def are_equal(values: Floats) -> bool:
    """Whether ``values`` [shape=(n,)] differ by no more than rounding; so does a single one, and none."""
    return not values.size or float(np.ptp(values)) <= SAME * max(1.0, float(np.max(np.abs(values))))


Indices = NDArray[np.int64]
Constraint = Literal["exact", "soft"]
"""Whether rewards are made to sum to R~, or stay the method's own numbers, as Eq. 4 of LLM-GELI leaves them."""
Rule = Literal["spread", "own", "share", "fraction", "soft", "soft share", "soft fraction", "min-max", "foretold"]
_FARTHEST = 1e4
"""How far a turn may lie from its dialogue's mean, in sd of (R - mean)/T; N training turns stay within sqrt(N)."""


@dataclass(frozen=True)
class Residual:
    """What is missing from the sum of one episode's own values, in units of the score: 0 for an exact answer."""

    session_id: str
    rater: str
    target: str
    name: str
    residual: float


@dataclass(frozen=True)
class Projection:
    """The constants that turned one method's judgements into rewards.

    ``score_offset`` is taken from every score before it is shared out. ``rule`` says where s, rewards a unit of
    judgement, comes from: ``spread`` (one of the corpus), ``own`` (1), ``share`` or ``fraction`` (of each episode),
    ``soft`` (values are rewards; ``soft share``, ``soft fraction``: s * a alone), ``foretold`` (1/T, nobody gave a
    score) or ``min-max`` (each episode's values on 0 to 10; ``equal`` are those whose values were all the same).
    ``spread`` is s where it is one number. ``residuals`` are R~ (R where the method hands out the score) less the sum
    of an episode's own values. ``unjudged`` are the episodes without any value, which have no rewards.
    """

    score_offset: float
    rule: Rule
    spread: float | None
    residuals: tuple[Residual, ...]
    unjudged: tuple[EpisodeKey, ...] = ()
    equal: tuple[EpisodeKey, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``unjudged`` and ``equal`` only where there are some."""
        document = asdict(self)
        for name in ("unjudged", "equal"):
            keys = [dict(zip(EPISODE_KEY, key, strict=True)) for key in document.pop(name)]
            document |= {name: keys} if keys else {}
        return document


@dataclass(frozen=True)
class _Table:
    """Judgements in the order of episodes and turns: N rows over E episodes.

    ``rows`` (N,) int64 are their places in the original table, ``episode`` (N,) int64 the episode of each, ``value``
    (N,) float64 the judgement j; ``judged`` lists the E episodes, ``unjudged`` those that were left out since all their
    turns are without a value.
    """

    judged: tuple[Episode, ...]
    rows: Indices
    episode: Indices
    value: Floats
    unjudged: tuple[EpisodeKey, ...]

    @property
    def turns(self) -> Floats:
        """T of each episode, (E,) float64."""
        return np.bincount(self.episode, minlength=len(self.judged)).astype(np.float64)

    def sums(self, values: Floats) -> Floats:
        """Sums of ``values`` (N,) within each episode, (E,) float64."""
        return np.bincount(self.episode, weights=values, minlength=len(self.judged)).astype(np.float64)

    def centred(self) -> Floats:
        """j less its episode's mean, (N,) float64."""
        return self.value - (self.sums(self.value) / self.turns)[self.episode]


def project(
    judgements: pa.Table,
    episodes: SplitEpisodes,
    target: Literal["relative", "score"],
    method: Method,
    constraint: Constraint = "exact",
) -> tuple[pa.Table, Projection]:
    """Map one method's judgements onto the scores: reward_t = R~/T + s * (j_t - mean j).

    R~ is the score less ``score_offset``, T counts the target turns. s is 1 for values in reward units; otherwise it
    gives rewards the spread within dialogues that (R - training mean)/T has between them: s = sd over training episodes
    of (R - mean)/T, over the pooled sd of j within them; 0 where j never varies, and never so large that a turn would
    lie 10,000 of these sd from its dialogue's mean. A turn without a value counts as ``method.scale.null`` says; an
    episode without any value gets no rewards.

    Attributions a (Sotopia-RL), amounts of contribution whichever way it went, share out the score less the lower end
    of its scale, R~ >= 0, so that a larger one is never worse. Their s is each episode's own: ``share``, R~ / sum of a
    (equal shares where all a are zero); ``fraction``, R~ / highest as published, what is missing from the sum evenly on
    top.

    The ``soft`` constraint adds and stretches nothing: reward_t = j_t, or s * a_t, and the residual tells how far their
    sum misses R~ (Eq. 4 of LLM-GELI). Values that hand out the score itself have a ``score_offset`` of 0 then. `Raw`
    values are always treated so. Where nobody gave any score, reward_t = j_t/T (``foretold``).

    ``judgements``: REWARDS schema, one method and one seed, ``raw_reward`` filled (null where there is no value).
    ``episodes``: All episodes of the corpus; the constants come from the sessions in ``train``. ``target``:
    ``relative``: score_offset is the mean of the training scores, of attributions the lower end of the scale;
    ``score``: it is 0, as in the paper. ``method``: As configured (`apportion.decompose.settings_key.configured`): its
    scale says what values and nulls mean. ``constraint``: ``exact``: the rewards of an episode sum to R~; ``soft``:
    they are the method's own numbers. Returns pa.Table: The same rows with ``reward`` filled and ``sd`` in units of
    reward, in the order of ``episodes``, then turns. Returns Projection: The constants, and each episode's residual.
    Raises InputError: No training episode. Raises UnitError: Judgements of an unknown episode, of other turns than the
    target's, twice the same, or not finite; attributions below zero.
    """
    ordered = _ordered(judgements, episodes.all, method)
    scores = [episode.score for episode in episodes.of("train") if episode.target_turns]
    if not scores:
        raise InputError(
            "no training episode to take the mean score from: the split 'train' holds no rated session. Give `split` "
            "more sessions or a larger training share."
        )
    if not any(episode.is_rated for episode in episodes.all):
        return _without_scores(judgements, ordered)
    mean = math.fsum(scores) / len(scores)
    offset = _lowest(episodes.all) if isinstance(method.scale, Attribution) else mean
    offset = offset if target == "relative" else 0.0
    spread = 1.0 if isinstance(method.scale, ScoreUnits) else _spread(ordered, mean, episodes.sessions("train"))
    return _applied(judgements, ordered, offset, spread, method, constraint)


def apply_constants(
    judgements: pa.Table,
    episodes: Iterable[Episode],
    score_offset: float,
    spread: float,
    method: Method,
    constraint: Constraint = "exact",
) -> tuple[pa.Table, Projection]:
    """Map judgements onto the scores as `project` does, with constants that are known already.

    ``spread`` is s; attributions, which have an s of each episode, and the ``soft`` constraint do not use it.

    Raises UnitError: As `project`.
    """
    return _applied(judgements, _ordered(judgements, list(episodes), method), score_offset, spread, method, constraint)


def _applied(
    judgements: pa.Table, ordered: _Table, offset: float, spread: float, method: Method, constraint: Constraint
) -> tuple[pa.Table, Projection]:
    scale = method.scale
    raw, brought = isinstance(scale, Raw), isinstance(scale, Raw) and scale.min_max
    if raw:
        constraint = "soft"
    soft = constraint == "soft"
    if soft and (method.hands_out_score or raw):
        offset = 0.0
    scores = np.array([episode.score for episode in ordered.judged], dtype=np.float64)
    totals = scores - offset
    rule, scales = _scales(ordered, totals, spread, scale, constraint)
    equal: tuple[EpisodeKey, ...] = ()
    if brought:
        rule, scales, rewards, equal = _min_max(ordered)
    elif soft:
        rewards = scales[ordered.episode] * ordered.value
    else:
        shares = (totals / ordered.turns)[ordered.episode]
        rewards = shares + scales[ordered.episode] * ordered.centred()  # Eq. 4, LLM-GELI: they sum to R~

    asked = scores if method.hands_out_score else totals
    residuals = asked - (1.0 if brought else scales) * ordered.sums(ordered.value)
    projection = Projection(
        score_offset=offset,
        rule=rule,
        spread=None if isinstance(scale, Attribution) else 1.0 if soft else spread,
        residuals=tuple(
            Residual(*episode.key, residual=float(residual))
            for episode, residual in zip(ordered.judged, residuals, strict=True)
        ),
        unjudged=ordered.unjudged,
        equal=equal,
    )
    return _with_rewards(judgements.take(pa.array(ordered.rows)), rewards, scales[ordered.episode]), projection


def _without_scores(judgements: pa.Table, table: _Table) -> tuple[pa.Table, Projection]:
    """No score to share out: values over T, which sum to the score that they foretell."""
    scales = 1.0 / table.turns
    rewards = scales[table.episode] * table.value
    residuals = tuple(Residual(*episode.key, residual=0.0) for episode in table.judged)
    projection = Projection(0.0, "foretold", None, residuals, table.unjudged)
    return _with_rewards(judgements.take(pa.array(table.rows)), rewards, scales[table.episode]), projection


def _min_max(table: _Table) -> tuple[Rule, Floats, Floats, tuple[EpisodeKey, ...]]:
    """By Algorithm 1 of SAVOIR: s of each episode (E,), all rewards (N,), and the episodes of equal values."""
    scales, rewards = np.zeros(len(table.judged)), np.empty(len(table.value))
    equal = []
    for number, episode in enumerate(table.judged):
        own = table.episode == number
        rewards[own] = min_max(table.value[own])
        if are_equal(table.value[own]):
            equal.append(episode.key)
        else:
            scales[number] = HIGHEST / np.ptp(table.value[own])
    return "min-max", scales, rewards, tuple(equal)


def _scales(table: _Table, totals: Floats, spread: float, scale: Scale, constraint: Constraint) -> tuple[Rule, Floats]:
    """Where s comes from, and s of each episode (E,) float64."""
    soft = constraint == "soft"
    if not isinstance(scale, Attribution):
        if soft:
            return "soft", np.ones(len(table.judged))
        return "own" if isinstance(scale, ScoreUnits) else "spread", np.full(len(table.judged), spread)
    below = np.flatnonzero(table.value < 0)
    if below.size:
        episode = table.judged[int(table.episode[below[0]])]
        raise UnitError(
            f"session {episode.session_id}: attribution {table.value[below[0]]:g}; attributions are 0 or more. Make "
            "them again with `apportion run --only decompose`."
        )
    if scale.how == "fraction":
        return "soft fraction" if soft else "fraction", totals / (scale.highest or 1.0)  # r = a/3 * G, Sotopia-RL
    sums = table.sums(table.value)
    # Below that, they are zeros with the rounding of a mean over samples.
    counted = sums > 1e-9
    return "soft share" if soft else "share", np.where(
        counted, totals / np.where(counted, sums, 1.0), 0.0
    )  # r = a/sum(a) * G


def _ordered(judgements: pa.Table, episodes: Sequence[Episode], method: Method) -> _Table:
    _check_single(judgements)
    places, values = row_places(judgements), judgements.column("raw_reward").to_pylist()
    if sum(map(len, places.values())) != len(values):
        raise UnitError(
            "judgements name a turn of an episode twice. Make them again with `apportion run --only decompose`."
        )
    held = tuple(episode for episode in episodes if episode.key in places)
    _check_turns(held, places)
    zero = method.scale.null == "zero"
    valued = {key for key, of in places.items() if zero or any(values[row] is not None for row in of.values())}
    judged = tuple(episode for episode in held if episode.key in valued)
    rows = [places[episode.key][turn] for episode in judged for turn in episode.target_turns]
    numbers = np.array([math.nan if values[row] is None else values[row] for row in rows], dtype=np.float64)
    missing = np.array([values[row] is None for row in rows], dtype=bool)
    _check_finite(numbers, missing, judged)
    counts = np.array([len(episode.target_turns) for episode in judged], dtype=np.int64)
    index = np.repeat(np.arange(len(judged), dtype=np.int64), counts)
    unjudged = tuple(episode.key for episode in held if episode.key not in valued)
    if np.isnan(numbers).any():
        numbers = filled(numbers, index, method.scale.null)
    return _Table(judged, np.array(rows, dtype=np.int64), index, numbers, unjudged)


def _check_single(judgements: pa.Table) -> None:
    for column in ("method", "seed"):
        values = judgements.column(column).unique().to_pylist()
        if len(values) > 1:
            raise ValueError(f"judgements of one {column} at a time are projected, not of {values}")


def _check_turns(judged: Sequence[Episode], given: Places) -> None:
    for episode in judged:
        wrong = sorted(given[episode.key].keys() ^ set(episode.target_turns))
        if wrong:
            raise UnitError(
                f"session {episode.session_id}: judgements and utterances of {episode.rating.target} differ at turns "
                f"{wrong[:10]}. Make the judgements again with `apportion run --only decompose`."
            )
    known = {episode.key for episode in judged}
    if unknown := next((key for key in given if key not in known), None):
        raise UnitError(f"judgements of an episode that the corpus does not have: {unknown}.")


def _check_finite(values: Floats, missing: NDArray[np.bool_], judged: Sequence[Episode]) -> None:
    bad = np.flatnonzero(~missing & ~(np.abs(values) <= LARGEST))
    if bad.size:
        turns = ((episode.key, turn) for episode in judged for turn in episode.target_turns)
        key, turn = next(islice(turns, int(bad[0]), None))
        raise UnitError(
            f"session {key[0]}, turn {turn}: judgement {values[bad[0]]}; allowed are numbers from {-LARGEST:g} to "
            f"{LARGEST:g}, or null."
        )


def _lowest(episodes: Sequence[Episode]) -> float:
    """The lower end of the scale; the lowest, where scores were given on several."""
    return min(episode.rating.low for episode in episodes if episode.is_rated)


def _spread(table: _Table, mean: float, trained: frozenset[str]) -> float:
    in_training = np.array([episode.session_id in trained for episode in table.judged], dtype=bool)
    if not in_training.any():
        return 0.0
    scores = np.array([episode.score for episode in table.judged], dtype=np.float64)
    between = float(np.std(((scores - mean) / table.turns)[in_training]))
    rows = in_training[table.episode]
    within = math.sqrt(float(np.mean(table.centred()[rows] ** 2)))
    # Judgements that differ by rounding only are constant; to scale them up would make rewards of noise.
    if within <= 1e-9 * max(1.0, float(np.max(np.abs(table.value[rows])))):
        return 0.0
    # Held-out judgements may vary a billion times as much as training's: rewards that large cannot be summed exactly.
    return min(between / within, _FARTHEST * between / float(np.max(np.abs(table.centred()))))


def _with_rewards(table: pa.Table, rewards: Floats, scales: Floats) -> pa.Table:
    units = np.abs(scales).tolist()
    sd = [None if v is None else unit * v for unit, v in zip(units, table.column("sd").to_pylist(), strict=True)]
    columns = {name: table.column(name) for name in REWARDS.arrow.names}
    columns["reward"] = pa.array(rewards, pa.float64())
    columns["sd"] = pa.array(sd, pa.float64())
    return pa.table(columns, schema=REWARDS.arrow)
