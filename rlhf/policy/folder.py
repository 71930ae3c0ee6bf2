"""A policy's folder: adapters, tokenizer, card, window, and the base where it exists nowhere else."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home, check_path, place_folder, temporary_name
from apportion.foundation.model_hub.names import FETCHED, is_folder_name, model_folder
from apportion.rlhf.policy.loading import ADAPTER, Policy, check_model, load_policy, load_tokenizer
from apportion.rlhf.policy_settings import Placement, Window

if TYPE_CHECKING:
    from peft import PeftModel
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
    # The policy's own alone: a planner may have others on the same model.
    model.save_pretrained(str(out), safe_serialization=True, save_embedding_layers=False, selected_adapters=["default"])
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
    """The policy ``name``, to be called ``called``: a folder with adapters and its base, or a whole model."""
    folder = model_folder(name)
    if not (folder / ADAPTER).is_file():
        source = str(folder) if folder.is_dir() else name
        return load_policy(source, window, placement, called=called)
    return load_policy(base_of(folder), window, placement, folder, called)


def check_policy(name: str, window: Window) -> None:
    """What can be known of the policy ``name`` before any weights are loaded; nothing of one at the Hub.

    Raises InputError: as `open_policy`, as far as names, folders and the length of the window go.
    """
    folder = model_folder(name)
    if (folder / ADAPTER).is_file():
        check_model(base_of(folder), window)
    elif folder.is_dir() or is_folder_name(name) or name in FETCHED:
        check_model(name if name in FETCHED else str(folder), window)


def open_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer alone of the policy ``name``."""
    folder = model_folder(name)
    return load_tokenizer(str(folder) if folder.is_dir() else name)


def base_of(folder: Path) -> str:
    """The base of the adapters in ``folder``: the folder beside them, or the name or folder that they name."""
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
            "`apportion run --only align` wrote."
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
    return model_folder(policy) / WINDOW_FILE


def read_window(policy: str) -> dict[str, Any]:
    """The window beside a policy, unchecked; empty where ``policy`` is no folder or has none that can be read."""
    try:
        values = json.loads(window_path(policy).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: values[name] for name in FIELDS if name in values} if isinstance(values, dict) else {}


LEAST = Window(context_turns=1, max_context_tokens=8, max_new_tokens=1)
"""Any model reads this much: how long the policy's own prompts are is no matter of its weights."""


@dataclass(frozen=True)
class Merged:
    """What was written: the model in ``out``, of adapters from ``policy`` on ``base``, ``weights`` numbers in all."""

    policy: str
    base: str
    out: Path
    weights: int

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return {"policy": self.policy, "base": self.base, "out": str(self.out), "weights": self.weights}


def merge_policy(name: str, out: Path, placement: Placement) -> Merged:
    """Write the policy ``name`` as a whole model to ``out``: safetensors, tokenizer, window file and a short card.

    The folder gets its name when all of it is on the disk.

    ``name``: the folder of adapters that an alignment wrote. ``out``: a folder that is not there yet. ``placement``:
    where it is computed, and the number format of the weights that are written. Raises InputError: no folder of
    adapters, something at ``out`` or a place in the policy's own folder, or as `open_policy`.
    """
    folder = at_home(name)
    _check_adapters(name, folder)
    _check_out(folder, out)
    base = base_of(folder)
    policy = open_policy(name, LEAST, placement, name)
    model: Any = policy.model
    merged = model.merge_and_unload()
    # It was set on the wrapper that holds the adapters, and says which tokens end a turn.
    merged.generation_config = policy.model.generation_config
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = temporary_name(out)
    try:
        merged.save_pretrained(str(scratch), safe_serialization=True)
        policy.tokenizer.save_pretrained(str(scratch))
        if window_path(name).is_file():
            shutil.copyfile(window_path(name), scratch / WINDOW_FILE)
        (scratch / "README.md").write_text(_card(name, base, placement), encoding="utf-8")
        place_folder(scratch, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Merged(name, base, out, sum(weight.numel() for weight in merged.parameters()))


def _check_adapters(name: str, folder: Path) -> None:
    check_path(folder)
    if not folder.is_dir():
        raise InputError(
            f"policy {name!r}: no such folder. Give the folder of adapters that `apportion run --only align` wrote."
        )
    if (folder / ADAPTER).is_file():
        return
    if (folder / "config.json").is_file():
        raise InputError(f"policy {name!r}: it holds no adapters and is a whole model already. Use it as it is.")
    raise InputError(
        f"policy {name!r}: the folder is no policy, it has no {ADAPTER}. Give the folder of adapters that "
        "`apportion run --only align` wrote (RUN/policy)."
    )


def _check_out(folder: Path, out: Path) -> None:
    check_path(out)
    if out.exists() or out.is_symlink():
        raise InputError(f"{out} exists, and is not replaced. Name a folder that is not there yet.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{out} lies in the policy {str(folder)!r}, replaced with its run. Name another place.")


def _card(name: str, base: str, placement: Placement) -> str:
    return (
        f"# A merged policy\n\nThe adapters of `{Path(name).name}` in their base `{base}`, as {placement.dtype}. What "
        "it was trained on and with is told in the card of the adapters; the licence of the base goes on to hold.\n"
    )
