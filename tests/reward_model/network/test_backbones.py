import json
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, BartForConditionalGeneration, BartModel

from apportion.foundation.errors import InputError
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.backbones import (
    TEXTS_AT_ONCE,
    backbone_of_folder,
    frozen_backbone,
    load_backbone,
)
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.network.texts import embed_texts
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import CAUSAL, CONFIGS, save_tiny, small, tokenizer

PAIRS = [("A: hotel ?\n", "yes good"), ("", "no"), ("A: train ?\nB: at nine\nA: good ?\n", "bad bad bad .")]


@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_every_kind_of_model_embeds_windows_alike_alone_and_together(kind: str, tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    together = backbone.embed(PAIRS)
    alone = torch.cat([backbone.embed([pair]) for pair in PAIRS])
    assert together.shape == (3, 32)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)
    assert torch.equal(together, backbone.embed(PAIRS))


def test_an_embedding_is_the_mean_over_the_window_beside_the_mean_over_the_reply_alone(bert: Path) -> None:
    backbone = load_backbone(str(bert), 32)
    model = AutoModel.from_pretrained(bert).eval()
    with torch.inference_mode():
        for both, found in zip(backbone.tokens.encode(PAIRS), backbone.embed(PAIRS), strict=True):
            for text, half in zip((both.window, both.reply), found.chunk(2), strict=True):
                states = model(
                    input_ids=torch.tensor([text.ids]), token_type_ids=torch.tensor([text.segments])
                ).last_hidden_state[0]
                torch.testing.assert_close(half, states.mean(dim=0), rtol=1e-5, atol=1e-6)


def test_order_is_kept_over_many_batches_and_gradients_flow(bert: Path) -> None:
    backbone = load_backbone(str(bert), 32).eval()
    pairs = [("", " ".join(["w1"] * (1 + (7 * i) % 20))) for i in range(3 * TEXTS_AT_ONCE)]
    many = backbone(backbone.tokens.encode(pairs))
    single = torch.cat([backbone.embed([pair]) for pair in pairs])
    torch.testing.assert_close(many.detach(), single, rtol=1e-5, atol=1e-6)
    many.sum().backward()
    assert all(p.grad is not None for name, p in backbone.named_parameters() if "layer.0" in name)


def test_dropout_stays_off_in_training(bert: Path) -> None:
    backbone = load_backbone(str(bert), 32)
    encoded = backbone.tokens.encode(PAIRS)
    assert torch.equal(backbone.train()(encoded), backbone.train()(encoded))


@pytest.mark.parametrize(
    ("kind", "last"),
    [("bert", "layer.1."), ("bart", "decoder.layers.1."), ("t5", "decoder.block.1."), ("gpt2", "h.1.")],
)
def test_only_the_upper_layers_are_trained(kind: str, last: str, tmp_path: Path) -> None:
    backbone = load_backbone(str(save_tiny(tmp_path, kind)), 32)
    trained = {name for name, p in backbone.train_upper(1).named_parameters() if p.requires_grad}
    assert trained == {name for name, _ in backbone.named_parameters() if last in name} != set()
    assert all(p.requires_grad for p in backbone.train_upper(0).parameters())
    backbone.train_upper(99)
    # T5's first block holds the table of distances, too.
    assert sum(p.requires_grad for p in backbone.parameters()) == 2 * len(trained) + (kind == "t5")


def test_a_model_without_a_stack_of_layers_is_named(bert: Path) -> None:
    backbone = load_backbone(str(bert), 32)
    backbone.encoder = torch.nn.Linear(1, 1)
    with pytest.raises(InputError, match=r"trained_layers = 1: a Linear has no stack.*gradient_checkpointing to false"):
        backbone.train_upper(1)


