"""A reward model that is trained on a return decomposition's own objective, as those of LLM-GELI's Table 4 are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from apportion.decompose.corpus_methods.trained_network import learned
from apportion.decompose.corpus_methods.training_data import TrainingConfig, TrainingData
from apportion.decompose.method import ObjectiveMethod
from apportion.decompose.methods import find_method
from apportion.foundation.errors import InputError
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.dataset import turn_values
from apportion.reward_model.learning.distillation import training_figures
from apportion.reward_model.learning.training import history_table
from apportion.reward_model.model import RewardModel


@dataclass(frozen=True)
class DirectModel:
    """What came of a direct training.

    ``scores`` (REWARDS schema, ``reward`` filled) holds every target turn, ``history`` step (epoch), metric and value;
    a session's predicted score is the sum of its rewards plus ``score_offset``.
    """

    scores: pa.Table
    history: pa.Table
    score_offset: float


def train_directly(
    method: str,
    called: str,
    lessons: TrainingData,
    how: TrainingConfig,
    out: Path,
    progress: Progress,
    state: Path | None = None,
) -> DirectModel:
    """Train r_theta on ``method``'s objective, save it into ``out`` and score every target turn from text alone.

    The network is the one that `apportion.decompose.corpus_methods.fit.fit_decomposer` trains: with the same settings
    and seed its predictions are the same bits. Nothing is projected onto the scores. Of an objective that predicts
    returns (RUDDER) rewards are differences, and what those leave of the score is not spread: a dialogue without a
    score has none. Its network reads whole dialogues and is not saved.

    Parameters
    ----------
    called : str
        What the column ``method`` of the scores holds.
    others
        As of `apportion.decompose.corpus_methods.fit.fit_decomposer`.

    Raises InputError: The method is no objective, or nothing can work before a setting is changed. UnitError: No
    training session, a score or loss that is not finite, no local value for any training turn.
    """
    declared = find_method(method)
    if not isinstance(declared, ObjectiveMethod):
        raise InputError(
            f"method {method!r} is no objective that a reward model could be trained on directly. Distil its rewards."
        )
    found = learned(declared, lessons, how, progress, state)
    model = found.training.model
    if type(model) is RewardModel:  # A subclass is another architecture, which `from_pretrained` does not make.
        model.save_pretrained(out, training_figures(found.history, found.training))
    rewards = found.rewards(scores_known=False)
    scores = turn_values(found.history_windows, "reward", rewards, called, how.seed)
    return DirectModel(scores, history_table(found.history), found.score_offset)
