from pathlib import Path

import numpy as np
import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.reward_model.learning.dataset import read_turns
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import episode, small

SAID = [("user", "hotel ?"), ("bot", "yes good"), ("user", "train ?"), ("bot", "no bad .")]
MESSAGES = [
    {"role": "system", "content": "You are kind."},
    *({"role": "user" if who == "user" else "assistant", "content": text} for who, text in SAID),
]


def random_head(settings: RewardModelSettings, width: int = 32, **scale: float) -> RewardModel:
    """A model whose last layer is not zero, as after training."""
    backbone = None if settings.freeze_backbone else read_turns([], None, settings).backbone
    model = RewardModel.new(settings, width, 0, backbone, **scale)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        for name, weight in model.head.named_parameters():
            if name.endswith("last_weight"):
                weight.normal_()
    return model


def test_the_scale_is_applied_to_the_output(bert: Path) -> None:
    pairs = [("A: hotel ?\n", "yes good"), ("", "no")]
    plain, scaled = random_head(small(bert)), random_head(small(bert), mean=5.0, scale=2.0)
    expected = [5.0 + 2.0 * value for value in plain.score_windows(pairs).reward]
    assert scaled.score_windows(pairs).reward == pytest.approx(expected, rel=1e-5)
    assert plain.score_windows([]).reward.shape == (0,)


def test_a_placed_model_reads_on_its_device_and_what_others_share_stays(bert: Path) -> None:
    model, pairs = random_head(small(bert)), [("A: hotel ?\n", "yes good"), ("", "no")]
    expected, shared = model.score_windows(pairs).reward.tolist(), model.backbone
    saved = set(model.state_dict())
    assert model.place("cpu").backbone is not shared
    assert model.score_windows(pairs).reward.tolist() == expected and set(model.state_dict()) == saved
    model.place("meta")
    assert {weight.device.type for weight in model.backbone.parameters()} == {"meta"}
    assert {weight.device.type for weight in shared.parameters()} == {"cpu"}
    # The texts went there, too; nothing is computed on meta.
    with pytest.raises(RuntimeError, match="meta tensor"):
        model.score_windows(pairs)


def test_windows_episodes_and_messages_are_scored_alike(bert: Path) -> None:
    model = random_head(small(bert, history_turns=2))
    windows = model.score_windows([("A: hotel ?\n", "yes good"), ("B: yes good\nA: train ?\n", "no bad .")]).reward
    scores = model.score_episode(episode("s", SAID))
    assert scores.shape == (2,) and scores.dtype == np.float64
    np.testing.assert_allclose(scores, windows, rtol=1e-6)
    np.testing.assert_allclose(model.score(MESSAGES), windows, rtol=1e-6)
    assert model.score_episode(episode("s", SAID[:1])).shape == (0,)
    assert model.score([]) == []


def test_several_users_are_told_apart_by_their_names_which_are_not_read(bert: Path) -> None:
    model = random_head(small(bert, history_turns=3, scoring="windowed"))

    def scored(*names: str | None) -> list[float]:
        asked = [{"role": "user", "content": "hotel ?"} | ({"name": name} if name else {}) for name in names]
        return model.score([*asked, {"role": "assistant", "content": "yes good"}])

    (both,) = model.score_windows([("A: hotel ?\nC: hotel ?\n", "yes good")]).reward
    assert scored("ann", "eve") == scored("x", "y") == pytest.approx([both], rel=1e-6)
    assert scored("ann", "ann") == scored(None, None) != scored("ann", "eve")


def test_scoring_switches_dropout_off(bert: Path) -> None:
    model = random_head(small(bert, dropout=0.9)).train()
    assert model.score(MESSAGES) == model.score(MESSAGES)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "tool", "content": "x"}, "message 2: role 'tool'; allowed are user, assistant, system"),
        ({"content": "x"}, "message 2: role None"),
        ({"role": "assistant", "content": None}, "message 2: content None; it must be text"),
    ],
)
def test_messages_that_cannot_be_read_are_named(message: dict[str, str], problem: str, bert: Path) -> None:
    with pytest.raises(InputError, match=problem):
        random_head(small(bert)).score([{"role": "user", "content": "hi"}, message])


def test_a_frozen_backbone_of_another_size_is_refused(bert: Path) -> None:
    with pytest.raises(InputError, match="gives 32 numbers a turn, and this reward model's head reads 8"):
        RewardModel.new(small(bert), 8, 0).score(MESSAGES)


def test_the_embedded_backbone_scores_real_sentences() -> None:
    model = random_head(RewardModelSettings(), 768)
    scores = model.score(
        [{"role": "user", "content": "Is there a train?"}, {"role": "assistant", "content": "At nine."}]
    )
    assert len(scores) == 1 and np.isfinite(scores).all()