def test_the_embedded_model_is_loaded_once_and_reads_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    backbone = frozen_backbone("minilm", 128)
    assert frozen_backbone("minilm", 128) is backbone
    assert not any(parameter.requires_grad for parameter in backbone.parameters())
    great, fine, rain = backbone.embed(
        [("", "That is great, thanks!"), ("", "Wonderful, thank you."), ("", "It rains.")]
    )
    near = torch.nn.functional.cosine_similarity(great, fine, dim=0)
    assert near > torch.nn.functional.cosine_similarity(great, rain, dim=0) + 0.1


def test_loading_leaves_the_callers_random_numbers_alone(bert: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    load_backbone(str(bert), 32)
    assert torch.equal(torch.rand(2), expected)


def test_architecture_and_tokenizer_are_saved_without_the_place_they_came_from(bert: Path, tmp_path: Path) -> None:
    backbone = load_backbone(str(bert), 32)
    backbone.save(tmp_path / "one")
    again = backbone_of_folder(tmp_path / "one", 32)
    again.load_state_dict(backbone.state_dict())
    assert torch.equal(again.embed(PAIRS), backbone.embed(PAIRS))
    again.save(tmp_path / "two")
    for path in sorted((tmp_path / "one").iterdir()):
        assert str(bert) not in path.read_text()
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_an_unknown_name_without_a_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"backbone 'nobody/no-such-model' cannot be loaded .*Correct train_reward"):
        load_backbone("nobody/no-such-model", 32)


def test_pickled_weights_are_refused(bert: Path, tmp_path: Path) -> None:
    save_tiny(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pickled weights \(\*\.bin\) are refused"):
        load_backbone(str(tmp_path), 32)


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    save_tiny(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config.update(model_type="strange", auto_map={"AutoConfig": "code.Config", "AutoModel": "code.Model"})
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "code.py").write_text("raise SystemExit('run')")
    with pytest.raises(InputError, match="cannot be loaded"):
        load_backbone(str(tmp_path), 32)


def test_weights_of_another_architecture_are_refused(bert: Path, tmp_path: Path) -> None:
    save_tiny(tmp_path, "gpt2")
    AutoConfig.from_pretrained(bert).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"lack \d+ tensors of a BertModel"):
        load_backbone(str(tmp_path), 32)


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart", "gpt2"])
def test_more_tokens_than_positions_are_refused(kind: str, tmp_path: Path) -> None:
    folder = str(save_tiny(tmp_path, kind))
    assert load_backbone(folder, 64).embed([("", "w1 " * 100)]).isfinite().all()
    with pytest.raises(InputError, match=r"max_tokens = 65: .* up to 64 tokens"):
        load_backbone(folder, 65)


def test_a_tokenizer_without_a_fast_version_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.PreTrainedTokenizerFast.is_fast", False)
    with pytest.raises(InputError, match="has no fast version"):
        load_backbone(str(bert), 32)


def test_a_model_that_is_no_text_model_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.BertConfig.hidden_size", None, raising=False)
    from apportion.reward_model.network.backbones import _built

    class Model:
        config = type("Config", (), {})()

    with pytest.raises(InputError, match="no single hidden size"):
        _built("picture", Model(), None, 32, "windowed")


@pytest.mark.parametrize("kind", sorted(set(CONFIGS) - set(CAUSAL)))
def test_bidirectional_models_are_refused_because_they_would_leak_the_future(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scoring = 'one_pass': .* is bidirectional.*said after it.*'windowed'"):
        load_backbone(str(save_tiny(tmp_path, kind)), 32, "one_pass")


def test_the_embedded_encoder_is_refused_too() -> None:
    with pytest.raises(InputError, match=r"'minilm' .* is bidirectional"):
        frozen_backbone("minilm", 128, "one_pass")


def test_in_bfloat16_the_embedded_encoder_reads_the_same_but_for_a_hundredth(monkeypatch):
    plain = load_backbone("minilm", 128)
    for there in (False, True):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda there=there: there)
        fast = frozen_backbone.__wrapped__("minilm", 128)
        assert (fast.encoder.dtype == torch.bfloat16) == there
        texts = [pair[1] for pair in PAIRS]
        for ours, theirs in (
            (fast.embed(PAIRS).numpy(), plain.embed(PAIRS).numpy()),
            (embed_texts(fast, texts), embed_texts(plain, texts)),
        ):
            assert np.linalg.norm(ours - theirs) < 0.03 * np.linalg.norm(theirs)


