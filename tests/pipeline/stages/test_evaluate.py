from types import SimpleNamespace

import pyarrow as pa

from apportion.corpus.schema import FRAMES, SPLITS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.pipeline.engine.stage import Inputs, Unit
from apportion.pipeline.stages.evaluate import _asked_for, _emotions, _residuals, _unjudged
from apportion.pipeline.stages.registry import STAGES
from tests.evaluation.made_up import episode


def test_people_s_turn_labels_are_shown_to_the_evaluation_and_to_what_hands_some_on():
    assert [stage.name for stage in STAGES.values() if stage.turn_labels] == ["hand-labels", "evaluate"]
    assert not any("turn_labels" in stage.reads for stage in STAGES.values())


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


def test_residuals_are_those_of_values_in_units_of_the_score_and_sessions_without_a_judgement_are_read_with_them():
    key = {"session_id": "x", "rater": "a", "target": "b", "name": "mood"}

    def made(rule, residual, **more):
        document = {"rule": rule, "residuals": [{**key, "residual": residual}], **more}
        return SimpleNamespace(document=lambda name: document)

    rewards = {
        Unit(method="llm", seed=1): made("own", 0.5),
        Unit(method="llm", seed=0): made("own", 0.0),
        Unit(method="affect", seed=0): made("spread", 3.0, unjudged=[{**key, "session_id": "y"}]),
        Unit(method="amounts", seed=0): made("fraction", 1.0),
        Unit(method="shares", seed=0): made("share", 0.0),
    }
    inputs = Inputs(Unit(), (), {"rewards": rewards})
    place = ("x", "a", "b", "mood")
    assert _residuals(inputs) == {"llm": [{place: 0.0}, {place: 0.5}], "amounts": [{place: 1.0}]}
    assert {name: keys for name, keys in _unjudged(inputs).items() if keys} == {"affect": {("y", "a", "b", "mood")}}


def test_a_session_that_the_run_is_not_about_is_not_lacking_among_the_held_out():
    splits = pa.table([["a", "b", "c", "d"], ["train", "test", "test", "validation"]], schema=SPLITS.arrow)
    episodes = SplitEpisodes([episode(name, 3, 1.0) for name in "abcd"], splits)

    def kept(named):
        config = SimpleNamespace(run=SimpleNamespace(sessions=named))
        return "".join(of.session_id for of in _asked_for(episodes, config).all)

    assert kept(None) == kept(["a"]) == "abcd"
    assert kept(["b"]) == kept(["a", "b"]) == "abd"
