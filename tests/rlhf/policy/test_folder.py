import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.folder import check_policy, merge_policy, open_policy, read_window, write_window
from apportion.rlhf.policy.loading import load_policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings, Placement
from tests.rlhf.saved import save_aligned, save_model
from tests.rlhf.toy import SMALL, small_policy

ASKED = (SMALL.window, SMALL.placement)


def logits(policy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model.eval()(input_ids=torch.arange(8)[None]).logits


def test_adapters_are_put_on_the_base_beside_them_or_on_the_one_they_name(tmp_path):
    folder = save_aligned(tmp_path / "policy")
    after, before = (open_policy(str(folder), *ASKED, "after"), open_policy(str(folder / "base"), *ASKED, "before"))
    assert (after.name, before.name) == ("after", "before")
    assert not torch.equal(logits(after), logits(before))
    (folder / "base").rename(tmp_path / "elsewhere")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(tmp_path / "elsewhere")
    (folder / "adapter_config.json").write_text(json.dumps(config))
    assert torch.equal(logits(open_policy(str(folder), *ASKED, "moved")), logits(after))


@pytest.mark.parametrize("config", ["{", "[]", "{}", '{"base_model_name_or_path": ""}'])
def test_adapters_without_a_base(tmp_path, config):
    folder = save_aligned(tmp_path / "policy")
    (folder / "adapter_config.json").write_text(config)
    with pytest.raises(InputError, match="names no base_model_name_or_path"):
        open_policy(str(folder), *ASKED, "p")


def test_a_folder_that_is_not_there_is_told_before_anything_is_loaded(tmp_path):
    with pytest.raises(InputError, match=r"none': no such folder"):
        check_policy(str(tmp_path / "none"), SMALL.window)
    with pytest.raises(InputError, match=r"it is not here .* Get it: apportion models fetch smollm2"):
        check_policy("smollm2", SMALL.window)


def test_a_base_that_is_not_beside_its_adapters(tmp_path):
    folder = save_aligned(tmp_path / "policy")
    shutil.rmtree(folder / "base")
    for opened in (lambda: open_policy(str(folder), *ASKED, "p"), lambda: check_policy(str(folder), SMALL.window)):
        with pytest.raises(InputError, match=r"the folder 'base' with its base is not in it\. Copy the whole folder"):
            opened()


def _wider(folder: Path) -> None:
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({name: weight.repeat(2, 2) for name, weight in weights.items()}, folder / "adapter_model.safetensors")


def _fewer(folder: Path) -> None:
    weights = load_file(folder / "adapter_model.safetensors")
    weights.pop(next(iter(weights)))
    save_file(weights, folder / "adapter_model.safetensors")


def _more(folder: Path) -> None:
    weights = load_file(folder / "adapter_model.safetensors")
    name, weight = next(iter(weights.items()))
    save_file({**weights, name.replace("layers.0", "layers.9"): weight.clone()}, folder / "adapter_model.safetensors")


def _cut(folder: Path) -> None:
    (folder / "adapter_model.safetensors").write_bytes(b"cut")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_wider, "size mismatch"),
        (_fewer, "1 weights do not match; the file lacks"),
        (_more, r"1 weights do not match; the base has no place for .*layers\.9"),
        (_cut, "header"),
    ],
)
def test_adapters_that_are_another_models_or_damaged(tmp_path, change, problem):
    folder = save_aligned(tmp_path / "policy")
    change(folder)
    told = f"its adapters cannot be put on the base .*{problem}.*They belong to another model, or a file is damaged"
    with pytest.raises(InputError, match=told):
        open_policy(str(folder), *ASKED, "p")


def test_adapters_without_their_tokenizer(tmp_path):
    folder = save_aligned(tmp_path / "policy")
    for file in [*folder.glob("tokenizer*"), folder / "chat_template.jinja"]:
        file.unlink()
    with pytest.raises(InputError, match="the folder has no tokenizer"):
        open_policy(str(folder), *ASKED, "p")


@pytest.mark.parametrize("text", [None, "no json", "[1]", '{"other": 3}'])
def test_where_there_is_none_nothing_is_known(tmp_path, text):
    if text is not None:
        (tmp_path / "window.json").write_text(text)
    assert read_window(str(tmp_path)) == {}
    assert read_window("tiny") == {}


def test_a_folder_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "policy").mkdir()
    write_window(tmp_path / "policy", SMALL.window)
    assert read_window("~/policy") == read_window(str(tmp_path / "policy")) != {}


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

    monkeypatch.setattr("apportion.rlhf.policy.folder.place_folder", full)
    with pytest.raises(OSError, match="No space left"):
        merge_policy(str(folder), tmp_path / "merged", SMALL.placement)
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


def test_an_unknown_layer_is_named_with_those_there_are():
    with pytest.raises(InputError, match=r"no linear layer 'c_attn'. It has: .*q_proj.*v_proj"):
        attach_adapter(small_policy().model, LoraSettings(targets=("q_proj", "c_attn")))
