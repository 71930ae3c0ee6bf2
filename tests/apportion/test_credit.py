"""Rewards of turns over tokens: sums, spans, what was cut, tools; and a baseline that leaves the gradient unbiased."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.credit import (
    NOBODYS,
    at_last_token,
    leave_one_out,
    rewards_to_go,
    spread_credit,
    spread_evenly,
    state_scores,
    turns_at,
    turns_of,
)

masks = st.lists(st.integers(0, 1), max_size=40)
numbers = st.floats(-10, 10)


def rewards_for(turn_of: np.ndarray, draw: st.DataObject, more: int = 0) -> list[float]:
    count = int(turn_of.max(initial=NOBODYS)) + 1 + more
    return draw.draw(st.lists(numbers, min_size=count, max_size=count))


@given(masks, st.data())
def test_what_is_paid_is_paid_once_and_only_for_what_the_policy_said(mask: list[int], data: st.DataObject) -> None:
    turn_of = turns_of(mask)
    rewards = rewards_for(turn_of, data)
    for paid in (at_last_token(rewards, turn_of), spread_evenly(rewards, turn_of)):
        assert paid.sum() == pytest.approx(sum(rewards)) and not paid[np.array(mask, dtype=int) == 0].any()
        for turn, reward in enumerate(rewards):
            assert paid[turn_of == turn].sum() == pytest.approx(reward)
    whole = spread_credit(rewards, turn_of)
    assert all((whole[turn_of == turn] == reward).all() for turn, reward in enumerate(rewards))


@given(masks, st.data())
def test_tools_within_a_turn_are_not_paid_and_do_not_end_it(mask: list[int], data: st.DataObject) -> None:
    runs = int(turns_of(mask).max(initial=NOBODYS)) + 1
    turns = sorted(data.draw(st.lists(st.integers(0, 3), min_size=runs, max_size=runs)))
    turn_of = turns_of(mask, turns)
    assert ((turn_of == NOBODYS) == (np.array(mask, dtype=int) == 0)).all()
    assert [turn for turn, _ in itertools.groupby(turn_of[turn_of != NOBODYS].tolist())] == sorted(set(turns))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=6), st.integers(0, 60), st.data())
def test_spans_are_cut_where_the_rollout_was(gaps: list[tuple[int, int]], length: int, data: st.DataObject) -> None:
    spans, at = [], 0
    for gap, size in gaps:
        spans.append((at + gap, at + gap + size))
        at += gap + size
    turn_of, whole = turns_at(spans, length), turns_at(spans, at)
    assert (turn_of[:at] == whole[:length]).all() and (turn_of[at:] == NOBODYS).all()
    rewards = data.draw(st.lists(numbers, min_size=len(spans), max_size=len(spans)))
    left = [reward for (start, _), reward in zip(spans, rewards, strict=True) if start < length]
    assert at_last_token(rewards, turn_of).sum() == pytest.approx(sum(left))


@given(st.lists(numbers, min_size=1, max_size=9), st.floats(0, 1))
def test_returns_and_scores_hold_the_same_rewards(rewards: list[float], gamma: float) -> None:
    assert np.diff(state_scores(rewards), prepend=0.0) == pytest.approx(np.array(rewards), abs=1e-9)
    by_hand = [sum(gamma**k * r for k, r in enumerate(rewards[turn:])) for turn in range(len(rewards))]
    assert rewards_to_go(rewards, gamma) == pytest.approx(np.array(by_hand))


@given(st.lists(st.lists(numbers, max_size=5), min_size=2, max_size=6), st.data())
def test_a_baseline_knows_nothing_of_the_rollout_it_is_taken_from(
    group: list[list[float]], data: st.DataObject
) -> None:
    own = data.draw(st.integers(0, len(group) - 1))
    other = [data.draw(st.lists(numbers, max_size=5)) if place == own else of for place, of in enumerate(group)]

    def baselines(rollouts: list[list[float]]) -> np.ndarray:
        return rewards_to_go(rollouts[own]) - leave_one_out(rollouts)[own]

    both = min(len(group[own]), len(other[own]))
    assert baselines(group)[:both] == pytest.approx(baselines(other)[:both], abs=1e-9)


def test_the_gradient_is_unbiased_though_the_policy_decides_when_to_stop() -> None:
    """Two turns, each goes on with a chance of its own: the mean over all pairs of rollouts is the true gradient."""
    chance, paid = np.array([0.3, 0.6]), np.array([0.2, 1.0, -2.0])  # Of going on; of 1, of 2 and of 3 turns.
    rollouts = [([0], 0.7), ([1, 0], 0.3 * 0.4), ([1, 1], 0.3 * 0.6)]
    rewards = {0: [paid[0]], 1: [0.0, paid[1]], 2: [0.0, paid[2]]}

    def score(acts: list[int]) -> list[float]:  # d log pi / d logit, by turn.
        return [act - chance[turn] for turn, act in enumerate(acts)]

    def gradient(credit: np.ndarray, acts: list[int]) -> np.ndarray:
        found = np.zeros(2)
        for turn, slope in enumerate(score(acts)):
            found[turn] = credit[turn] * slope
        return found

    true = sum(p * gradient(rewards_to_go(rewards[i]), acts) for i, (acts, p) in enumerate(rollouts))
    ours, biased = np.zeros(2), np.zeros(2)
    for (i, (acts, p)), (j, (_, q)) in itertools.product(enumerate(rollouts), repeat=2):
        ours += p * q * gradient(leave_one_out([rewards[i], rewards[j]])[0], acts)
        mine, its = rewards_to_go(rewards[i]), rewards_to_go(rewards[j])
        there = [np.mean([of[turn] for of in (mine, its) if len(of) > turn]) for turn in range(len(mine))]
        biased += p * q * gradient(mine - there, acts)
    assert ours == pytest.approx(true, abs=1e-12)
    assert abs(biased * 2 - true).max() > 0.01  # Twice: a mean of two has half of the rollout itself in it.


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: turns_of([1, 0, 1], [0]), "2 runs of the policy's tokens, and turn_of_run names the turns of 1"),
        (lambda: turns_at([(0, 3), (2, 4)], 9), "turn 1: tokens 2 to 4; from 3 on are free"),
        (lambda: turns_at([(3, 2)], 9), "turn 0: tokens 3 to 2"),
        (lambda: at_last_token([1.0], np.array([0, 1])), "turn 1 has tokens, and rewards are given of 1 turns"),
        (lambda: leave_one_out([[1.0]]), "a group of 1: nothing to compare"),
    ],
)
def test_what_cannot_be_aligned_is_refused(call: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()  # type: ignore[operator]
