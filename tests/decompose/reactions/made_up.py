"""A model of reactions with random weights: what is read and written of it, not what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.pretrained import Prior, PriorCard, TrainingProvenance, write_prior

MINILM = 384


def write_made_up(path: Path, width: int = MINILM, seed: int = 0) -> Path:
    """A file for replies that are read as by default."""
    rng, size = np.random.default_rng(seed), width + len(CUES)
    card = PriorCard(
        name="made-up",
        learnt_from=(TrainingProvenance(corpus="nothing", sessions=1, turns=1),),
        licence="Apache-2.0",
        reading={"backbone": "minilm", "max_tokens": 128},
        backbone="minilm",
        width=width,
        cues=CUES,
    )
    write_prior(path, Prior(card, np.zeros(size), np.ones(size), rng.normal(size=size), 0.5))
    return path
