from __future__ import annotations

from pathlib import Path

import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.folder import open_policy
from apportion.rlhf.policy.loading import load_policy
from apportion.rlhf.policy.merging import merge_policy
from apportion.rlhf.policy_settings import Placement
from tests.rlhf.saved import save_aligned, save_model
from tests.rlhf.toy import SMALL

ASKED = (SMALL.window, SMALL.placement)


def logits(policy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model.eval()(input_ids=torch.arange(8)[None]).logits


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_merged_policy_says_what_base_and_adapters_say(tmp_path):
    folder, out = save_aligned(tmp_path / "policy"), tmp_path / "new" / "merged"
    merged = merge_policy(str(folder), out, SMALL.placement)
    whole, both = load_policy(str(out), *ASKED), open_policy(str(folder), *ASKED, "both")
    base = load_policy(str(folder / "base"), *ASKED)
    torch.testing.assert_close(logits(whole), logits(both), rtol=1e-4, atol=1e-4)
    assert (logits(whole) - logits(base)).abs().max() > 0.01
    assert (whole.eos_ids, whole.pad_id) == (both.eos_ids, both.pad_id)
    assert merged.weights == sum(weight.numel() for weight in base.model.parameters())
    assert merged.to_json()["out"] == str(out)


def test_what_lies_beside_the_weights(tmp_path):
    folder, out = save_aligned(tmp_path / "policy"), tmp_path / "merged"
    before = files(folder / "base")
    merge_policy(str(folder), out, SMALL.placement)
    written = files(out)
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md"} <= set(written)
    assert written["window.json"] == (folder / "window.json").read_bytes()
    assert "adapter_config.json" not in written and files(folder / "base") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged", "policy"]
    merge_policy(str(folder), tmp_path / "again", SMALL.placement)
    assert files(tmp_path / "again") == written


def test_a_policy_without_a_window_file_and_half_the_bytes(tmp_path):
    folder, out = save_aligned(tmp_path / "policy"), tmp_path / "merged"
    (folder / "window.json").unlink()
    merge_policy(str(folder), out, Placement(dtype="bfloat16"))
    assert not (out / "window.json").exists()
    assert '"bfloat16"' in (out / "config.json").read_text()


def test_what_is_there_is_never_replaced(tmp_path):
    folder, out = save_aligned(tmp_path / "policy"), tmp_path / "merged"
    out.mkdir()
    with pytest.raises(InputError, match="merged exists, and is not replaced"):
        merge_policy(str(folder), out, SMALL.placement)
    with pytest.raises(InputError, match=r"lies in the policy .*Name another place"):
        merge_policy(str(folder), folder / "merged", SMALL.placement)
    assert not list(out.iterdir())


def test_what_is_no_folder_of_adapters(tmp_path):
    (tmp_path / "empty").mkdir()
    save_model(tmp_path / "whole")
    for name, told in (
        ("none", "no such folder"),
        ("empty", "the folder is no policy, it has no adapter_config.json"),
        ("whole", "is a whole model already"),
    ):
        with pytest.raises(InputError, match=told):
            merge_policy(str(tmp_path / name), tmp_path / "merged", SMALL.placement)


def test_a_merge_that_fails_leaves_nothing(tmp_path, monkeypatch):
    folder = save_aligned(tmp_path / "policy")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apportion.rlhf.policy.merging.place_folder", full)
    with pytest.raises(OSError, match="No space left"):
        merge_policy(str(folder), tmp_path / "merged", SMALL.placement)
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]
