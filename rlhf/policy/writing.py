"""The folder of an aligned policy: adapters, tokenizer, card, and the base where it exists nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

from peft import PeftModel

from apportion.rlhf.policy.loading import Policy


def write_policy(out: Path, policy: Policy, model: PeftModel, card: str) -> None:
    """Write ``adapter_model.safetensors``, ``adapter_config.json``, tokenizer and ``README.md``; ``base/`` for tiny.

    Equal policies give equal bytes.
    """
    out.mkdir(parents=True, exist_ok=True)
    tiny = policy.name == "tiny"
    write_adapter(out, policy, model)
    (out / "README.md").write_text(card, encoding="utf-8")
    policy.tokenizer.save_pretrained(str(out))
    if tiny:
        model.unload().save_pretrained(str(out / "base"))
        policy.tokenizer.save_pretrained(str(out / "base"))


def write_adapter(out: Path, policy: Policy, model: PeftModel) -> None:
    """Write ``adapter_model.safetensors`` and ``adapter_config.json`` into a folder that is there."""
    # False: whether embeddings were resized, which would else be asked of the Hub; adapters never touch them here.
    model.save_pretrained(str(out), safe_serialization=True, save_embedding_layers=False)
    # peft's own note on a model that nobody has described yet.
    (out / "README.md").unlink(missing_ok=True)
    _settle_config(out / "adapter_config.json", "base" if policy.name == "tiny" else policy.name)


def _settle_config(path: Path, base: str) -> None:
    # peft writes sets in the order of their hashes, which differs from process to process.
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = base
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
