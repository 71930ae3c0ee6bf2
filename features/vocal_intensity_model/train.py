"""A folder of labelled clips to a model of vocal intensity, judged by actors that it has not heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.corpus.session import Media
from apportion.features.settings import FeatureSettings
from apportion.features.vocal_intensity_model.clips import Clip, read_clips
from apportion.features.vocal_intensity_model.model import IntensityModel, against_usual, figures
from apportion.features.voice.load_voice import listen
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.progress import Progress

Bools = NDArray[np.bool_]
PENALTY = 1.0
"""Of the squared weights, beside the summed log loss."""


@dataclass(frozen=True)
class TestSet:
    """How the model does on clips of actors that had no part in it, each actor left out once.

    ``accuracy`` is the share told rightly at 0.5, ``majority`` what always saying the more frequent one would have;
    ``auc`` the chance that a strong clip gets a larger probability than a normal one.
    """

    actors: int
    normal: int
    strong: int
    accuracy: float
    majority: float
    auc: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def train_intensity(folder: Path, settings: FeatureSettings, progress: Progress) -> tuple[IntensityModel, TestSet]:
    """Listen to the clips of ``folder`` and fit the model to all of them.

    Each clip is measured as an utterance is (`apportion.features.voice`), and set against what is usual for its actor.

    Raises
    ------
    InputError
        Clips that cannot be used (`apportion.features.vocal_intensity_model.clips.read_clips`), or that cannot be
        heard.
    """
    clips = read_clips(folder)
    heard = []
    for done, clip in enumerate(clips, 1):
        heard.append(_hear(folder, clip, settings))
        progress(done, len(clips), clip.path)
    strong = np.array([clip.strong for clip in clips])
    actors = np.array([clip.actor for clip in clips])
    z = _by_actor(np.stack(heard), actors)
    return fit(z, strong), judged(z, strong, actors)


def fit(z: Floats, strong: Bools) -> IntensityModel:
    """Logistic regression: min sum of log losses + PENALTY / 2 * |weights|^2, with a free bias [shape=(N, F), (N,)]."""
    from scipy.optimize import minimize
    from scipy.special import expit

    sign = np.where(strong, 1.0, -1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, margin = parameters[:-1], sign * (z @ parameters[:-1] + parameters[-1])
        slope = -sign * expit(-margin)
        total = float(np.logaddexp(0.0, -margin).sum() + PENALTY / 2 * weights @ weights)
        return total, np.concatenate([z.T @ slope + PENALTY * weights, [slope.sum()]])

    found = minimize(loss, np.zeros(z.shape[1] + 1), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-14})
    return IntensityModel(found.x[:-1], float(found.x[-1]))


def judged(z: Floats, strong: Bools, actors: Sequence[str] | NDArray[Any]) -> TestSet:
    """Each actor's clips by a model of the others' [shape=(N, F), (N,), (N,)]."""
    probability = np.empty(len(strong))
    names = np.asarray(actors)
    for actor in np.unique(names):
        own = names == actor
        probability[own] = fit(z[~own], strong[~own]).probability(z[own])
    return TestSet(
        actors=len(np.unique(names)),
        normal=int((~strong).sum()),
        strong=int(strong.sum()),
        accuracy=float(np.mean((probability >= 0.5) == strong)),
        majority=float(max(strong.mean(), 1 - strong.mean())),
        auc=_auc(probability, strong),
    )


def _auc(probability: Floats, strong: Bools) -> float:
    """By the rank sum of Mann and Whitney; equal probabilities count half."""
    from scipy.stats import rankdata

    positive, negative = int(strong.sum()), int((~strong).sum())
    return float((rankdata(probability)[strong].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _by_actor(values: Floats, actors: NDArray[Any]) -> Floats:
    z = np.empty_like(values)
    for actor in np.unique(actors):
        own = actors == actor
        z[own] = against_usual(values[own], values[own])
    return z


def _hear(folder: Path, clip: Clip, settings: FeatureSettings) -> Floats:
    try:
        voice = listen(folder, Media(clip.actor, "audio", clip.path), settings)
    except UnitError as error:
        raise InputError(f"{folder}: {error}") from None
    assert voice is not None  # An audio row without sound is an error already.
    energy = voice.series["log_energy_db"]
    if not len(energy.values):
        raise InputError(f"{folder / clip.path}: holds no sound. Put the clip there again, or remove it.")
    start_s, end_s = float(energy.starts_s[0]), float(energy.ends_s[-1])
    return figures(voice.measure([(start_s, end_s)], end_s - start_s))
