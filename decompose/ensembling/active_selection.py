"""Which sessions a language model is asked about, or people first, where they are to judge a few for all."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from apportion.decompose.reactions.extract import Reactions
from apportion.decompose.reactions.model import FIRST, ReactionModel, learn, pooled, standardised_features, turn_places
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import UnitError


def choose_sessions(
    reactions: Reactions,
    training: frozenset[str],
    count: int,
    seed: int,
    settings: ReactionSettings,
    allowed: Collection[str] | None = None,
) -> tuple[str, ...]:
    """The ids of ``count`` training sessions, spread over scores and over what the reactions alone leave uncertain.

    Sessions are cut by score into about sqrt(count) groups of one size. In each group they stand in the order of their
    uncertainty (`uncertainty`), and every n-th is taken from a start that ``seed`` draws (systematic sampling). Turn
    labels are not an argument.

    - ``reactions`` (Reactions): Of all sessions.
    - ``training`` (frozenset of str): Only sessions that train can teach, and their scores teach what is uncertain.
    - ``allowed`` (collection of str, optional): Sessions that can be asked about at all; all where None.

    Returns tuple of str: Sorted; all that qualify where there are no more than ``count``. Who replies fewer than twice
    does not.

    Raises UnitError: No session qualifies, or none trains.
    """
    unsure = uncertainty(reactions, learn(reactions, training, settings), training)
    scores = _scores(reactions)
    pool = [
        session_id
        for session_id in _replying(reactions)
        if session_id in training and (allowed is None or session_id in allowed)
    ]
    if not pool:
        among = "" if allowed is None else f" among the {len(allowed):,} that there are recorded replies to"
        raise UnitError(
            f"decompose.llm.max_sessions = {count}: no session that trains and whose rater replies twice{among}. "
            "Record other sessions, or judge all by leaving max_sessions out."
        )
    if count >= len(pool):
        return tuple(sorted(pool))
    ranked = sorted(pool, key=lambda session_id: (scores[session_id], _drawn(seed, session_id)))
    groups = max(1, round(math.sqrt(count)))
    chosen: list[str] = []
    for number, (group, quota) in enumerate(zip(_parts(len(pool), groups), _parts(count, groups), strict=True)):
        ordered = sorted((ranked[i] for i in group), key=lambda one: (unsure[one], _drawn(seed, one)))
        start = _drawn(seed, f"group {number}")
        chosen += [ordered[int((place + start) * len(ordered) / len(quota))] for place in range(len(quota))]
    return tuple(sorted(chosen))


MOST_TURNS = 40
"""Sessions with more come last: a person would be at one for long."""


def order_to_label(turns: Mapping[str, int], count: int, seed: int) -> list[str]:
    """Sessions (by id, how many turns can be labelled) in the order in which people best label them.

    First come, drawn by ``seed``, the third with the most turns, ``count`` at least, and all that are as long: who has
    read a dialogue says more of a longer one, and turns are compared within it. Then the others, the longer ones first.
    No score is read. What else was tried did not teach more than drawn sessions (docs/evidence/reaction-aware.md).
    """
    ranked = sorted(turns, key=lambda one: (turns[one] > MOST_TURNS, -turns[one], _drawn(seed, one)))
    short = sum(many <= MOST_TURNS for many in turns.values())
    first = min(max(count, short // 3), len(ranked))
    while 0 < first < len(ranked) and turns[ranked[first]] == turns[ranked[first - 1]]:
        first += 1
    return sorted(ranked[:first], key=lambda one: _drawn(seed, one)) + ranked[first:]


def uncertainty(reactions: Reactions, model: ReactionModel, training: frozenset[str]) -> Mapping[str, float]:
    """By session, how little the training scores say of its turns: the mean of x' (X' X + penalty)^-1 x over them.

    That is the variance of a turn's worth under the ridge regression, in units of the variance of what it leaves
    unexplained of a score. Zero for all where scores taught nothing.
    """
    sizes = [len(episode.target_turns) for episode in reactions.episodes]
    if not math.isfinite(model.ridge.penalty):
        return dict.fromkeys((episode.session_id for episode in reactions.episodes), 0.0)
    features = standardised_features(reactions, model.centre, model.scale) - model.ridge.mean
    weights = np.concatenate([(FIRST + turn_places(size)) ** model.late for size in sizes])
    taught = [episode.session_id in training for episode in reactions.episodes]
    sessions = pooled(features, weights, reactions.offsets.tolist())[np.array(taught)]
    _, singular, right = np.linalg.svd(sessions, full_matrices=False)
    shares = singular**2 / (singular**2 + model.ridge.penalty)
    # (X' X + p)^-1 = (1 - V diag(s^2 / (s^2 + p)) V') / p
    squared = np.square(features).sum(axis=1) - np.square(features @ right.T) @ shares
    found: dict[str, list[float]] = {}
    for key, turns in reactions.by_episode(squared / model.ridge.penalty).items():
        found.setdefault(key[0], []).extend(turns.tolist())
    return {session_id: math.fsum(values) / len(values) for session_id, values in found.items()}


def _scores(reactions: Reactions) -> dict[str, float]:
    """By session the mean of its scores."""
    found: dict[str, list[float]] = {}
    for episode in reactions.episodes:
        found.setdefault(episode.session_id, []).append(episode.score)
    return {session_id: math.fsum(scores) / len(scores) for session_id, scores in found.items()}


def _replying(reactions: Reactions) -> list[str]:
    """The sessions in which some rater replies to two turns at least, sorted."""
    replied = reactions.by_episode(reactions.replied)
    return sorted({key[0] for key, turns in replied.items() if np.count_nonzero(turns) > 1})


def _parts(count: int, groups: int) -> list[Sequence[int]]:
    return [part.tolist() for part in np.array_split(np.arange(count), groups)]


def _drawn(seed: int, name: str) -> float:
    """A number from 0 up to 1 that the seed and the name decide, on any machine."""
    digest = hashlib.sha256(f"{seed} {name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / 256**6
