"""Adapters put into their base for good: a whole model, which can be aligned again and served by other programs."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, place_folder, temporary_name
from apportion.rlhf.policy.context_config import FILE as WINDOW
from apportion.rlhf.policy.context_config import window_path
from apportion.rlhf.policy.loading import ADAPTER
from apportion.rlhf.policy.opening import base_of, open_policy
from apportion.rlhf.policy_settings import Placement, Window

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

    Parameters
    ----------
    name : str
        The folder of adapters that an alignment wrote.
    out : Path
        A folder that is not there yet.
    placement : Placement
        Where it is computed, and the number format of the weights that are written.

    Raises
    ------
    InputError
        No folder of adapters, something at ``out`` or a place in the policy's own folder, or as `open_policy`.
    """
    folder = Path(name).expanduser()
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
            shutil.copyfile(window_path(name), scratch / WINDOW)
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
