"""Rewards of turns as vectors over tokens, for anybody's trainer; numpy alone.

A rollout of T tokens is told by ``turn_of`` (int64 [shape=(T,)]): the number of the policy's turn that each token
belongs to, from 0, and `NOBODYS` where the policy did not say it (prompt, tool results, other speakers, padding). A
rollout with K turns has rewards (float64 [shape=(K,)]), the same in all functions::

    turn_of = turns_of(model_tokens)              # 1 where the model wrote the token
    per_token = at_last_token(rewards, turn_of)   # for a trainer that sums or discounts itself
    advantages = spread_credit(leave_one_out(rewards_of_group)[0], turn_of)  # for one that takes advantages

A turn of which no token is left (a rollout that was cut) has no token to be paid at; a turn that was cut is paid at the
last token that is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

NOBODYS = -1
"""In ``turn_of``: a token that the policy did not say."""


def turns_of(model_tokens: ArrayLike, turn_of_run: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Which turn each token belongs to (int64 [shape=(T,)]), `NOBODYS` where the policy did not say it.

    - ``model_tokens``: 1 (or True) where the policy said the token [shape=(T,)], as TRL's ``tool_mask`` and
      ``env_mask`` have it, or verl's ``response_mask``.
    - ``turn_of_run``: The turn of each run of such tokens, in order: one turn may call tools in between. None: each run
      is a turn of its own.

    Raises ValueError: more runs than ``turn_of_run`` names.

    >>> turns_of([0, 1, 1, 0, 1]).tolist(), turns_of([0, 1, 1, 0, 1], [0, 0]).tolist()
    ([-1, 0, 0, -1, 1], [-1, 0, 0, -1, 0])
    """
    said = np.asarray(model_tokens).astype(bool)
    begins = said & ~np.concatenate([[False], said[:-1]])
    runs = int(begins.sum())
    turns = np.arange(runs) if turn_of_run is None else np.asarray(turn_of_run, dtype=np.int64)
    if len(turns) < runs:
        raise ValueError(f"{runs} runs of the policy's tokens, and turn_of_run names the turns of {len(turns)}")
    found = np.full(len(said), NOBODYS)
    found[said] = turns[np.cumsum(begins)[said] - 1]
    return found


def turns_at(spans: Sequence[tuple[int, int]], length: int) -> NDArray[np.int64]:
    """The same from the spans of the K turns: tokens ``[start, end)``; what lies beyond ``length`` was cut.

    Raises ValueError: a span that ends before it begins, begins below 0, or overlaps the one before it.

    >>> turns_at([(1, 3), (4, 9)], 6).tolist()
    [-1, 0, 0, -1, 1, 1]
    """
    found, free = np.full(length, NOBODYS), 0
    for turn, (start, end) in enumerate(spans):
        if not free <= start <= end:
            raise ValueError(f"turn {turn}: tokens {start} to {end}; from {free} on are free")
        found[start:end], free = turn, end
    return found


def at_last_token(rewards: ArrayLike, turn_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each turn's reward at its last token, 0 elsewhere (float64 [shape=(T,)]).

    Raises ValueError: a turn without a reward.

    >>> at_last_token([0.5, -1.0], np.array([-1, 0, 0, -1, 1])).tolist()
    [0.0, 0.0, 0.5, 0.0, -1.0]
    """
    paid, found = _paid(rewards, turn_of), np.zeros(len(turn_of))
    last = {turn: place for place, turn in enumerate(turn_of.tolist()) if turn != NOBODYS}
    for turn, place in last.items():
        found[place] = paid[turn]
    return found


def spread_evenly(rewards: ArrayLike, turn_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each turn's reward in equal parts over its tokens (float64 [shape=(T,)]). Raises as `at_last_token`.

    >>> spread_evenly([0.5, -1.0], np.array([-1, 0, 0, -1, 1])).tolist()
    [0.0, 0.25, 0.25, 0.0, -1.0]
    """
    counts = np.bincount(turn_of[turn_of != NOBODYS], minlength=1)
    return spread_credit(rewards, turn_of) / np.where(turn_of == NOBODYS, 1, counts[turn_of])


def spread_credit(credit: ArrayLike, turn_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each turn's credit (an advantage) at every token of it, whole, 0 elsewhere. Raises as `at_last_token`.

    >>> spread_credit([0.5, -1.0], np.array([-1, 0, 0, -1, 1])).tolist()
    [0.0, 0.5, 0.5, 0.0, -1.0]
    """
    paid = _paid(credit, turn_of)
    return np.where(turn_of == NOBODYS, 0.0, paid[turn_of] if len(paid) else 0.0)


def state_scores(rewards: ArrayLike) -> NDArray[np.float64]:
    """How good the dialogue is after each turn (float64 [shape=(K,)]): the sum of the rewards up to it.

    For trainers that credit differences of scores, as prime-rl does. Those give nothing to the first turn that has a
    score, so that its reward is lost; hand advantages over where that matters.

    >>> state_scores([0.5, -1.0, 2.0]).tolist()
    [0.5, -0.5, 1.5]
    """
    return np.cumsum(np.asarray(rewards, dtype=np.float64))


def rewards_to_go(rewards: ArrayLike, gamma: float = 1.0) -> NDArray[np.float64]:
    """The return from each turn on (float64 [shape=(K,)]); ``gamma`` discounts from turn to turn.

    >>> rewards_to_go([0.5, -1.0, 2.0]).tolist()
    [1.5, 1.0, 2.0]
    """
    found = np.asarray(rewards, dtype=np.float64).copy()
    for turn in range(len(found) - 2, -1, -1):
        found[turn] += gamma * found[turn + 1]
    return found


def leave_one_out(group: Sequence[ArrayLike], gamma: float = 1.0) -> list[NDArray[np.float64]]:
    """Advantages of the turns of a group's rollouts: the return from a turn on, less the mean of the *others'* there.

    A rollout that has ended has nothing more to come: its return is 0. The baseline is thus made of other rollouts
    alone and depends on no act of the rollout that it is taken from, so that the gradient stays unbiased though the
    policy decides when to stop. A mean over all that reach the turn, with the rollout itself in it, does not: where one
    alone goes on, its advantage is 0 whatever it does (verl's issue 7244). The estimator is RLOO's (Kool et al., 2019;
    Ahmadian et al., 2024), turn by turn.

    - ``group``: The rewards of each of G >= 2 rollouts of one prompt [shapes=(K_1,), ..., (K_G,)].

    Raises ValueError: fewer than two rollouts.

    >>> [of.tolist() for of in leave_one_out([[1.0, 2.0], [0.0]])]
    [[3.0, 2.0], [-3.0]]
    """
    if len(group) < 2:
        raise ValueError(f"a group of {len(group)}: nothing to compare a rollout with; two are needed at least")
    returns = [rewards_to_go(rewards, gamma) for rewards in group]
    sums = np.zeros(max(map(len, returns)))
    for of in returns:
        sums[: len(of)] += of
    return [of - (sums[: len(of)] - of) / (len(group) - 1) for of in returns]


def _paid(rewards: ArrayLike, turn_of: NDArray[np.int64]) -> NDArray[np.float64]:
    paid = np.asarray(rewards, dtype=np.float64)
    last = int(turn_of.max(initial=NOBODYS))
    if last >= len(paid):
        raise ValueError(f"turn {last} has tokens, and rewards are given of {len(paid)} turns")
    return paid
