"""A policy's folder (adapters, tokenizer, card, window; the base where it exists nowhere else), written and opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peft import PeftModel

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.loading import ADAPTER, Policy, check_model, is_folder_name, load_policy, load_tokenizer
from apportion.rlhf.policy_settings import Placement, Window

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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


BASE = "base"
"""What adapters of `tiny` name as their base: the folder beside them."""


def open_policy(name: str, window: Window, placement: Placement, called: str) -> Policy:
    """The policy ``name``, to be called ``called``: a folder with adapters and its base, or a whole model.

    Raises InputError: as `load_policy`, or adapters whose description cannot be read or whose base is not beside them.
    """
    folder = Path(name).expanduser()
    if not (folder / ADAPTER).is_file():
        source = str(folder) if folder.is_dir() else name
        return load_policy(source, window, placement, called=called)
    return load_policy(base_of(folder), window, placement, folder, called)


def check_policy(name: str, window: Window) -> None:
    """What can be known of the policy in the folder ``name`` before any weights are loaded; nothing of one elsewhere.

    Raises InputError: as `open_policy`, as far as names, folders and the length of the window go.
    """
    folder = Path(name).expanduser()
    if (folder / ADAPTER).is_file():
        check_model(base_of(folder), window)
    elif folder.is_dir() or is_folder_name(name):
        check_model(str(folder), window)


def open_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer alone of the policy ``name``. Raises InputError: as `open_policy`, as far as tokenizers go."""
    folder = Path(name).expanduser()
    return load_tokenizer(str(folder) if folder.is_dir() else name)


def base_of(folder: Path) -> str:
    """The base of the adapters in ``folder``: the folder beside them, or the name or folder that they name.

    Raises InputError: a description that cannot be read or names none, or a base that is not beside them.
    """
    path = folder / ADAPTER
    try:
        config: Any = json.loads(path.read_text(encoding="utf-8"))
        base = config["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        base = None
    if not isinstance(base, str) or not base:
        raise InputError(f"{path}: names no base_model_name_or_path. It is damaged: align the policy again.")
    if base != BASE:
        return base
    if not (folder / BASE).is_dir():
        raise InputError(
            f"policy {str(folder)!r}: the folder {BASE!r} with its base is not in it. Copy the whole folder that "
            "`apportion align` wrote."
        )
    return str(folder / BASE)


WINDOW_FILE = "window.json"
FIELDS = tuple(Window.model_fields)


def write_window(folder: Path, window: Window) -> None:
    """Write ``window`` beside a policy; equal windows give equal bytes."""
    (folder / WINDOW_FILE).write_text(
        json.dumps(window.model_dump(), indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def window_path(policy: str) -> Path:
    """Where the window of the policy in the folder ``policy`` is."""
    return Path(policy).expanduser() / WINDOW_FILE


def read_window(policy: str) -> dict[str, Any]:
    """The window beside a policy, unchecked; empty where ``policy`` is no folder or has none that can be read."""
    try:
        values = json.loads(window_path(policy).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: values[name] for name in FIELDS if name in values} if isinstance(values, dict) else {}
