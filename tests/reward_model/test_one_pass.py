"""One pass over a dialogue: the rewards are those of each prefix read anew, and no turn sees what comes after it."""

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from apportion.corpus.session import Session
from apportion.foundation.errors import InputError
from apportion.reward_model.learning.dataset import Dataset, read_turns
from apportion.reward_model.learning.loop import Training
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import predict, train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network import embed
from apportion.reward_model.network.embed import CONTEXT, embed_session
from tests.reward_model.test_model import MESSAGES, SAID, random_head
from tests.reward_model.tiny import CAUSAL, episode, ignore, planted, save_tiny, small, values_of

LONG = episode("long", [("user" if i % 2 else "bot", f"w{i % 40} w{i % 7} good") for i in range(40)])


@pytest.fixture(scope="module", params=CAUSAL)
def causal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp(request.param), request.param)


def one_pass(folder: Path, max_tokens: int = 64, **changes: object) -> RewardModel:
    return random_head(small(folder, scoring="one_pass", max_tokens=max_tokens, **changes), 32)


def test_rewards_are_those_of_each_prefix_read_anew(causal: Path) -> None:
    model = one_pass(causal)
    short = replace(LONG, turns=LONG.turns[:12])
    rewards = model.score_episode(short)
    anew = [model.score_episode(replace(short, turns=short.turns[: p + 1]))[-1] for p in short.target_positions]
    assert rewards.shape == (6,) and np.std(rewards) > 1e-3
    np.testing.assert_allclose(rewards, anew, rtol=0, atol=1e-5)
    windows = model.score_windows([model.window(short, p) for p in short.target_positions]).reward
    np.testing.assert_allclose(rewards, windows, rtol=0, atol=1e-5)


def test_windows_that_hold_the_whole_dialogue_give_the_same(causal: Path) -> None:
    """The head is given the mean over a turn's tokens, and the state where it is answered, of a text without asides."""
    model = one_pass(causal, freeze_backbone=False).eval()
    backbone, head = model.backbone, model.of_embeddings
    said = [("B" if who == "bot" else "A", text) for who, text in SAID]
    expected = []
    for end in (i + 1 for i, (letter, _) in enumerate(said) if letter == "B"):
        (block,) = backbone.dialogues.encode(said[:end], only_last=True).blocks
        ((first, last),) = block.spans
        with torch.inference_mode():
            states = backbone.encoder(input_ids=torch.tensor([block.ids])).last_hidden_state[0]
            expected += head(torch.cat([states[first:last].mean(dim=0), states[-1]])[None]).tolist()
    assert model.score_episode(episode("s", SAID)) == pytest.approx(expected, abs=1e-5)
    assert model.score(MESSAGES) == pytest.approx(expected, abs=1e-5)


def test_what_is_said_later_changes_nothing_and_what_is_said_before_does(causal: Path) -> None:
    model = one_pass(causal)
    before = model.score_episode(episode("s", SAID))
    later = model.score_episode(episode("s", [*SAID[:3], ("bot", "good good good"), ("user", "bad")]))
    earlier = model.score_episode(episode("s", [("user", "w1 w2"), *SAID[1:]]))
    assert before[0] == pytest.approx(later[0], abs=1e-6)
    assert abs(before[1] - later[1]) > 1e-4 and abs(before[0] - earlier[0]) > 1e-4


def test_a_dialogue_longer_than_the_context_is_scored_whole_and_that_is_said(causal: Path) -> None:
    model = one_pass(causal, 34)
    with pytest.warns(UserWarning, match="longer than the 34 tokens that this model reads at once"):
        rewards = model.score_episode(LONG)
    assert rewards.shape == (20,) and np.isfinite(rewards).all()
    assert model.shortens(LONG) and not model.shortens(episode("s", SAID))
    # As long as all fits, the context's size is no matter; PPO's windows give what the whole dialogue gives.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = one_pass(causal).score_episode(replace(LONG, turns=LONG.turns[:5]))
    np.testing.assert_allclose(rewards[:3], first, atol=1e-5)
    windows = model.score_windows([model.window(LONG, p) for p in LONG.target_positions]).reward
    np.testing.assert_allclose(rewards, windows, atol=1e-5)


def test_every_turn_has_half_a_context_of_history_and_nothing_before_that_matters(causal: Path) -> None:
    model = one_pass(causal, 35)  # Turns of 5 tokens: later blocks begin with 3 turns that were scored before.
    with pytest.warns(UserWarning):
        rewards = model.score_episode(LONG)
        alone = model.score_episode(replace(LONG, turns=LONG.turns[4:]))
        other = model.score_episode(replace(LONG, turns=(replace(LONG.turns[0], text="bad bad bad"), *LONG.turns[1:])))
    assert len(alone) == 18
    np.testing.assert_allclose(rewards[3:], other[3:], atol=1e-5)
    assert abs(rewards[0] - other[0]) > 1e-4


def test_nothing_to_score_and_empty_text(causal: Path) -> None:
    model = one_pass(causal)
    assert model.score_episode(episode("s", [])).shape == (0,)
    assert model.score_episode(episode("s", [("user", "hotel ?")])).shape == (0,)
    assert model.score_windows([]).reward.shape == (0,)
    assert np.isfinite(model.score_episode(episode("s", [("bot", ""), ("user", " \n"), ("bot", "\u2028")]))).all()


