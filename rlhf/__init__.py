"""Fine-tuning a dialogue policy with the rewards of turns, and comparing policies.

From the ground up, each importing only from those before it:

- `algorithms` (a row each trainer), `plugins` (rewards and partners by name), `presets` (published)
- `policy_settings` (groups of settings: what a policy reads, its adapters, alarms), `settings`: how one is fine-tuned
- `policy/`: what a policy is: its contexts, how it is loaded, opened, sharded and written
- `training/`: what every algorithm shares: job, reward, metrics, alarms, checkpoints
- `sampling/`: replies, one turn or several, and the other side
- `training_data` (what a trainer learns from), `ppo/`, `trainers/` (TRL's), `compare/` (policies side by side)
- `step_time` (what a step takes on this machine), `preflight`: what can be known to fail before the first step
- `resolve_paths`: paths and consent that are given to what is chosen by name
- `gold_report`, `gold`: whether a policy gains by rewards that it does not learn from, and which step is kept
- `negotiation/`: negotiators that are no language models, learned by dialogues, by reward and by an expert
- `language_model_finetune`: a small language model of a corpus, where no other measures influence
- `stackelberg/`: a Refiner that learns words which move whoever speaks next
- `social/`: social trainings of others (SOTOPIA-π, SDPO and the like) on bargains that rules score
- `adapters/`: turn rewards for other people's trainers
- `alignment`: one process' alignment; `launch/`: the same by several; `align`: the entry, which chooses between the two

Names are imported when they are first used, so that this package costs nothing to import. The entry itself is
`apportion.rlhf.align.align`: a function of its module's own name cannot be a name of the package.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.rlhf.policy_settings import Placement, Window
    from apportion.rlhf.settings import PAPER, AlignSettings
    from apportion.rlhf.training.job import Job
    from apportion.rlhf.training.reward import ModelReward, Reward

__all__ = ["PAPER", "AlignSettings", "Job", "ModelReward", "Placement", "Reward", "Window"]

__getattr__ = lazy_names(__name__, __file__)
