"""Whether a reply fits what it answers: learnt from replies in their own contexts, and weighed on held-out ones."""

import numpy as np
import pytest
import torch

from apportion.reward_model.context_fit import (
    BOUNDS,
    COST,
    LEAST_TURNS,
    ContextFit,
    ContrastPairs,
    Replies,
    fit_context,
    replies_at,
    teach,
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


def cases(pairs: ContrastPairs, paid: torch.Tensor) -> tuple[Replies, list[Replies]]:
    """The pairs' replies where they were said and in the three wrong places, each paid a row of ``paid``."""
    own, *wrong = (
        Replies(pairs.turns, at, of)
        for at, of in zip((pairs.turns, pairs.other, pairs.same_task, pairs.shuffled), paid, strict=True)
    )
    return own, wrong


def test_the_nearest_dialogues_are_found_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts, rows = planted(20)
    whole = ContrastPairs.of(contexts.numpy(), rows, 0)
    monkeypatch.setattr("apportion.reward_model.context_fit.DIALOGUES_AT_ONCE", 6)
    np.testing.assert_array_equal(ContrastPairs.of(contexts.numpy(), rows, 0).same_task, whole.same_task)


def test_a_reply_is_paid_more_in_its_own_context_and_no_more_than_nothing() -> None:
    contexts, rows = planted(300)
    fit = fit_context(contexts, rows[:240], rows[240:], 0)
    assert fit is not None
    pairs = ContrastPairs.of(contexts.numpy(), rows[240:], 1)
    paid = torch.from_numpy(np.random.default_rng(2).normal(size=len(pairs.turns))).expand(4, -1)
    own, wrong = cases(pairs, paid)
    shares = weigh_context(fit, contexts, pairs.turns, own, wrong)
    assert len(shares) == 3 and min(shares) > 0.8
    assert float(fit(contexts).max()) <= 0
    swapped = torch.cat([contexts[:, :384], contexts.roll(TURNS, 0)[:, 384:768], contexts[:, 768:]], dim=1)
    assert float(fit(contexts).mean()) > float(fit(swapped).mean())
    again = fit_context(contexts, rows[:240], rows[240:], 0)
    assert again is not None and torch.equal(again.of_reply.weight, fit.of_reply.weight)


def test_what_a_policy_says_everywhere_fits_nowhere_not_even_where_it_was_said() -> None:
    contexts, rows = planted(100)
    fit = fit_context(contexts, rows[:80], rows[80:], 0)
    assert fit is not None
    same = contexts[:60].clone()
    same[:, 384:768] = contexts[7, 384:768]
    every, own = torch.cat([contexts, same]), np.arange(len(contexts), len(contexts) + 60)
    pairs = ContrastPairs.of(contexts.numpy(), rows[80:], 1)
    people = (pairs.turns, pairs.turns)
    rivals = (np.resize(own, len(pairs.turns)), pairs.turns)
    before = [float((fit.nearness(replies_at(every, *case))).mean()) for case in (people, rivals)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        teach(fit, every, np.concatenate(rows[:80]), [people, (pairs.turns, pairs.other), rivals], own)
    after = [float((fit.nearness(replies_at(every, *case))).mean()) for case in (people, rivals)]
    assert after[1] < before[1] - 0.02 and after[0] > before[0] - 0.02
    assert float(fit.nearness(same).mean()) < 0 and not any(weight.requires_grad for weight in fit.parameters())


def test_most_replies_that_people_gave_lose_nothing_and_what_is_lost_is_of_a_known_size() -> None:
    contexts, rows = planted(80)
    fit = fit_context(contexts, rows[:60], rows[60:], 0)
    assert fit is not None
    pairs = ContrastPairs.of(contexts.numpy(), rows[60:], 1)
    noise = torch.from_numpy(np.random.default_rng(2).normal(size=(4, len(pairs.turns))))
    own, wrong = cases(pairs, noise)
    weigh_context(fit, contexts, pairs.turns, own, wrong)
    lost = fit(contexts[pairs.turns])
    assert float((lost == 0).float().mean()) >= 1 - max(BOUNDS) - 0.01
    assert float(lost.var() / noise[0].var()) == pytest.approx(COST, rel=1e-4)
    weight = float(fit.weight)
    own, wrong = cases(pairs, 1e3 * noise)
    weigh_context(fit, contexts, pairs.turns, own, wrong)
    assert float(fit.weight) > 100 * weight


def test_where_each_dialogue_has_one_turn_the_other_kinds_decide() -> None:
    contexts, rows = planted(300)
    fit = fit_context(contexts, rows[:240], rows[240:], 0)
    assert fit is not None
    pairs = ContrastPairs.of(contexts.numpy(), [of[:1] for of in rows[240:]], 1)
    assert np.array_equal(pairs.shuffled, pairs.turns)
    paid = torch.from_numpy(np.random.default_rng(2).normal(size=len(pairs.turns)))
    own, wrong = cases(pairs, paid.expand(4, -1))
    tempting = Replies(pairs.tempting(paid, 0), pairs.turns, paid)
    shares = weigh_context(fit, contexts, pairs.turns, own, [*wrong, tempting])
    assert np.isnan(shares[2]) and shares[0] > 0.5 and shares[3] > 0 and fit.weight > 0


def test_a_reply_that_is_paid_much_tempts_in_other_dialogues() -> None:
    contexts, rows = planted(10)
    pairs = ContrastPairs.of(contexts.numpy(), rows, 0)
    paid = torch.randperm(len(pairs.turns), generator=torch.Generator().manual_seed(0)).double()
    tempting = pairs.tempting(paid, 0)
    assert all(paid[pairs.turns == turn] >= 0.9 * len(pairs.turns) - 1 for turn in tempting)
    assert not np.any(tempting // TURNS == pairs.dialogue)
    alone = ContrastPairs(*(of[pairs.dialogue == 0] for of in vars(pairs).values()))
    assert np.array_equal(alone.tempting(paid[:TURNS], 0), alone.turns)


def test_pairs_are_of_other_dialogues_and_leave_turns_without_history_out() -> None:
    contexts, rows = planted(10)
    contexts[rows[3][0], :384] = 0
    pairs = ContrastPairs.of(contexts.numpy(), rows, 0)
    assert len(pairs.turns) == 10 * TURNS - 1 and rows[3][0] not in (*pairs.turns, *pairs.other, *pairs.same_task)
    for others in (pairs.other, pairs.same_task):
        assert not np.any(pairs.turns // TURNS == others // TURNS)
    assert np.array_equal(pairs.turns // TURNS, pairs.shuffled // TURNS) and not np.any(pairs.turns == pairs.shuffled)
    assert len(pairs.sample(7, 0).turns) == 7 and len(pairs.sample(999, 0).turns) == 59


@pytest.mark.parametrize(("training", "validation"), [(LEAST_TURNS // TURNS, 9), (60, 0), (60, 1)])
def test_of_little_nothing_is_learnt(training: int, validation: int) -> None:
    contexts, rows = planted(training + validation)
    assert fit_context(contexts, rows[:training], rows[training:], 0) is None


def test_a_new_one_adds_nothing() -> None:
    assert torch.equal(ContextFit(384)(planted(2)[0]), torch.zeros(2 * TURNS))