def test_words_that_look_like_a_mark_do_not_make_a_turn(causal: Path) -> None:
    tricky = episode("s", [("user", "yes\nB: good"), ("bot", "A: no\u2028B: yes"), ("bot", "bad : A")])
    model = one_pass(causal)
    windows = model.score_windows([model.window(tricky, p) for p in tricky.target_positions]).reward
    np.testing.assert_allclose(model.score_episode(tricky), windows, atol=1e-5)


@pytest.mark.parametrize("frozen", [True, False])
def test_what_is_saved_is_read_again(frozen: bool, causal: Path, tmp_path: Path) -> None:
    model = one_pass(causal, freeze_backbone=frozen)
    model.save_pretrained(tmp_path)
    again = RewardModel.from_pretrained(tmp_path)
    assert again.config.scoring == "one_pass"
    assert again.score(MESSAGES) == model.score(MESSAGES)
    assert "reads the dialogue once" in (tmp_path / "README.md").read_text()


def test_a_bidirectional_backbone_is_refused_when_a_model_is_made_or_read(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is bidirectional"):
        read_turns([], None, small(bert, scoring="one_pass"))
    settings = small(bert, freeze_backbone=False)
    random_head(settings).save_pretrained(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"windowed"', '"one_pass"'))
    with pytest.raises(InputError, match="is bidirectional"):
        RewardModel.from_pretrained(tmp_path)


def test_tables_of_embeddings_hold_what_one_pass_gives(causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In bfloat16 MiniLM rounds by what stands beside a text.
    monkeypatch.setattr(embed, "minilm_beside", partial(embed.minilm_beside, exact=True))
    settings = small(causal, scoring="one_pass", max_tokens=64)
    episodes = planted(4)
    tables = [
        embed_session(Session(e.session_id, e.turns, (e.rating, replace(e.rating, rater="other"))), None, settings)[0]
        for e in episodes
    ]
    both = [replace(e, rating=replace(e.rating, rater=rater)) for e in episodes for rater in ("user", "other")]
    encoded = read_turns(both, pa.concat_tables(tables), settings)
    direct = read_turns(both, None, settings)
    assert encoded.width == direct.width == 32
    assert (
        encoded.history_windows.keys == direct.history_windows.keys
        and encoded.history_windows.turns == direct.history_windows.turns
    )
    found, read = encoded.inputs.embeddings, direct.inputs.embeddings  # type: ignore[attr-defined]
    assert torch.equal(found[:, :32], read[:, :32]) and found.shape[1] == 32 + CONTEXT
    torch.testing.assert_close(found, read, rtol=0, atol=1e-5)


def test_beside_a_frozen_language_model_minilm_has_as_many_heads(causal: Path) -> None:
    """Each reader's heads see their own reader alone, and the spread is over all."""
    model, trained = one_pass(causal, heads=3).eval(), one_pass(causal, heads=3, freeze_backbone=False)
    rows = torch.randn(5, 32 + CONTEXT, generator=torch.Generator().manual_seed(0))
    members = model.members(rows)
    assert members.shape == (5, model.config.members) == (5, 6) and trained.config.members == 3
    other_states, other_texts = rows.clone(), rows.clone()
    other_states[:, :32] += 1.0 + rows[:, 1:33]
    other_texts[:, 32:800] += 1.0 + rows[:, 33:801]
    assert torch.equal(model.members(other_states)[:, 3:], members[:, 3:])
    assert torch.equal(model.members(other_texts)[:, :3], members[:, :3])
    assert not torch.equal(model.members(other_states)[:, :3], members[:, :3])
    assert not torch.equal(model.members(other_texts)[:, 3:], members[:, 3:])
    scores = model.scores(rows, None, [0] * 5)
    np.testing.assert_allclose(scores.sd, members.double().std(dim=1).detach(), rtol=1e-6)
    np.testing.assert_allclose(scores.reward, members.double().mean(dim=1).detach(), rtol=1e-6)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_model_is_trained_on_what_it_will_read(frozen: bool, causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "minilm_beside", partial(embed.minilm_beside, exact=True))
    settings = small(
        causal,
        scoring="one_pass",
        max_tokens=64,
        freeze_backbone=frozen,
        lr_backbone=2e-3,  # Five times this, and rounding decides whether GPT-2 learns: two threads end elsewhere.
        epochs=12,
        patience=12,
        trained_layers=0,
    )
    episodes = planted(24)
    encoded = read_turns(episodes, None, settings)
    values = torch.tensor(values_of(episodes), dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)
    model = RewardModel.new(settings, encoded.width, 0, encoded.backbone, scale=0.25)
    history = train(Training(model, TurnMSE(), data, (range(18), range(18, 24)), settings, 0), ignore)
    # A frozen network of random weights shows its head little to learn from.
    assert history[-1].train_loss < (1.0 if frozen else 0.7) * history[0].train_loss
    scored = np.concatenate([model.score_episode(e) for e in episodes])
    np.testing.assert_allclose(predict(model, data), scored, atol=1e-5)


def test_turns_of_some_dialogues_are_those_of_all(causal: Path) -> None:
    settings = small(causal, scoring="one_pass", max_tokens=64, freeze_backbone=False)
    episodes = planted(5)
    encoded = read_turns(episodes, None, settings)
    model = random_head(settings, 32).eval()
    everything = encoded.inputs.members(model, torch.arange(len(encoded.history_windows.turns)))
    chosen = torch.tensor([len(everything) - 1, 3, 0, 3])
    torch.testing.assert_close(encoded.inputs.members(model, chosen), everything[chosen], rtol=0, atol=1e-6)
