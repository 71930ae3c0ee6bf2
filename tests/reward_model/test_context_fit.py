"""Whether a reply fits what it answers: learnt from replies in their own contexts, and weighed on held-out ones."""

import numpy as np
import pytest
import torch

from apportion.reward_model.context_fit import (
    LEAST_TURNS,
    WEIGHTS,
    ContextFit,
    ContrastPairs,
    fit_context,
    weigh_context,
)

TURNS = 6


def planted(dialogues: int, seed: int = 0) -> tuple[torch.Tensor, list[np.ndarray]]:
    """Contexts [shape=(N, 1152)]: a reply says again, elsewhere in the vector, what its history is about."""
    draw = np.random.default_rng(seed)
    topics = draw.normal(size=(dialogues * TURNS, 8))
    history, reply = draw.normal(size=(2, len(topics), 384)) * 0.3
    history[:, :8] += topics
    reply[:, 100:108] += topics
    rows = [np.arange(start, start + TURNS) for start in range(0, len(topics), TURNS)]
    return torch.from_numpy(np.concatenate([history, reply, history], axis=1).astype(np.float32)), rows


def test_a_reply_is_paid_more_in_its_own_context_and_no_more_than_nothing() -> None:
    contexts, rows = planted(80)
    fit = fit_context(contexts, rows[:60], rows[60:], 0)
    assert fit is not None
    pairs = ContrastPairs.of(contexts.numpy(), rows[60:], 1)
    paid = (torch.zeros(len(pairs.turns)),) * 3
    shares = weigh_context(fit, contexts, pairs, paid, 2.0)
    assert min(shares) > 0.8 and fit.weight == pytest.approx(2.0 * WEIGHTS[0])
    assert (
        float(fit(contexts).max()) <= 0 and float(fit(contexts).mean()) > float(fit(contexts.roll(TURNS, 0)).mean()) - 1
    )
    again = fit_context(contexts, rows[:60], rows[60:], 0)
    assert again is not None and torch.equal(again.of_reply.weight, fit.of_reply.weight)


def test_a_louder_reward_takes_a_larger_weight_and_one_that_cannot_be_beaten_the_least_that_does_as_much() -> None:
    contexts, rows = planted(80)
    fit = fit_context(contexts, rows[:60], rows[60:], 0)
    assert fit is not None
    pairs = ContrastPairs.of(contexts.numpy(), rows[60:], 1)
    noise = torch.from_numpy(np.random.default_rng(2).normal(size=(3, len(pairs.turns))))
    weigh_context(fit, contexts, pairs, tuple(noise), 1.0)  # type: ignore[arg-type]
    assert float(fit.weight) > WEIGHTS[0]
    assert weigh_context(fit, contexts, pairs, tuple(1e9 * noise), 1.0) == pytest.approx((0.5, 0.5), abs=0.2)  # type: ignore[arg-type]
    assert fit.weight == pytest.approx(WEIGHTS[0])


def test_pairs_are_of_other_dialogues_and_leave_turns_without_history_out() -> None:
    contexts, rows = planted(10)
    contexts[rows[3][0], :384] = 0
    pairs = ContrastPairs.of(contexts.numpy(), rows, 0)
    assert len(pairs.turns) == 10 * TURNS - 1 and rows[3][0] not in (*pairs.turns, *pairs.other, *pairs.same_task)
    for others in (pairs.other, pairs.same_task):
        assert not np.any(pairs.turns // TURNS == others // TURNS)
    assert len(pairs.sample(7, 0).turns) == 7 and len(pairs.sample(999, 0).turns) == 59


@pytest.mark.parametrize(("training", "validation"), [(LEAST_TURNS // TURNS, 9), (60, 0), (60, 1)])
def test_of_little_nothing_is_learnt(training: int, validation: int) -> None:
    contexts, rows = planted(training + validation)
    assert fit_context(contexts, rows[:training], rows[training:], 0) is None


def test_a_new_one_adds_nothing() -> None:
    assert torch.equal(ContextFit(384)(planted(2)[0]), torch.zeros(2 * TURNS))
