from __future__ import annotations

from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.reward_model.network.backbones import frozen_backbone, load_backbone
from tests.reward_model.tiny import CAUSAL, CONFIGS, save_tiny


@pytest.mark.parametrize("kind", CAUSAL)
def test_causal_models_can_be_read_in_one_pass(kind: str, tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32, "one_pass")
    assert (backbone.scoring, backbone.width) == ("one_pass", 16)
    assert load_backbone(str(tmp_path), 32).width == 32


@pytest.mark.parametrize("kind", sorted(set(CONFIGS) - set(CAUSAL)))
def test_bidirectional_models_are_refused_because_they_would_leak_the_future(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scoring = 'one_pass': .* is bidirectional.*said after it.*'windowed'"):
        load_backbone(str(save_tiny(tmp_path, kind)), 32, "one_pass")


def test_the_embedded_encoder_is_refused_too() -> None:
    with pytest.raises(InputError, match=r"'minilm' .* is bidirectional"):
        frozen_backbone("minilm", 128, "one_pass")
