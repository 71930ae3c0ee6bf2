from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.session import Episode, Session
from reward_model.backbones import load_backbone
from reward_model.dataset import among_dialogues, read_turns
from reward_model.embed import embed_session
from reward_model.model import RewardModel
from reward_model.onepass import CausalBackbone, DialogueTokens, Line, _blocks
from reward_model.settings import RewardModelSettings
from reward_model.windows import history_text
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import episode, planted, save_tiny, small

WORDS = ("good", "bad", "train", "hotel", "w1", "w2", "w3")
SAID: list[Line] = [(i % 2 == 1, " ".join(WORDS[: 1 + i % 5])) for i in range(8)]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("gpt2"), "gpt2")


def causal(folder: Path, limit: int = 64) -> CausalBackbone:
    backbone = load_backbone(str(folder), limit, "one_pass")
    assert isinstance(backbone, CausalBackbone)
    return backbone


def one_pass(folder: Path, **changes: object) -> RewardModelSettings:
    return small(folder, scoring="one_pass", **{"max_tokens": 64, **changes})


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_it_equals_reading_every_prefix_again(gpt2: Path, data: st.DataObject) -> None:
    backbone = causal(gpt2)
    said = data.draw(
        st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)), max_size=7)
    )
    scored = [i for i, (by_target, _) in enumerate(said) if by_target]
    whole = backbone.embed_dialogues([backbone.encode(said, scored)])
    again = [backbone.embed_dialogues([backbone.encode(said[: i + 1], [i])]) for i in scored]
    assert whole.shape == (len(scored), 16)
    torch.testing.assert_close(whole, torch.cat([torch.zeros(0, 16), *again]), rtol=0, atol=1e-5)


def test_what_comes_after_a_turn_does_not_enter(gpt2: Path) -> None:
    backbone = causal(gpt2)
    other = [*SAID[:4], (False, "bad bad bad"), *SAID[5:]]
    one, two = (backbone.embed_dialogues([backbone.encode(said, [1, 3, 5])]) for said in (SAID, other))
    torch.testing.assert_close(one[:2], two[:2])
    assert not torch.allclose(one[2], two[2])


def test_dialogues_in_one_call_are_as_each_by_itself(gpt2: Path) -> None:
    backbone = causal(gpt2)
    dialogues = [backbone.encode(SAID[:n], [n - 1]) for n in (8, 1, 5, 3, 8, 2, 7, 4, 6, 1)]
    together = backbone.embed_dialogues(dialogues)
    alone = torch.cat([backbone.embed_dialogues([dialogue]) for dialogue in dialogues])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)
    assert backbone.embed_dialogues([]).shape == (0, 16)


@given(st.integers(8, 40), st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_a_long_dialogue_is_read_in_blocks_that_overlap_by_half(limit: int, lengths: list[int]) -> None:
    ends = tuple(int(end) - 1 for end in np.cumsum(lengths))
    dialogue = DialogueTokens(tuple(range(ends[-1] + 1)), ends)
    blocks = _blocks(dialogue, limit)
    # ids are places here, so that a block tells where it stands
    assert [block.ids[end] for block in blocks for end in block.ends] == list(ends)
    for number, block in enumerate(blocks):
        assert len(block.ids) <= limit and block.ids[-1] == block.ids[block.ends[-1]]
        assert number == 0 or block.ids[0] == 0 or block.ends[0] >= limit // 2


def test_five_thousand_turns_and_empty_text(gpt2: Path) -> None:
    model = random_head(one_pass(gpt2), 16)
    long = episode("s", [turn for i in range(2500) for turn in (("user", ""), ("bot", f"w{i % 40}"))])
    scores = model.score_episode(long)
    assert scores.shape == (2500,) and np.isfinite(scores).all()
    assert np.isfinite(model.score_episode(episode("s", [("bot", ""), ("bot", " \n ")]))).all()
    assert model.score_episode(episode("s", [("user", "hotel")])).shape == (0,)


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart"])
def test_a_model_that_looks_ahead_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=r"scoring = 'one_pass': a \w+ reads what comes after a turn"):
        load_backbone(str(save_tiny(tmp_path, kind)), 32, "one_pass")


def test_every_way_of_scoring_is_the_same(gpt2: Path) -> None:
    model = random_head(one_pass(gpt2), 16)
    whole = model.score_episode(episode("s", [("bot" if by else "user", text) for by, text in SAID]))
    messages = [{"role": "assistant" if by else "user", "content": text} for by, text in SAID]
    assert model.score(messages) == pytest.approx(whole.tolist(), abs=1e-6)
    pairs = [(history_text(SAID[:i]), SAID[i][1]) for i in (1, 3, 5, 7)]
    assert model.score_windows(pairs) == pytest.approx(whole.tolist(), abs=1e-5)
    assert len(set(np.round(whole, 6))) == 4


def test_embeddings_made_beforehand_are_those_of_the_model(gpt2: Path) -> None:
    chosen = one_pass(gpt2)
    episodes = planted(3)
    table = embed_session(Session("s000", episodes[0].turns, (episodes[0].rating,)), None, chosen)
    alone = read_turns(episodes, None, chosen)
    found = alone.inputs.embed(RewardModel.new(chosen, 16, 0), torch.arange(len(table)))
    np.testing.assert_allclose(np.stack(table.column("embedding").to_pylist()), found, atol=1e-5)


def test_a_trained_one_is_saved_and_read_again(gpt2: Path, tmp_path: Path) -> None:
    chosen = one_pass(gpt2, freeze_backbone=False)
    model = random_head(chosen, 16)
    model.save_pretrained(tmp_path / "model")
    again = RewardModel.from_pretrained(tmp_path / "model")
    e: Episode = planted(1)[0]
    np.testing.assert_array_equal(model.score_episode(e), again.score_episode(e))
    assert "up to the reply, once" in (tmp_path / "model" / "README.md").read_text()


def test_a_trained_backbone_reads_each_dialogue_once_with_gradients(gpt2: Path) -> None:
    chosen = one_pass(gpt2, freeze_backbone=False)
    episodes = [episode("u", [("user", "no turn of the target")]), *planted(4)]
    reading = read_turns(episodes, None, chosen)
    model = random_head(chosen, 16).eval()
    every = reading.inputs.predict(model, torch.arange(len(reading.windows.turns)))
    expected = np.concatenate([model.score_episode(e) for e in episodes])
    np.testing.assert_allclose(every.detach(), expected, atol=1e-5)
    some = torch.tensor([1, 4, len(expected) - 1])
    torch.testing.assert_close(reading.inputs.predict(model, some), every[some])
    every.sum().backward()
    assert any(p.grad is not None for p in model.backbone.parameters())


def test_turns_are_found_among_whole_dialogues() -> None:
    dialogues, places = among_dialogues(torch.tensor([0, 2, 5, 6]), torch.tensor([3, 5, 4]))
    assert dialogues.tolist() == [1, 2] and places.tolist() == [1, 3, 2]
