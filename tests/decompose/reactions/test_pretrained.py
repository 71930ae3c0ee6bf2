"""The file of a reaction model: what is written is read again, and what is damaged is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from safetensors.numpy import save

from apportion.decompose.reactions import pretrained as module
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions
from apportion.decompose.reactions.pretrained import (
    Prior,
    PriorCard,
    TrainingProvenance,
    prior_identity,
    read_prior,
    write_prior,
)
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from tests.evaluation.made_up import episode

WIDTH = 3
READING = {"backbone": "minilm", "max_tokens": 128}
SIZE = WIDTH + len(CUES)


def card(**changes: Any) -> PriorCard:
    learnt = TrainingProvenance(corpus="made up", rating="liking", sessions=40, turns=200)
    values = {
        "name": "made-up", "learnt_from": (learnt,), "licence": "Apache-2.0", "reading": READING,
        "backbone": "minilm", "width": WIDTH, "cues": CUES, "late": 1.0, "explained": 0.2, "adapts": False,
        "versions": {"apportion": "0.0"},
    }  # fmt: skip
    return PriorCard.model_validate({**values, **changes})


def prior(seed: int = 0, bias: float = 0.25) -> Prior:
    rng = np.random.default_rng(seed)
    scale = np.abs(rng.normal(size=SIZE)) + 0.1
    scale[-1] = np.inf
    return Prior(card(), rng.normal(size=SIZE), scale, rng.normal(size=SIZE), bias)


def reactions(seed: int = 5, width: int = WIDTH) -> Reactions:
    rng = np.random.default_rng(seed)
    episodes = tuple(episode(f"s{i}", 4, 1.0) for i in range(3))
    turns = sum(len(e.target_turns) for e in episodes)
    return Reactions(
        episodes, rng.normal(size=(turns, len(CUES))), rng.normal(size=(turns, width)),
        np.ones(turns, np.bool_), np.zeros((turns, 0)),
    )  # fmt: skip


def written(tmp_path: Path, text: str | None = None, tensors: dict[str, Any] | None = None) -> Path:
    """A file with another card or other tensors than a model has."""
    made = prior()
    held = {"centre": made.centre, "scale": made.scale, "weights": made.weights, "bias": np.array([made.bias])}
    text = made.card.model_dump_json() if text is None else text
    path = tmp_path / "m.safetensors"
    path.write_bytes(save({**held, **(tensors or {})}, metadata={"card": text}))
    return path


def changed_card(**changes: Any) -> str:
    return json.dumps({**json.loads(card().model_dump_json()), **changes})


@hypothesis_settings(max_examples=20, deadline=None)
@given(st.integers(0, 99), st.floats(-10, 10))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, seed: int, bias: float) -> None:
    made, path = prior(seed, bias), tmp_path_factory.mktemp("prior") / "m.safetensors"
    write_prior(path, made)
    found = read_prior(path)
    assert found.card == made.card and found.bias == made.bias
    np.testing.assert_array_equal(found.values(reactions()), made.values(reactions()))


def test_equal_models_give_equal_bytes_and_a_card_for_people(tmp_path: Path) -> None:
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    write_prior(one, prior())
    write_prior(other, prior())
    assert one.read_bytes() == other.read_bytes() and prior_identity(one) == prior_identity(other)
    shown = json.loads((tmp_path / "one.json").read_text())
    assert shown["learnt_from"][0]["sessions"] == 40 and shown["licence"] == "Apache-2.0"
    write_prior(other, prior(1))
    assert prior_identity(one) != prior_identity(other)


def test_a_value_is_a_weighted_sum_and_a_column_may_be_left_out() -> None:
    made, seen = prior(), reactions()
    features = np.concatenate([seen.embeddings, seen.cues], axis=1)
    by_hand: list[float] = []
    for row in features:
        terms = [(x - c) / s * w for x, c, s, w in zip(row, made.centre, made.scale, made.weights, strict=True)]
        by_hand.append(sum(terms[:-1]) + 0.25)  # the last column's scale is infinite
    np.testing.assert_allclose(made.values(seen), by_hand)
    moved: Floats = seen.cues.copy()
    moved[:, -1] += 100.0
    np.testing.assert_allclose(made.values(replace(seen, cues=moved)), by_hand)


def test_a_model_that_adapts_reads_replies_against_those_of_their_corpus() -> None:
    made, seen = prior(), reactions()
    made = replace(made, card=card(adapts=True))
    own = len(seen.cues) / (len(seen.cues) + 200)
    features = np.concatenate([seen.embeddings, seen.cues], axis=1)
    centre = own * features.mean(axis=0) + (1 - own) * made.centre
    scale = np.sqrt(own * features.var(axis=0) + (1 - own) * made.scale**2)
    np.testing.assert_allclose(made.values(seen), ((features - centre) / scale) @ made.weights + made.bias)
    many = Reactions(
        seen.episodes, np.tile(seen.cues, (5000, 1)), np.tile(seen.embeddings, (5000, 1)),
        np.tile(seen.replied, 5000), np.zeros((5000 * len(seen.cues), 0)),
    )  # fmt: skip
    moved = replace(many, cues=3 * many.cues + 7.0, embeddings=2 * many.embeddings - 1.0)
    np.testing.assert_allclose(made.values(moved), made.values(many), atol=0.05)


def test_replies_that_were_read_otherwise_are_refused() -> None:
    made = prior()
    with pytest.raises(InputError, match=r"'made-up': learnt on replies of 3 numbers each, these have 5\. Read them"):
        made.values(reactions(width=5))
    made.check_reading(READING, "minilm")
    with pytest.raises(InputError, match=r"learnt with max_tokens = 128, and decompose.reaction.max_tokens is 64"):
        made.check_reading({**READING, "max_tokens": 64}, "minilm")
    with pytest.raises(InputError, match=r"learnt with pair = None, and decompose.reaction.pair is True"):
        made.check_reading({**READING, "pair": True}, "minilm")
    with pytest.raises(InputError, match=r"the encoder 'minilm' is another one than it was learnt with \(minilm, here"):
        made.check_reading(READING, "0" * 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "its card is not valid JSON"),
        ("[" * 100_000, "its card is not valid JSON"),
        ("[]", "its card is of the kind 'list'; a reaction model's is 'apportion-reactions'"),
        ('{"kind": "lamp"}', "its card is of the kind 'lamp'"),
        (changed_card(format=2), "its card cannot be used: format = 2: Input should be 1"),
        (changed_card(learnt_from=[]), "its card cannot be used: learnt_from"),
        (changed_card(lisence="MIT"), "lisence: unknown key; did you mean 'licence'"),
        (changed_card(cues=[*CUES[:-1]]), "its cues differ from those of this version in turn regrets"),
        (changed_card(cues=[*CUES[::-1]]), "its cues differ from those of this version in their order"),
    ],
)
def test_a_damaged_card_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_prior(path)
    assert message in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"more": np.zeros(1)}, "tensor 'more' is (1,); its card asks for no such tensor"),
        ({"weights": np.zeros(2)}, f"tensor 'weights' is (2,); its card asks for ({SIZE},)"),
        ({"weights": np.full(SIZE, np.nan)}, "weights[0] is nan; it has to be finite"),
        ({"bias": np.array([np.inf])}, "bias[0] is inf; it has to be finite"),
        ({"scale": np.zeros(SIZE)}, "scale[0] is 0.0; it has to be above 0"),
        ({"centre": np.zeros(SIZE, np.int64)}, "tensor 'centre' holds int64, not floating-point numbers"),
    ],
)
def test_damaged_tensors_are_refused(tmp_path: Path, tensors: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_prior(written(tmp_path, tensors=tensors))
    assert message in str(caught.value)


def test_what_is_no_such_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"nothing.safetensors: no such file\. Make one with `apportion train react"):
        read_prior(tmp_path / "nothing.safetensors")
    with pytest.raises(InputError, match="a folder"):
        read_prior(tmp_path)
    path = tmp_path / "text.safetensors"
    path.write_text("hello")
    with pytest.raises(InputError, match="not a readable safetensors file"):
        read_prior(path)
    path.write_bytes(save({"x": np.zeros(1)}))
    with pytest.raises(InputError, match="safetensors of something else, without a 'card' in the metadata"):
        read_prior(path)
    monkeypatch.setattr(module, "LARGEST", 10)
    with pytest.raises(InputError, match=r"bytes; the largest that is read has 10\."):
        read_prior(path)
    with pytest.raises(InputError, match=r"m\.bin: a reaction model is a file \.safetensors; call it 'm\.safetensors'"):
        write_prior(tmp_path / "m.bin", prior())


def test_the_identity_needs_a_file_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no reaction model is named \(decompose.reaction.pretrained\)"):
        prior_identity(None)
    with pytest.raises(InputError, match=r"decompose.reaction.pretrained = '.*gone.safetensors': no such file"):
        prior_identity(tmp_path / "gone.safetensors")
    write_prior(tmp_path / "m.safetensors", prior())

    def closed(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module, "remembered_digest", closed)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        prior_identity(tmp_path / "m.safetensors")


def test_a_card_tells_who_judged() -> None:
    judged = TrainingProvenance(
        corpus="written", ground="judgements", by="Claude, 2026-11-23", sessions=330, turns=2000
    )
    two = card(learnt_from=(judged, judged))
    assert two.judges == ("Claude, 2026-11-23",) and card().judges == ()
    assert "330 sessions of written (judgements by Claude, 2026-11-23)" in two.told() and "Apache-2.0" in two.told()