def test_it_is_loaded_once_a_process_and_never_trained(tmp_path):
    folder = str(save_tiny(tmp_path))
    backbone = frozen_backbone(folder, 32)
    assert frozen_backbone(folder, 32) is backbone
    assert not any(weight.requires_grad for weight in backbone.parameters())


NAMES = ("facebook/bart-large", "kabita-choudhary/finetuned-bart-for-conversation-summary")
REVISION = "0" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client, which has no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def stand_in(cache: Path, name: str, seed: int) -> float:
    """A very small BART with random weights, where the hub's client keeps what it has fetched; the sum of a weight."""
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(REVISION)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BartForConditionalGeneration(CONFIGS["bart"]())
    model.save_pretrained(folder / "snapshots" / REVISION)
    tokenizer().save_pretrained(folder / "snapshots" / REVISION)
    return float(next(iter(model.get_encoder().state_dict().values())).sum())


def test_the_papers_backbones_are_loaded_by_name_as_summarizers_are_saved(cache: Path) -> None:
    sums = {name: stand_in(cache, name, seed) for seed, name in enumerate(NAMES)}
    for name in NAMES:
        settings = RewardModelSettings(backbone=name, max_tokens=32, freeze_backbone=False)
        backbone = load_backbone(settings.backbone, settings.max_tokens)
        model = RewardModel.new(settings, backbone.width, 0, backbone)
        assert type(backbone.encoder).__name__ == "BartModel"
        assert float(next(iter(backbone.encoder.state_dict().values())).sum()) == pytest.approx(sums[name])
        assert model.score_windows([("A : train ?", "yes")]).reward[0] == 0.0  # The untrained head gives the mean.
    assert sums[NAMES[0]] != pytest.approx(sums[NAMES[1]])


ROOT = Path(__file__).resolve().parents[3]
PAPER = RewardModelSettings(preset="paper")
BUNDLED = """
import sys
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.preflight import check_alignment
from apportion.rlhf.settings import AlignSettings
check_backbone(RewardModelSettings())
check_alignment(AlignSettings())
print(sorted({"torch", "transformers", "peft"} & set(sys.modules)))
"""


def save_bart(folder: Path) -> Path:
    """A very small BART with random weights and as many positions as the real one."""
    config = CONFIGS["bart"]()
    config.max_position_embeddings = 1024
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        BartModel(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def test_a_backbone_that_can_be_had_passes_without_its_weights(tmp_path, monkeypatch):
    check_backbone(RewardModelSettings())
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", None)  # No weights are read.
    check_backbone(RewardModelSettings(preset="paper", backbone=str(save_bart(tmp_path))))


def test_a_backbone_that_cannot_be_had_is_told_without_its_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"backbone 'facebook/bart-large' cannot be loaded .* 'minilm', a folder"):
        check_backbone(PAPER)
    pickled = save_tiny(tmp_path / "pickled", "bert")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(InputError, match="no weights as safetensors"):
        check_backbone(small(pickled))
    with pytest.raises(InputError, match=r"max_tokens = 1024: the backbone .* reads up to 64 tokens"):
        check_backbone(RewardModelSettings(preset="paper", backbone=str(save_tiny(tmp_path / "short", "bart"))))
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="torch sees no CUDA device"):
            check_backbone(RewardModelSettings(device="cuda"))


def test_bundled_models_are_checked_without_seconds_of_imports():
    done = subprocess.run([sys.executable, "-c", BUNDLED], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
