import math

import numpy as np
import pytest
import torch

from environments.negotiation.codes import AGREE, END, INSIST, split_code
from foundation.errors import InputError, UnitError
from rlhf.negotiation.chance import torch_draws_of
from rlhf.negotiation.data.dialogues import OTHERS, OWN, UNKNOWN
from rlhf.negotiation.material import scripted
from rlhf.negotiation.model import packing
from rlhf.negotiation.model.network import Dropout, acting, drawn_weights, shapes
from rlhf.negotiation.settings import SupervisedSettings
from rlhf.negotiation.supervised import Examples, SupervisedTraining, epoch_batches, loss_of, rates
from tests.rlhf.negotiation.small import CONTEXT, SMALL, dialogue, weights

FIRST = split_code((1, 1, 0))


def all_zero() -> dict[str, torch.Tensor]:
    return {name: torch.zeros_like(weight) for name, weight in weights().items()}


def test_equation_1_by_hand() -> None:
    """Every act has a bias of its own and nothing else: probabilities can be written down."""
    model = all_zero()
    for act, score in ((FIRST, 1.0), (AGREE, 2.0), (END, 0.5)):
        model["act.bias"][0, act] = score
    model["heads.bias"][0] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0] * 6)
    given = dialogue([FIRST, AGREE, END], [OWN, OTHERS, OWN], (1, 1, 0, 0, 2, 1))
    # 16 splits of the pool, each proposed or insisted on, and three words; all but three have the score 0.
    total = 2 * 16 + 3 - 3 + math.exp(1.0) + math.exp(2.0) + math.exp(0.5)
    acts = -(1.0 + 2.0 + 0.5 - 3 * math.log(total))
    one, other = -(1.0 - math.log(4 + math.e)), math.log(4 + math.e)
    ends = 3 * one + 3 * other  # Taken are 1, 1, 0 and 0, 2, 1: three of the six are 1.
    for alpha in (0.0, 0.5, 2.0):
        loss = loss_of(model, given, alpha)
        assert loss.tolist() == pytest.approx([(acts + alpha * ends) / 3], rel=1e-5)


def test_what_no_player_could_do_and_the_end_of_no_deal_are_no_examples() -> None:
    model = weights()
    whole = loss_of(model, dialogue([FIRST, UNKNOWN, INSIST + 124], [OWN, OTHERS, OWN]), 0.5)
    alone = loss_of(model, dialogue([FIRST], [OWN]), 0.5)
    assert whole.tolist() == pytest.approx(alone.tolist(), rel=1e-5)


def test_a_seed_learns_the_same_in_any_company() -> None:
    data = scripted(40)
    ends = []
    for seeds in ((3,), (5, 3, 8)):
        model = drawn_weights(SMALL, seeds)
        training = SupervisedTraining(
            model, seeds, Examples.shared(data, len(seeds)), SupervisedSettings(epochs=1), 0.5, "test"
        )
        for _ in training.run():
            pass
        ends.append({name: one[seeds.index(3)] for name, one in model.items()})
    for name in ends[0]:
        assert torch.allclose(ends[0][name], ends[1][name], atol=1e-5), name


def test_gradients_equal_those_of_finite_differences() -> None:
    model = weights(double=True)
    given = dialogue([FIRST, AGREE, END], [OTHERS, OWN, OTHERS], (1, 1, 0, 0, 2, 1))
    rng = np.random.default_rng(0)
    for name in shapes(SMALL):
        leaf = model[name].clone().requires_grad_(True)
        loss = loss_of({**model, name: leaf}, given, 0.5).sum()
        (grad,) = torch.autograd.grad(loss, leaf, allow_unused=True, materialize_grads=True)
        place = tuple(int(rng.integers(0, size)) for size in leaf.shape)
        moved = []
        for step in (1e-6, -1e-6):
            other = model[name].clone()
            other[place] += step
            moved.append(float(loss_of({**model, name: other}, given, 0.5).sum()))
        assert float(grad[place]) == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-6), name
        assert acting(name) or name.split(".")[0] in ("ahead", "back", "attend", "select", "heads")


def test_every_dialogue_is_read_once_an_epoch_and_rates_shrink() -> None:
    examples = Examples.shared(scripted(45), 2)
    settings = SupervisedSettings(epochs=2, batch=16)
    batches = epoch_batches(examples, (0, 1), settings, 0)
    for seed in (0, 1):
        assert sorted(np.concatenate([batch[seed] for batch in batches]).tolist()) == list(range(examples.size))
    assert rates(settings) == pytest.approx([1.0, 1.0, 0.2, 0.04])
    assert rates(SupervisedSettings(epochs=0)) == []


def test_no_dialogue_to_learn_from_is_said() -> None:
    none = Examples.shared(scripted(0), 1)
    with pytest.raises(InputError, match=r"no dialogue to learn from\. Raise data\.unique"):
        SupervisedTraining(weights(), (0,), none, SupervisedSettings(), 0.5, "supervised")


def test_a_gradient_that_is_not_finite_names_its_seed_and_changes_nothing() -> None:
    model = weights((4, 9))
    model["act.bias"][1] = float("nan")
    training = SupervisedTraining(
        model, (4, 9), Examples.shared(scripted(40), 2), SupervisedSettings(epochs=1), 0.0, "supervised"
    )
    before = {name: one.clone() for name, one in model.items()}
    with pytest.raises(UnitError, match=r"supervised, update 0: the gradient of seed 9 is not finite"):
        next(training.run())
    for name, one in model.items():
        assert torch.equal(one.nan_to_num(), before[name].nan_to_num())
    assert CONTEXT.worth(0, (1, 3, 1)) == 10


def test_padding_is_not_multiplied_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, data = (0, 1, 2), scripted(200)
    rng = np.random.default_rng(4)
    picked = Examples.shared(data, 3).batch(np.stack([rng.permutation(200)[:12] for _ in seeds]))
    steps = np.arange(picked.acts.shape[-1])
    picked.acts[steps >= rng.integers(1, len(steps), picked.acts.shape[:2])[..., None] ** 2 // len(steps) + 1] = -1
    found = []
    for full in (0.0, packing.FULL):  # With 0 an array of any kind stays as it is.
        monkeypatch.setattr(packing, "FULL", full)
        model = {name: one.requires_grad_() for name, one in weights(seeds, double=True).items()}
        loss = loss_of(model, picked, 0.5, Dropout(0.5, torch_draws_of(seeds, "padding")))
        found.append((loss.detach(), torch.autograd.grad(loss.sum(), list(model.values()), materialize_grads=True)))
    there = torch.from_numpy(picked.acts >= 0).flatten(1)
    rows = packing.Rows.of(there)
    assert rows is not None and rows.filled.any() and rows.places.shape[1] == int(there.sum(1).max())
    (plain, gradients), (packed, others) = found
    assert torch.allclose(plain, packed, rtol=1e-12)
    for one, other in zip(gradients, others, strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-12) and one.abs().max() > 0
