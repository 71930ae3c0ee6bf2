import numpy as np
import pytest
import torch

from apportion.environments.negotiation.action_encoding import split_code
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.negotiation.datasets import scripted
from apportion.rlhf.negotiation.model.network import drawn_weights
from apportion.rlhf.negotiation.settings import SupervisedSettings
from apportion.rlhf.negotiation.supervised import Examples, SupervisedTraining, epoch_batches, rates
from tests.rlhf.negotiation.small import SMALL, weights

FIRST = split_code((1, 1, 0))


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


def test_a_gradient_that_is_not_finite_names_its_seed_and_is_not_counted() -> None:
    model = weights((4, 9))
    model["act.bias"][1] = float("nan")
    training = SupervisedTraining(
        model, (4, 9), Examples.shared(scripted(40), 2), SupervisedSettings(epochs=1), 0.0, "supervised"
    )
    with pytest.raises(UnitError, match=r"supervised, update 0: the gradient of seed 9 is not finite"):
        next(training.run())
    assert training.done == 0
