from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import EMBEDDINGS
from apportion.corpus.session import Rating, Session, Turn
from apportion.foundation.errors import InputError
from apportion.reward_model.network.backbones import load_backbone
from apportion.reward_model.network.embed import embed_episodes, embed_session
from tests.reward_model.tiny import episode, small

TURNS = tuple(
    Turn(i, who, text) for i, (who, text) in enumerate([("user", "hotel ?"), ("bot", "yes"), ("bot", "good")])
)
RATING = Rating("user", "bot", "liked", 4.0, 1.0, 5.0)


def test_a_row_for_each_target_turn_of_each_episode(bert: Path) -> None:
    other = replace(RATING, rater="judge")
    table = embed_session(Session("s", TURNS, (RATING, other)), None, small(bert))
    assert table.column_names == EMBEDDINGS.arrow.names
    assert table.column("turn").to_pylist() == [1, 2, 1, 2]
    assert table.column("rater").to_pylist() == ["user", "user", "judge", "judge"]
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), 32)
    vectors = table.column("embedding").to_pylist()
    assert vectors[:2] == vectors[2:]
    assert vectors[0] != vectors[1]


def test_a_session_without_target_turns_has_no_rows_but_the_same_columns(bert: Path) -> None:
    empty = embed_session(Session("s", TURNS[:1], (RATING,)), None, small(bert))
    assert len(empty) == 0
    full = embed_session(Session("t", TURNS, (RATING,)), None, small(bert))
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


def test_a_backbone_that_cannot_be_loaded_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        embed_session(Session("s", TURNS, (RATING,)), None, small(tmp_path / "nothing"))
