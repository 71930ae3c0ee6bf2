"""The declared stages: ONE tuple, from which commands, runners, DAGs and the diagram in the docs are derived.

Reading it has to be cheap: each stage imports the packages that do its work when it is called.
"""

from __future__ import annotations

from apportion.pipeline.engine.stage import Stage
from apportion.pipeline.stages.align import ALIGN
from apportion.pipeline.stages.audit import AUDIT, STABILITY
from apportion.pipeline.stages.choose import CHOOSE
from apportion.pipeline.stages.decompose import FIT, JUDGE, REACT, REWARDS
from apportion.pipeline.stages.evaluate import EVALUATE
from apportion.pipeline.stages.features import DESCRIBE, FEATURES
from apportion.pipeline.stages.report import REPORT
from apportion.pipeline.stages.reward_model import EMBED, TRAIN_REWARD
from apportion.pipeline.stages.split import SPLIT

STAGES: tuple[Stage, ...] = (
    SPLIT,
    FEATURES,
    DESCRIBE,
    EMBED,
    REACT,
    CHOOSE,
    JUDGE,
    AUDIT,
    STABILITY,
    FIT,
    REWARDS,
    TRAIN_REWARD,
    EVALUATE,
    ALIGN,
    REPORT,
)

ASKING = tuple(stage.name for stage in STAGES if stage.asks)
"""Those whose units may ask a language model."""
