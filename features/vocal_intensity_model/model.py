"""The model: from what is measured of a voice, against what is usual for it, to how probably it speaks strongly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest, remembered_digest, write_atomically

MEANS = ("f0_hz", "intensity_db", "jitter_local", "log_energy_db")
FIGURES = (*MEANS, "voiced")
"""What is read of a stretch of speech: the features' means, and the share of it in which the voice sounds."""
CONFIG, WEIGHTS = "config.json", "model.safetensors"
KIND = "apportion-vocal-intensity"


def figures(measured: Mapping[str, tuple[float | None, float]]) -> Floats:
    """(mean, coverage) by feature, as voices are measured, to the figures (F,); NaN where nothing was heard."""
    means = [measured.get(name, (None, 0.0))[0] for name in MEANS]
    voiced = measured.get("f0_hz", (None, 0.0))[1]
    return np.array([np.nan if mean is None else mean for mean in means] + [voiced], dtype=np.float64)


def against_usual(values: Floats, usual: Floats) -> Floats:
    """Standard deviations from what is usual for the speaker [shape=(N, F), (M, F) -> (N, F)].

    So neither the microphone's level nor the pitch of a voice says anything. 0 where a figure is unknown or the
    speaker's never varies.
    """
    known = np.isfinite(usual)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, usual, 0.0).sum(axis=0) / count
    sd = np.sqrt((np.where(known, usual - mean, 0.0) ** 2).sum(axis=0) / count)
    varies = sd > 1e-9 * np.maximum(1.0, np.abs(mean))
    z: Floats = np.where(varies & np.isfinite(values), (values - mean) / np.where(varies, sd, 1.0), 0.0)
    return z


@dataclass(frozen=True, eq=False)
class IntensityModel:
    """P(strong) = 1 / (1 + exp(-(bias + z . weights))), z the figures against what is usual, weights (F,)."""

    weights: Floats
    bias: float

    def probability(self, z: Floats) -> Floats:
        """How probably each stretch is spoken strongly [shape=(N, F) -> (N,)]."""
        probability: Floats = 0.5 * (1.0 + np.tanh(0.5 * (self.bias + z @ self.weights)))
        return probability

    def save(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Write config.json (with ``facts`` on its training) and model.safetensors into ``folder``."""
        from safetensors.numpy import save

        folder.mkdir(parents=True, exist_ok=True)
        weights = {"weights": self.weights.astype(np.float64), "bias": np.array([self.bias], dtype=np.float64)}
        write_atomically(folder / WEIGHTS, save(weights))
        about = {"model_type": KIND, "figures": list(FIGURES), "training": dict(facts)}
        write_atomically(folder / CONFIG, json.dumps(about, indent=1, sort_keys=True) + "\n")


def load_intensity_model(folder: Path | None) -> IntensityModel:
    """The model in ``folder``.

    Raises
    ------
    InputError
        None, no such folder, or what is in it is no such model.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    _digests(folder)
    assert folder is not None
    try:
        about = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        kind, named = about["model_type"], about["figures"]
        tensors = load((folder / WEIGHTS).read_bytes())
        model = IntensityModel(tensors["weights"].astype(np.float64), float(tensors["bias"][0]))
    except (OSError, ValueError, KeyError, TypeError, IndexError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable model of vocal intensity ({error}). {_TRAIN}") from None
    sound = model.weights.shape == (len(FIGURES),) and np.isfinite([*model.weights, model.bias]).all()
    if kind != KIND or named != list(FIGURES) or not sound:
        raise InputError(
            f"{folder}: a model of {named!r} and kind {kind!r}; needed is {KIND!r} with finite weights of "
            f"{', '.join(FIGURES)}. {_TRAIN}"
        )
    return model


def intensity_identity(folder: Path | None) -> str:
    """sha256 over the model's files: the same for the same model anywhere. Raises InputError where there is none."""
    return digest(_digests(folder))


_TRAIN = "Train one: `apportion train intensity FOLDER`."


def _digests(folder: Path | None) -> list[str]:
    if folder is None:
        raise InputError(f"no model of vocal intensity is named (decompose.intensity.model). {_TRAIN}")
    try:
        return [remembered_digest(folder / name) for name in (CONFIG, WEIGHTS)]
    except OSError:
        raise InputError(
            f"decompose.intensity.model = '{folder}': no folder with {CONFIG} and {WEIGHTS} that can be read. {_TRAIN}"
        ) from None
