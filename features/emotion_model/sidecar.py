"""What an emotion model's ONNX file does not say of itself: the JSON file beside it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator

from apportion.features.registry import EMOTIONS
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Place, Settings, problems

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
MAX_BYTES = 65_536

Triple = tuple[float, float, float]


class EmotionSidecar(Settings, allow_inf_nan=False):
    """How a model takes a face and gives its emotions; every field has the value of the HSEmotion models."""

    order: tuple[str, ...] = Field(default=EMOTIONS, description="The eight emotions as the outputs have them.")
    mean: Triple = Field(
        default=IMAGENET_MEAN, description="Taken off each channel (0 to 1), in the model's order of channels."
    )
    std: Triple = Field(default=IMAGENET_STD, description="By which each channel is then divided.")
    input_px: int | None = Field(
        default=None, ge=16, le=1024, description="Side of the square input, where the graph leaves it open."
    )
    color: Literal["rgb", "bgr"] = Field(default="rgb", description="Order of the channels that the model takes.")
    softmax: bool = Field(default=True, description="The outputs are logits; false: they are probabilities already.")

    @field_validator("order")
    @classmethod
    def _check_order(cls, order: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(name.lower() for name in order)
        for name in names:
            if name not in EMOTIONS:
                raise ValueError(f"{name!r} is no emotion; {_nearest(name, EMOTIONS)}")
        if sorted(names) != sorted(EMOTIONS):
            raise ValueError(f"each emotion once, eight in all: {', '.join(EMOTIONS)}")
        return names

    @field_validator("std")
    @classmethod
    def _check_std(cls, std: Triple) -> Triple:
        if min(std) <= 0 or not all(map(math.isfinite, std)):
            raise ValueError("each number must be above 0")
        return std


def sidecar_path(model: Path) -> Path:
    """``<file>.json`` beside the ONNX file."""
    return model.with_name(f"{model.name}.json")


def read_sidecar(model: Path) -> EmotionSidecar:
    """The sidecar of ``model``, or the defaults where there is none.

    Raises ``InputError`` naming file, field, value and what is allowed.
    """
    path = sidecar_path(model)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return EmotionSidecar()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Correct or remove it.") from None
    if len(raw) > MAX_BYTES:
        raise InputError(
            f"{path}: {len(raw):,} bytes; a sidecar has at most {MAX_BYTES:,}. See docs/explanations/measurement.md."
        )
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({error}). Correct or remove it.") from None
    if not isinstance(values, dict):
        raise InputError(f'{path}: a JSON object is needed, such as {{"color": "bgr"}}.')
    try:
        return EmotionSidecar.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(problems(error, unknown=_unknown))}.") from None


def _unknown(place: Place) -> str:
    return _nearest(str(place[-1]), tuple(EmotionSidecar.model_fields))


def _nearest(word: str, allowed: tuple[str, ...]) -> str:
    hint = did_you_mean(word, allowed, after=" ")
    return f"{hint}Allowed: {', '.join(allowed)}"
