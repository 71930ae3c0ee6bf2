from types import SimpleNamespace

import pyarrow as pa

from corpus.schema import FRAMES, SPLITS
from pipeline.engine.stage import Inputs, Unit
from pipeline.stages.declared import STAGES
from pipeline.stages.evaluate import _emotions


def test_people_s_turn_labels_are_shown_to_the_evaluation_alone():
    assert [stage.name for stage in STAGES if stage.turn_labels] == ["evaluate"]
    assert not any("turn_labels" in stage.reads for stage in STAGES)


def test_of_the_frames_it_reads_the_emotions_of_held_out_sessions():
    features = ("f0_hz", "happiness", "neutral")

    def frames(session: str) -> SimpleNamespace:
        rows = [{"session_id": session, "person": "a", "feature": f, "time_s": 0.5, "value": 0.1} for f in features]
        return SimpleNamespace(table=lambda name: pa.Table.from_pylist(rows, schema=FRAMES.arrow))

    splits = pa.table([["x", "y"], ["train", "test"]], schema=SPLITS.arrow)
    measured = {Unit(session): frames(session) for session in ("x", "y", "z")}
    split = {Unit(): SimpleNamespace(has=lambda name: True, table=lambda name: splits)}
    found = _emotions(Inputs(Unit(), (), {"features": measured, "split": split}))
    assert list(zip(found["session_id"].to_pylist(), found["feature"].to_pylist(), strict=True)) == [
        ("y", "happiness"),
        ("y", "neutral"),
    ]
    assert _emotions(Inputs(Unit(), (), {"split": split})).num_rows == 0
