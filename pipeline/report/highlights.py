"""Out of a run's tables: the figures that its conclusion is made of, and the few turns to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.methods import METHODS
from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.evaluation import Evaluation, MethodFigures
from apportion.evaluation.figures.disagreement import disagreement
from apportion.evaluation.methods.controls import beats_controls
from apportion.foundation.arrays import Floats
from apportion.foundation.html.text import clean, plain, signed
from apportion.foundation.tables.numbers import NOISE
from apportion.pipeline.report.conclusion import Facts, Rival, SeedSpread
from apportion.pipeline.report.sessions import HeldOut, Values, command, marked, rows_of, what_it_equals

EACH = 2
"""Best turns, and worst ones."""
FEWEST_TURNS = 3
"""Turns of a session from which on their order is disputed."""


class _Candidate(NamedTuple):
    """A turn that may be shown: the largest ``rank`` first."""

    rank: float
    key: EpisodeKey
    turn: int
    why: str


def facts_of(
    method: str, seen: HeldOut, episodes: Sequence[Episode], rewards: pa.Table, evaluation: Evaluation | None
) -> Facts:
    """The figures of a conclusion on ``method``; ``rewards`` (REWARDS schema) are those of all episodes."""
    scored = [episode for episode in episodes if episode.is_rated]
    first = (scored or episodes)[0].rating if episodes else None
    targets = {episode.rating.target for episode in episodes}
    methods = pc.unique(rewards["method"]).to_pylist()
    disputed = [disagreement(_ordering(of)) for of in seen.values.values()]
    shares = [share for share in disputed if share is not None]
    figures: dict[str, Any] = {}
    if evaluation is not None:
        own, taught = _of(evaluation.decompositions, method), [row.method for row in evaluation.reward_models]
        # One model may be taught for all methods (train_reward.teacher).
        of_model = method if method in taught or len(taught) != 1 else taught[0]
        model = _of(evaluation.reward_models, of_model)
        figures = {
            "held_out": evaluation.counts.test_sessions,
            "agreement": own.spearman if own else Missing(f"{method} has no rewards of held-out sessions"),
            "annotator": evaluation.one_annotator.spearman,
            "gain": model.below_mean if model else Missing("no reward model has learnt from these rewards"),
            "beside": beats_controls(evaluation, of_model),
            "rival": _rival(evaluation, method),
        }
    return Facts(
        rating=clean(first.name, 80) if first else "",
        scale=(first.low, first.high) if first else (0.0, 0.0),
        target=clean(next(iter(targets)), 60) if len(targets) == 1 else "whom the score is about",
        sessions=len(seen.split_of),
        scored=len({episode.session_id for episode in scored}),
        turns=sum(len(episode.target_turns) for episode in episodes),
        method=clean(method, 60),
        title=clean(METHODS[method].title if method in METHODS else "of another package", 200),
        compared=[clean(name, 60) for name in sorted(methods) if name != method],
        orders=_orders_anywhere(method, rewards),
        sums_to=_sums_to(method, seen),
        disputed=float(np.mean(shares)) if shares else None,
        spread=seed_spread(rewards, method),
        **figures,
    )


def _of(rows: Sequence[MethodFigures], method: str) -> MethodFigures | None:
    return next((row for row in rows if row.method == method), None)


def _rival(evaluation: Evaluation, method: str) -> Rival | None:
    """The other decomposition with the highest Spearman that is compared with the method's on the same turns."""
    known = {row.method: row.spearman.value for row in evaluation.decompositions if isinstance(row.spearman, Estimate)}
    found = []
    for one in evaluation.comparisons:
        pair = {one.method, one.against}
        if one.among == "decompositions" and one.figure == "spearman" and method in pair and pair <= known.keys():
            ahead = one.difference if one.against == method else one.difference.negated()
            found.append(Rival(one.method if one.against == method else one.against, ahead))
    return max(found, key=lambda rival: (known[rival.method], rival.method), default=None)


def _sums_to(method: str, seen: HeldOut) -> str:
    """What the rewards of every session add up to; empty where one does not, or nobody gave a score."""
    names = set()
    for episode in seen.episodes:
        of = seen.values.get(episode.key, {}).get(method)
        if of is None or not episode.is_rated:
            continue
        total = float(np.sum([one.reward for one in of.values()]))
        name, exact = what_it_equals(total, episode.score, seen.training_mean, episode.rating.low)
        if not exact:
            return ""
        names.add(name)
    if names == {"= score"}:
        return "its score"
    mean = None if seen.training_mean is None else plain(seen.training_mean)
    if names == {f"= score − {mean}"}:
        return f"its score less {mean}, the mean of the training sessions: below 0 is worse than usual"
    return "what its score says" if names else ""


