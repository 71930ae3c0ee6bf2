"""Opening a policy to speak with it: a run's adapters, or any causal language model by name or folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.loading import ADAPTER, Policy, check_model, is_folder_name, load_policy, load_tokenizer
from apportion.rlhf.policy_settings import Placement, Window

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BASE = "base"
"""What adapters of `tiny` name as their base: the folder beside them."""


def open_policy(name: str, window: Window, placement: Placement, called: str) -> Policy:
    """The policy ``name``, to be called ``called``: a folder with adapters and its base, or a whole model.

    Raises
    ------
    InputError
        As `load_policy`, or adapters whose description cannot be read or whose base is not beside them.
    """
    folder = Path(name).expanduser()
    if not (folder / ADAPTER).is_file():
        source = str(folder) if folder.is_dir() else name
        return load_policy(source, window, placement, called=called)
    return load_policy(base_of(folder), window, placement, folder, called)


def check_policy(name: str, window: Window) -> None:
    """What can be known of the policy in the folder ``name`` before any weights are loaded; nothing of one elsewhere.

    Raises
    ------
    InputError
        As `open_policy`, as far as names, folders and the length of the window go.
    """
    folder = Path(name).expanduser()
    if (folder / ADAPTER).is_file():
        check_model(base_of(folder), window)
    elif folder.is_dir() or is_folder_name(name):
        check_model(str(folder), window)


def open_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """The tokenizer alone of the policy ``name``.

    Raises
    ------
    InputError
        As `open_policy`, as far as tokenizers go.
    """
    folder = Path(name).expanduser()
    return load_tokenizer(str(folder) if folder.is_dir() else name)


def base_of(folder: Path) -> str:
    """The base of the adapters in ``folder``: the folder beside them, or the name or folder that they name.

    Raises
    ------
    InputError
        A description that cannot be read or names none, or a base that is not beside them.
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
            "`apportion run --only align` wrote."
        )
    return str(folder / BASE)
