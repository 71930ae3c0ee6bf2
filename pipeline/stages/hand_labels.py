"""The stage `hand-labels`: people's labels of turns, of training sessions alone, for what learns from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Unit, Work


def _hand_labels(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """All turn labels to one value a turn of training sessions (TURN_LABELS, from 0 to 1); no other one passes here.

    The name is the one that the evaluation compares with; none where there are several and none is chosen.
    """
    import pyarrow as pa

    from apportion.corpus.annotators import labels_in
    from apportion.corpus.schema import TURN_LABELS
    from apportion.corpus.splits.splits import sessions_in

    labels, training = inputs.turn_labels, sessions_in(inputs.required("split", "splits"), "train")
    assert labels is not None, "the stage declares that it reads turn labels"
    name, means = labels_in(labels, training, config.evaluate.label)
    rows = [
        {"session_id": session_id, "turn": turn, "name": name, "value": value, "low": 0.0, "high": 1.0}
        for (session_id, turn), value in means.items()
    ]
    return Outputs({"labels": pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)})


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {"label": config.evaluate.label}


HAND_LABELS = Stage(
    "hand-labels",
    _hand_labels,
    needs=("split",),
    per="corpus",
    help="Hand people's labels of training sessions to the methods that learn from them.",
    settings=_settings,
    applies=lambda config, unit, session: config.decompose.reads_labels,
    turn_labels=lambda config: True,
    scored=True,
)
