import numpy as np
import pytest
import torch

from apportion.reward_model.network.backbones import load_backbone, pack, reading_backbone
from apportion.reward_model.network.texts import embed_texts
from tests.reward_model.tiny import save_tiny

TEXTS = ["good train", "bad", "", "no good train at all bad"]


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart", "gpt2"])
def test_a_packed_network_reads_the_same_but_for_rounding(tmp_path, kind):
    folder = str(save_tiny(tmp_path, kind))
    packed = pack(load_backbone(folder, 32))
    plain = embed_texts(load_backbone(folder, 32), TEXTS)
    np.testing.assert_allclose(embed_texts(packed, TEXTS), plain, rtol=1e-4, atol=1e-5)


def test_without_onednn_the_network_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    backbone = load_backbone(str(save_tiny(tmp_path)), 32)
    assert pack(backbone) is backbone
    assert not any("forward" in vars(layer) for layer in backbone.encoder.modules())


def test_layers_of_another_precision_are_left_alone(tmp_path):
    backbone = pack(load_backbone(str(save_tiny(tmp_path)), 32).to(torch.bfloat16))
    assert not any("forward" in vars(layer) for layer in backbone.encoder.modules())


def test_it_is_loaded_once_a_process_and_never_trained(tmp_path):
    folder = str(save_tiny(tmp_path))
    backbone = reading_backbone(folder, 32)
    assert reading_backbone(folder, 32) is backbone
    assert not any(weight.requires_grad for weight in backbone.parameters())
