"""What is learned on a corpus: turn rewards, or a reward model trained on an objective itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from apportion.decompose.corpus_methods.predicted_reaction import fit_predicted
from apportion.decompose.corpus_methods.stacked import mixed
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData, learned
from apportion.decompose.ensembling.component import turn_opinions
from apportion.decompose.ensembling.student import PEOPLE, Lesson
from apportion.decompose.method import (
    LabelStudent,
    ObjectiveMethod,
    PredictedReaction,
    ReactionMethod,
    StackedMethod,
    StudentMethod,
)
from apportion.decompose.methods import find_method
from apportion.decompose.reactions.model import FittedReactionModel
from apportion.decompose.settings_key import configured
from apportion.foundation.errors import InputError
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.advantage import add_advantage
from apportion.reward_model.learning.dataset import turn_values
from apportion.reward_model.learning.distillation import training_figures
from apportion.reward_model.learning.domain import remember_domain
from apportion.reward_model.learning.training import history_table, score_turns, unseen
from apportion.reward_model.model import RewardModel


def fit_decomposer(
    method: str, data: TrainingData, config: TrainingConfig, progress: Progress, state: Path | None = None
) -> FittedReactionModel:
    """Learn one method's turn rewards from the training sessions' scores, and judge every target turn.

    R~, which an objective learns from, is what ``config.settings.target`` says that rewards sum to. The method's code
    is called with its section of the settings (with nothing where it has none) and gives an `Objective`; a mixed one is
    called with the objective of its global part first. ``state`` is a file for the state of the unfinished training.

    Returns judgements in units of the score, of every episode with target turns; the history's steps are epochs.

    Raises InputError: No such method, one that is not fitted, or nothing can work before a setting is changed.
    UnitError: No training session, a score or loss that is not finite, no local value for any training turn.
    """
    declared = find_method(method)
    if isinstance(declared, StudentMethod | LabelStudent):
        return _from_teacher(declared, data, config)
    if isinstance(declared, StackedMethod):
        return mixed(declared, data, config)
    if isinstance(declared, PredictedReaction):
        return fit_predicted(declared, data, config, progress, state)
    if isinstance(declared, ReactionMethod):
        return _from_reactions(declared, data, config)
    alone = replace(config, model=config.model.model_copy(update={"heads": 1}))  # A decomposition has no spread.
    found = learned(declared, data, alone, progress, state)
    rewards = found.rewards(scores_known=True)
    judgements = turn_values(found.history_windows, {"raw_reward": rewards}, method, config.seed)
    return FittedReactionModel(judgements, history_table(found.history))


def _from_reactions(method: ReactionMethod, data: TrainingData, config: TrainingConfig) -> FittedReactionModel:
    """A closed fit: its code takes the reactions and gives judgements and history itself."""
    data.check_read(method.name)
    section, fit = config.settings.section_of(method), method.resolve()
    fitted: FittedReactionModel = fit(method.name, data.episodes, data.reactions, section, config.seed, data.features)
    return fitted


def _from_teacher(
    method: StudentMethod | LabelStudent, data: TrainingData, config: TrainingConfig
) -> FittedReactionModel:
    """A closed fit to what the method or the people that teach it have judged, and to no score."""
    if isinstance(method, LabelStudent):
        data.check_read(method.name)
        lesson = Lesson(data.opinions_of_people(), PEOPLE)
    else:
        data.check_read(method.name, method.teacher.name)
        assert data.judgements is not None
        null = configured(method.teacher, config.settings).scale.null
        lesson = Lesson(turn_opinions(data.judgements, data.episodes.all, null), asked=data.asked)
    fit = method.resolve()
    fitted: FittedReactionModel = fit(method.name, data.episodes, data.reactions, lesson, config.seed, data.features)
    return fitted


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
    data: TrainingData,
    config: TrainingConfig,
    out: Path,
    progress: Progress,
    state: Path | None = None,
) -> DirectModel:
    """Train r_theta on ``method``'s objective, save it into ``out`` and score every target turn from text alone.

    The network is the one that `apportion.decompose.corpus_methods.fit.fit_decomposer` trains: with one head, the same
    settings and seed its predictions are the same bits. Nothing is projected onto the scores. Of an objective that
    predicts returns (RUDDER) rewards are differences, and what those leave of the score is not spread: a dialogue
    without a score has none. Its network reads whole dialogues and is not saved.

    - ``called``: What the column ``method`` of the scores holds.
    - The others: As of `apportion.decompose.corpus_methods.fit.fit_decomposer`.

    Raises InputError: The method is no objective, or nothing can work before a setting is changed. UnitError: No
    training session, a score or loss that is not finite, no local value for any training turn.
    """
    declared = find_method(method)
    if not isinstance(declared, ObjectiveMethod):
        raise InputError(
            f"method {method!r} is no objective that a reward model could be trained on directly. Distil its rewards."
        )
    found = learned(declared, data, config, progress, state)
    training = found.training
    # A subclass is another architecture, which `from_pretrained` does not make.
    if type(training.model) is RewardModel:
        figures = training_figures(found.history, training)
        figures |= add_advantage(training, unseen(training), data.episodes.all, config.seed)
        remember_domain(training, data.episodes.all)
        training.model.save_pretrained(out, figures)
        columns: Mapping[str, Iterable[float]] = score_turns(training.model, training.data)._asdict()
    else:
        columns = {"reward": found.rewards(scores_known=False)}
    scores = turn_values(found.history_windows, columns, called, config.seed)
    return DirectModel(scores, history_table(found.history), found.score_offset)
