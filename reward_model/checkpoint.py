"""A reward model's folder: config.json, model.safetensors, README.md; and nothing that is pickled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from apportion.foundation.errors import InputError
from apportion.foundation.settings import problems
from apportion.reward_model.config import CARD, RewardModelConfig, model_card

CONFIG, WEIGHTS, BACKBONE_FOLDER = "config.json", "model.safetensors", "backbone"
ADAPTER = ".lora_"
"""In the names that peft gives adapters."""
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
MAKE = "Make one with `apportion run --only train-reward`."


def write_checkpoint(
    out: Path, config: RewardModelConfig, weights: Mapping[str, Tensor], metrics: Mapping[str, float]
) -> None:
    """Write the three files; equal models give equal bytes."""
    out.mkdir(parents=True, exist_ok=True)
    tensors = {name: weights[name].detach().contiguous().clone() for name in sorted(weights)}
    save_file(tensors, out / WEIGHTS, metadata={"format": "pt"})  # With more keys than one the bytes would vary.
    (out / CONFIG).write_text(json.dumps(config.model_dump(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (out / CARD).write_text(model_card(config, metrics), encoding="utf-8")


def read_config(folder: Path) -> RewardModelConfig:
    """The configuration of the checkpoint in ``folder``."""
    _refuse_pickles(folder)
    path = folder / CONFIG
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: the reward model's configuration cannot be read ({error.strerror}). {MAKE}"
        ) from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}). Copy the folder again, or make it again.") from None
    if not isinstance(values, dict) or values.get("model_type") != "apportion-reward-model":
        kind = values.get("model_type") if isinstance(values, dict) else type(values).__name__
        raise InputError(
            f"{path}: model_type is {kind!r}; a reward model's is 'apportion-reward-model'. "
            f"This is a checkpoint of something else. {MAKE}"
        )
    if "heads" not in values:
        raise InputError(f"{path}: no 'heads'; the model is of an earlier version, which had one head. {MAKE}")
    try:
        return RewardModelConfig.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{path}: {problems(error)[0]}. {MAKE}") from None


def check_checkpoint(folder: Path) -> None:
    """Raise InputError where `read_config` would, or the weights are not there or older; nothing is loaded."""
    read_config(folder)
    path = _weights_of(folder)
    try:
        with safe_open(path, "pt") as weights:
            _refuse_older(weights.keys(), path)
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from None


def _weights_of(folder: Path) -> Path:
    path = folder / WEIGHTS
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; the checkpoint has no weights. Copy the whole folder, or make it again."
        )
    return path


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of the checkpoint in ``folder``."""
    path = _weights_of(folder)
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from None
    _refuse_older(weights, path)
    return weights


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: not a readable safetensors file ({error}). Copy it again, or make it again.")


def _refuse_older(names: Iterable[str], path: Path) -> None:
    if "context_fit.scale" in names:
        raise InputError(f"{path}: the model is of an earlier version, which took from replies that fit. {MAKE}")


def stored_weights(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint holds of ``model``: each weight once (BART's embeddings have several names), and of a backbone
    with adapters those alone."""
    names = {name for name, _ in model.named_parameters()}
    if any(ADAPTER in name for name in names):
        names = {name for name in names if ADAPTER in name or not name.startswith("trained_backbone.")}
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return {name: tensor for name, tensor in model.state_dict().items() if name in names or name not in every}


def fill(model: nn.Module, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Put ``weights`` into ``model``, exactly those and no others."""
    wanted = {name: tuple(tensor.shape) for name, tensor in stored_weights(model).items()}
    given = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if wanted != given:
        name = min(key for key in wanted.keys() | given.keys() if wanted.get(key) != given.get(key))
        raise InputError(
            f"{folder / WEIGHTS}: weights of another architecture. {name!r} is {given.get(name, 'missing')}; "
            f"config.json asks for {wanted.get(name, 'no such tensor')}. Use the two files of one training."
        )
    damaged = next((name for name, tensor in weights.items() if not bool(torch.isfinite(tensor).all())), None)
    if damaged is not None:
        raise InputError(
            f"{folder / WEIGHTS}: {damaged!r} holds numbers that are not finite, so every reward would be NaN. "
            f"The training went astray. {MAKE}"
        )
    model.load_state_dict(dict(weights), strict=False)  # What is not stored is there already.


def _refuse_pickles(folder: Path) -> None:
    if folder.suffix in PICKLES and not folder.is_dir():
        pickles = [folder.name]
    elif folder.is_dir() and not (folder / WEIGHTS).is_file():
        pickles = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    else:
        return
    if pickles:
        raise InputError(
            f"{folder}: {pickles[0]} is a pickle, which can run any code when it is read, so it is refused. A reward "
            f"model is a folder with {CONFIG} and {WEIGHTS}; convert the weights to safetensors where you trust them."
        )
