"""The declared stages: ONE table, from which commands, runners, DAGs and the diagram in the docs are derived.

A stage's module is imported when the stage is first asked for, so that a run imports what its own stages need.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.lazy import named
from apportion.pipeline.engine.stage import Stage, Stages

HOMES: Mapping[str, str] = {
    "split": "split:SPLIT",
    "hand-labels": "hand_labels:HAND_LABELS",
    "features": "features:FEATURES",
    "verbalize": "features:DESCRIBE",
    "embed": "reward_model:EMBED",
    "react": "decompose:REACT",
    "select-sessions": "choose:CHOOSE",
    "rubric": "rubric:RUBRIC",
    "judge": "decompose:JUDGE",
    "audit": "audit:AUDIT",
    "stability": "audit:STABILITY",
    "fit": "decompose:FIT",
    "rewards": "decompose:REWARDS",
    "slices": "slices:ERROR_SLICES",
    "train-reward": "reward_model:TRAIN_REWARD",
    "evaluate": "evaluate:EVALUATE",
    "align": "align:ALIGN",
    "report": "report:REPORT",
}
GROUPS = {
    **dict.fromkeys(("react", "judge", "fit", "rewards", "slices"), "decompose"),
    "stability": "audit",
}
"""Stages that `apportion run --only` runs together, and by what name."""


def _load(name: str) -> Stage:
    stage: Stage = named(f"apportion.pipeline.stages.{HOMES[name]}")
    return stage


STAGES = Stages(HOMES, _load, GROUPS)
