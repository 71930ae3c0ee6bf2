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
    import pyarrow.compute as pc

    from apportion.corpus.annotators import mean_labels, peoples_labels
    from apportion.corpus.schema import TURN_LABELS

    labels, splits = inputs.turn_labels, inputs.required("split", "splits")
    assert labels is not None, "the stage declares that it reads turn labels"
    training = splits.filter(pc.field("split") == "train")["session_id"]
    taught = peoples_labels(labels.filter(pc.is_in(labels["session_id"], training.combine_chunks())))
    names = sorted(set(taught["name"].to_pylist()))
    name = config.evaluate.label or (names[0] if len(names) == 1 else None)
    rows = [
        {"session_id": session_id, "turn": turn, "name": name, "value": value, "low": 0.0, "high": 1.0}
        for (session_id, turn), value in mean_labels(taught.filter(pc.field("name") == name)).items()
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
    turn_labels=True,
    scored=True,
)