def seed_spread(rewards: pa.Table, method: str) -> SeedSpread | None:
    """How much a turn's reward moves between seeds; None where there is one, or nothing depends on it."""
    own = rewards.filter(pc.equal(rewards["method"], method))
    seeds = len(pc.unique(own["seed"]))
    if seeds < 2:
        return None
    of_turn: dict[tuple[EpisodeKey, int], list[float]] = {}
    for row in own.select(["session_id", "rater", "target", "name", "turn", "reward"]).to_pylist():
        if row["reward"] is not None:
            key = (row["session_id"], row["rater"], row["target"], row["name"])
            of_turn.setdefault((key, row["turn"]), []).append(row["reward"])
    of_session: dict[EpisodeKey, list[float]] = {}
    for (key, _), values in of_turn.items():
        of_session.setdefault(key, []).append(float(np.mean(values)))
    inner = [np.var(values, ddof=1) for values in of_turn.values() if len(values) > 1]
    outer = [np.var(values, ddof=1) for values in of_session.values() if len(values) > 1]
    if not inner or not outer or np.mean(inner) <= NOISE**2:
        return None
    return SeedSpread(seeds, float(np.sqrt(np.mean(inner))), float(np.sqrt(np.mean(outer))))


@dataclass(frozen=True)
class Look:
    """A turn to look at, as it is shown; ``mark`` is what the viewer makes a link of (`sessions.marked`)."""

    why: str
    session_id: str
    turn: int
    said: str
    reply: str
    mark: str
    command: str


def turns_to_look_at(method: str, seen: HeldOut) -> list[Look]:
    """The best turns by the method, the worst, and what other methods rank most otherwise: no session twice while there
    are others."""
    if not seen.episodes:
        return []
    found: list[Look] = []
    taken: set[str] = set()
    by_key = {episode.key: episode for episode in seen.episodes}
    if _orders(method, seen):
        own = {key: of[method] for key, of in seen.values.items() if method in of}
        for why, sign in (("Best", 1.0), ("Worst", -1.0)):
            rewards = [
                _Candidate(sign * one.reward, key, turn, f"{why}: {signed(one.reward)}")
                for key, of in own.items()
                for turn, one in of.items()
            ]
            found += [_look(by_key[one.key], one) for one in _first(rewards, EACH, taken)]
    disputed = [one for key, of in seen.values.items() for one in _gaps(key, of)]
    return [*found, *(_look(by_key[one.key], one) for one in _first(disputed, 1, taken))]


def _first(candidates: Sequence[_Candidate], many: int, taken: set[str]) -> list[_Candidate]:
    """The first ones, those of sessions that are not ``taken`` before all others; they are taken from then on."""
    chosen: list[_Candidate] = []
    ordered = sorted(candidates, key=lambda one: (-one.rank, one.key, one.turn))
    for again in (False, True):
        for one in ordered:
            if len(chosen) < many and one not in chosen and (again or one.key[0] not in taken):
                taken.add(one.key[0])
                chosen.append(one)
    return chosen


def _look(episode: Episode, found: _Candidate) -> Look:
    position = next(i for i in episode.target_positions if episode.turns[i].turn == found.turn)
    return Look(
        clean(found.why, 200),
        clean(episode.session_id, 120),
        found.turn,
        clean(episode.turns[position].text, 200),
        clean(episode.reply_text(position), 120),
        f"{marked(episode.session_id)}.{found.turn}",
        command(episode.session_id),
    )


def _orders(method: str, seen: HeldOut) -> bool:
    """Whether the method's rewards of any session differ from turn to turn."""
    return any(method in of and _differ(rows_of({method: of[method]})[0]) for of in seen.values.values())


def _orders_anywhere(method: str, rewards: pa.Table) -> bool:
    """Whether the method's rewards of any session, held out or not, differ from turn to turn."""
    own = rewards.filter(pc.equal(rewards["method"], method))
    ends = own.group_by([*EPISODE_KEY, "seed"]).aggregate([("reward", "min"), ("reward", "max")])
    gaps = pc.subtract(ends["reward_max"], ends["reward_min"])
    return bool(pc.any(pc.greater(gaps, NOISE)).as_py())


def _differ(row: Floats) -> bool:
    """Whether values differ by more than rounding."""
    known = row[np.isfinite(row)]
    return bool(len(known) > 1 and np.ptp(known) > NOISE)


def _ordering(values: Values) -> list[Floats]:
    """The rewards of the methods that order turns at all."""
    return [row for row in rows_of(values) if _differ(row)]


def _gaps(key: EpisodeKey, values: Values) -> list[_Candidate]:
    """Of each turn, how far apart two methods rank it in its session (0 to 1), and which they are."""
    turns = sorted({turn for of in values.values() for turn in of})
    rows = [(name, row) for name, row in zip(values, rows_of(values), strict=True) if _differ(row)]
    rows = [(name, row) for name, row in rows if np.isfinite(row).all()]
    if len(rows) < 2 or len(turns) < FEWEST_TURNS:
        return []
    ranks = np.array([((row[:, None] > row).sum(1) + (row[:, None] >= row).sum(1) - 1) / 2 for _, row in rows])
    found = []
    for column, turn in enumerate(turns):
        high, low = int(ranks[:, column].argmax()), int(ranks[:, column].argmin())
        place = [len(turns) - round(float(ranks[row, column])) for row in (high, low)]
        why = f"Most disputed: {rows[high][0]} ranks it {place[0]} of {len(turns)}, {rows[low][0]} {place[1]}"
        apart = float(ranks[high, column] - ranks[low, column]) / (len(turns) - 1)
        found.append(_Candidate(apart, key, turn, why))
    return found
