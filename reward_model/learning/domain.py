"""What the turns were like that a reward model was trained on: kept with it, so that others can be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from apportion.corpus.session import Episode
from apportion.reward_model.learning.loop import Training
from apportion.reward_model.learning.training import TURNS_AT_ONCE
from apportion.reward_model.out_of_domain import REFERENCE_BYTES, Domain, evenly

HELD_OUT_TURNS = 2000
"""Most turns that tell how far a turn may be from those that taught the model."""


def remember_domain(training: Training, episodes: Iterable[Episode]) -> None:
    """Give the trained model the domain of its training turns; ``episodes`` are those of ``training.data``.

    The validation sessions tell how far a turn may be; where there are none, one in five of the training sessions.
    """
    windows, (train_rows, held_out) = training.data.history_windows, training.rows
    held_out = held_out or train_rows[4::5]
    language = {episode.key: episode.language for episode in episodes}
    turns = [turn for row in train_rows for turn in range(*windows.offsets[row : row + 2])]
    training.model.domain = Domain.of(
        _embedded(training, sorted(set(train_rows) - set(held_out)), REFERENCE_BYTES // training.model.config.width),
        _embedded(training, held_out, HELD_OUT_TURNS),
        [windows.pairs[turn][1] for turn in turns],
        [language[windows.keys[row]] for row in train_rows],
    )


def _embedded(training: Training, rows: Sequence[int], most: int) -> NDArray[np.float32]:
    """At most ``most`` turns of some episodes, evenly over them, as the heads read them [shape=(N, d)]."""
    windows = training.data.history_windows
    turns = np.array([turn for row in rows for turn in range(*windows.offsets[row : row + 2])], dtype=np.int64)
    chosen = torch.from_numpy(turns[evenly(len(turns), most)])
    width = training.model.config.width  # What else stands beside that is not read by the heads.
    found = [torch.zeros(0, width)]
    training.model.eval()
    with torch.inference_mode():
        for start in range(0, len(chosen), TURNS_AT_ONCE):
            found.append(training.data.inputs.embed(training.model, chosen[start : start + TURNS_AT_ONCE])[:, :width])
    embeddings: NDArray[np.float32] = torch.cat(found).float().numpy()
    return embeddings
