from pathlib import Path

import numpy as np
import pytest
import torch

from apportion.reward_model.network import texts as reading
from apportion.reward_model.network.backbones import load_backbone
from apportion.reward_model.network.texts import embed_replies, embed_sentences, embed_texts
from tests.reward_model.tiny import save_tiny


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart", "gpt2"])
def test_texts_of_any_architecture_have_one_vector_each(tmp_path: Path, kind: str) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    found = embed_texts(backbone, ["good train", "", "bad", "good train"])
    assert found.shape == (4, 16) and found.dtype == np.float32
    assert not found[1].any()
    np.testing.assert_array_equal(found[0], found[3])
    assert not np.allclose(found[0], found[2])
    alone = embed_texts(backbone, ["bad"])  # what else is in the batch does not matter beyond rounding
    np.testing.assert_allclose(found[2], alone[0], rtol=1e-4, atol=1e-5)


def test_nothing_but_empty_texts_is_no_work(tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path)), 32)
    assert embed_texts(backbone, []).shape == (0, 16)
    assert not embed_texts(backbone, ["", ""]).any()


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_sentence_is_the_half_of_an_embedding_that_is_the_turn_s_own(tmp_path: Path, kind: str) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    found = embed_sentences(backbone, ["good train", "", "bad", "good train"])
    expected = backbone.embed([("user: something", "good train"), ("", "bad")]).numpy()[:, 16:]
    np.testing.assert_allclose(found[[0, 2, 3]], expected[[0, 1, 0]], rtol=1e-4, atol=1e-5)
    assert not found[1].any()


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart", "gpt2"])
def test_a_reply_is_read_after_what_it_answers(tmp_path: Path, kind: str) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    found = embed_replies(backbone, [("good", "w1 w2"), ("bad", ""), ("bad", "w1 w2"), ("good", "w1 w2")])
    assert found.shape == (4, 16) and found.dtype == np.float32
    assert not found[1].any()
    np.testing.assert_array_equal(found[0], found[3])
    assert not np.allclose(found[0], found[2])
    np.testing.assert_allclose(embed_replies(backbone, [("bad", "w1 w2")])[0], found[2], rtol=1e-4, atol=1e-5)
    assert embed_replies(backbone, []).shape == (0, 16)


def test_the_average_is_over_the_reply_alone(tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path)), 32)
    (window,) = [encoded.window for encoded in backbone.tokens.encode([("good bad", "w1")])]
    with torch.inference_mode():
        layers = backbone.encoder(**backbone.tokens.pad([window]), output_hidden_states=True).hidden_states[1:]
    own = [i for i, segment in enumerate(window.segments) if segment == 1]
    expected = torch.stack([layer[0, own].mean(dim=0) for layer in layers]).mean(dim=0).numpy()
    np.testing.assert_allclose(embed_replies(backbone, [("good bad", "w1")])[0], expected, rtol=1e-5, atol=1e-6)


def test_texts_side_by_side_do_not_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path)), 32)
    said = ["good train", "bad", "no good train at all", "bad bad bad", "good"]
    together = embed_texts(backbone, said)
    alone = np.concatenate([embed_texts(backbone, [text]) for text in said])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(reading, "TOKENS_IN_A_ROW", 9)  # A row ends before it grows too long.
    np.testing.assert_allclose(embed_texts(backbone, said), alone, rtol=1e-4, atol=1e-5)
    backbone.config.model_type = "another"  # Read in rows of their own and padded, the texts say the same.
    np.testing.assert_allclose(embed_texts(backbone, said), alone, rtol=1e-4, atol=1e-5)
