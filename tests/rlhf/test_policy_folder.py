from __future__ import annotations

import json

import pytest
import torch

from corpus.errors import InputError
from rlhf.policy_folder import open_policy, policy_digest
from tests.rlhf.saved import save_aligned, save_model
from tests.rlhf.toy import SMALL


def logits(policy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model.eval()(input_ids=torch.arange(8)[None]).logits


def test_adapters_are_put_on_the_base_beside_them_or_on_the_one_they_name(tmp_path):
    folder = save_aligned(tmp_path / "policy")
    after, before = open_policy(str(folder), SMALL, "after"), open_policy(str(folder / "base"), SMALL, "before")
    assert (after.name, before.name) == ("after", "before")
    assert not torch.equal(logits(after), logits(before))
    (folder / "base").rename(tmp_path / "elsewhere")
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(tmp_path / "elsewhere")
    (folder / "adapter_config.json").write_text(json.dumps(config))
    assert torch.equal(logits(open_policy(str(folder), SMALL, "moved")), logits(after))


@pytest.mark.parametrize("config", ["{", "[]", "{}", '{"base_model_name_or_path": ""}'])
def test_adapters_without_a_base(tmp_path, config):
    folder = save_aligned(tmp_path / "policy")
    (folder / "adapter_config.json").write_text(config)
    with pytest.raises(InputError, match="names no base_model_name_or_path"):
        open_policy(str(folder), SMALL, "p")


def test_other_weights_are_another_policy(tmp_path):
    one, same, other = (save_model(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert policy_digest(str(one)) == policy_digest(str(same)) != policy_digest(str(other))
    assert policy_digest("some/name") == "some/name"
