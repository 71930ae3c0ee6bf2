"""The local model that a configuration names, loaded once a process."""

from __future__ import annotations

from functools import lru_cache

from apportion.decompose.influence.local_scorer import LocalMeasurer, load_measurer
from apportion.decompose.influence_settings import InfluenceSettings
from apportion.foundation.files import model_digest


def opened(chosen: InfluenceSettings) -> LocalMeasurer:
    """The measurer that ``chosen.model`` names.

    Raises InputError: See `apportion.decompose.influence.local_scorer.load_measurer`.
    """
    assert chosen.model is not None
    return _opened(chosen.model, model_digest(chosen.model), chosen.device, chosen.dtype, chosen.context_tokens)


@lru_cache(maxsize=1)
def _opened(name: str, digest: str, device: str, dtype: str, context_tokens: int | None) -> LocalMeasurer:
    """Read again only where the files are others."""
    return load_measurer(
        name,
        device="cuda" if device == "cuda" else "cpu",
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        context_tokens=context_tokens,
    )
