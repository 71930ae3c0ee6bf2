"""r_theta: a network that reads dialogue text and gives every turn a reward.

>>> from apportion.reward_model import RewardModel, RewardModelSettings
>>> model = RewardModel.new(RewardModelSettings(), width=768, seed=0, mean=0.5)
>>> model.config.backbone, model.config.reward_mean
('minilm', 0.5)

From the ground up: `settings`, `config` (what a model says of itself), `history_windows` (what it reads of a dialogue),
`network` (what reads it), `heads`, `state_baseline` (what is foretold without the turn), `context_fit` (whether a reply
fits what it answers), `out_of_domain` (turns unlike those that taught it), `checkpoint`, `model` (scoring a dialogue),
`learning` (how it is trained), `score_journal`, `corpus_scores` and `scoring` (a whole corpus scored), `trl_reward` (as
TRL's GRPO takes it).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.reward_model.config import RewardModelConfig
    from apportion.reward_model.corpus_scores import score_corpus
    from apportion.reward_model.learning.dataset import Dataset, EncodedTurns, read_turns
    from apportion.reward_model.learning.distillation import train_reward_model
    from apportion.reward_model.learning.loop import EpochRow, Training
    from apportion.reward_model.learning.objective import Batch, Objective, TurnMSE
    from apportion.reward_model.learning.training import predict, train
    from apportion.reward_model.model import RewardModel
    from apportion.reward_model.settings import RewardModelSettings
    from apportion.reward_model.trl_reward import GRPOReward

__all__ = [
    "Batch",
    "Dataset",
    "EncodedTurns",
    "EpochRow",
    "GRPOReward",
    "Objective",
    "RewardModel",
    "RewardModelConfig",
    "RewardModelSettings",
    "Training",
    "TurnMSE",
    "predict",
    "read_turns",
    "score_corpus",
    "train",
    "train_reward_model",
]

__getattr__ = lazy_names(__name__, __file__)
