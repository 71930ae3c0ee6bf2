from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from apportion.corpus.schema import EMBEDDINGS
from apportion.corpus.session import Rating, Session, Turn
from apportion.foundation.errors import InputError
from apportion.reward_model.network import texts as reading
from apportion.reward_model.network.backbones import load_backbone
from apportion.reward_model.network.embed import embed_episodes, embed_session, embed_windows
from apportion.reward_model.network.texts import embed_replies, embed_texts
from tests.reward_model.tiny import episode, save_tiny, small, tokenizer


def test_nothing_but_empty_texts_is_no_work(tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path)), 32)
    assert embed_texts(backbone, []).shape == (0, 16)
    assert not embed_texts(backbone, ["", ""]).any()


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


@pytest.mark.parametrize("segments", [True, False])  # Those of E5, which has BERT's shape, are not told.
def test_texts_side_by_side_do_not_see_each_other(
    segments: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny(tmp_path)
    tokenizer(segments=segments).save_pretrained(tmp_path)
    backbone = load_backbone(str(tmp_path), 32)
    said = ["good train", "bad", "no good train at all", "bad bad bad", "good"]
    together = embed_texts(backbone, said)
    alone = np.concatenate([embed_texts(backbone, [text]) for text in said])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(reading, "TOKENS_IN_A_ROW", 9)  # A row ends before it grows too long.
    np.testing.assert_allclose(embed_texts(backbone, said), alone, rtol=1e-4, atol=1e-5)
    backbone.config.model_type = "another"  # Read in rows of their own and padded, the texts say the same.
    np.testing.assert_allclose(embed_texts(backbone, said), alone, rtol=1e-4, atol=1e-5)


TURNS = tuple(
    Turn(i, who, text) for i, (who, text) in enumerate([("user", "hotel ?"), ("bot", "yes"), ("bot", "good")])
)
RATING = Rating("user", "bot", "liked", 4.0, 1.0, 5.0)


def test_a_row_for_each_target_turn_of_each_episode(bert: Path) -> None:
    other = replace(RATING, rater="judge")
    table, utterances = embed_session(Session("s", TURNS, (RATING, other)), None, small(bert))
    assert utterances is not None and len(utterances) == len(TURNS)
    assert table.column_names == EMBEDDINGS.arrow.names
    assert table.column("turn").to_pylist() == [1, 2, 1, 2]
    assert table.column("rater").to_pylist() == ["user", "user", "judge", "judge"]
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), 48)
    vectors = table.column("embedding").to_pylist()
    assert vectors[:2] == vectors[2:]
    assert vectors[0] != vectors[1]


def test_a_session_without_target_turns_has_no_rows_but_the_same_columns(bert: Path) -> None:
    empty, _ = embed_session(Session("s", TURNS[:1], (RATING,)), None, small(bert))
    assert len(empty) == 0
    full, _ = embed_session(Session("t", TURNS, (RATING,)), None, small(bert))
    assert len(pa.concat_tables([empty, full])) == 2


def test_equal_windows_are_computed_once(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = load_backbone(str(bert), 32)
    seen: list[int] = []
    embed = backbone.embed
    monkeypatch.setattr(backbone, "embed", lambda pairs: seen.append(len(pairs)) or embed(pairs))
    _, found = embed_episodes(backbone, [episode("s", [("bot", text)]) for text in ("yes", "no", "yes")], 3)
    assert seen == [2]
    assert found.dtype == np.float32
    assert np.array_equal(found[0], found[2]) and not np.array_equal(found[0], found[1])


def test_a_pooled_window_is_the_mean_of_its_history_the_reply_and_the_turn_before(bert: Path) -> None:
    backbone = load_backbone(str(bert), 32, "pooled")
    pairs = [("rules: good\nA: hotel ?\nB: bad\n", "yes"), ("", "bad")]
    rules, hotel, bad, yes = embed_texts(backbone, ["rules: good", "hotel ?", "bad", "yes"])
    expected = [[*np.mean([rules, hotel, bad], axis=0), *yes, *bad], [*np.zeros(16), *bad, *np.zeros(16)]]
    np.testing.assert_allclose(embed_windows(backbone, pairs), expected, rtol=1e-4, atol=1e-5)
    read = embed_windows(
        backbone, pairs[1:], {"bad": np.ones(16, np.float32)}
    )  # What was read before is not read again.
    assert read[0, 16:32].tolist() == [1.0] * 16


def test_a_backbone_that_cannot_be_loaded_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        embed_session(Session("s", TURNS, (RATING,)), None, small(tmp_path / "nothing"))
