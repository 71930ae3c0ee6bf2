from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EPISODE_KEY, FRAMES, SPLITS
from apportion.corpus.session import Turn
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.confidence_intervals.bootstrap import Missing
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Unit
from apportion.pipeline.stages.evaluate import (
    _asked_for,
    _controls,
    _emotions,
    _residuals,
    _sentiment,
    _state_only,
    _unjudged,
)
from apportion.pipeline.stages.registry import STAGES
from tests.evaluation.made_up import episode, rewards


def test_people_s_turn_labels_are_shown_to_the_evaluation_and_to_what_hands_some_on():
    def shown(algorithm: str) -> list[str]:
        config = Config.model_validate({"corpus": "c", "output": "o", "align": {"algorithm": algorithm}})
        return [stage.name for stage in STAGES.values() if stage.turn_labels(config)]

    assert [shown(name) for name in ("ppo", "dpo", "sft")] == [["hand-labels", "evaluate"]] * 3
    assert sorted(shown("kto")) == ["align", "evaluate", "hand-labels"]
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


def test_state_only_is_what_the_turns_before_foretell_of_a_model_s_values_by_its_training_sessions():
    episodes = [episode(name, 4, 50.0) for name in "abcdef"]
    rng = np.random.default_rng(0)
    before = {e.key: rng.normal(size=(4, 3)) for e in episodes}
    keys = [dict(zip(EPISODE_KEY, e.key, strict=True)) | {"turn": t} for e in episodes for t in e.target_turns]
    parts = [np.hstack([before[e.key], np.full((4, 3), 9.0), np.zeros((4, 3))]) for e in episodes]
    whole = np.concatenate(parts).astype(np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(whole.ravel()), 9)
    embeddings = pa.Table.from_pylist(keys).append_column("embedding", lists)
    worth = {e.key: before[e.key] @ [1.0, -2.0, 0.5] for e in episodes}
    of_training = {"a": 0, "b": 1, "c": 2, "d": 3}
    values = {name: worth[episodes[i].key] for name, i in of_training.items()}
    scores = pa.concat_tables([rewards(episodes, values, "m", seed) for seed in (0, 1)])
    splits = pa.table([list("abcdef"), ["train"] * 4 + ["test", "validation"]], schema=SPLITS.arrow)
    found = _state_only(embeddings, scores, SplitEpisodes(episodes, splits), "pooled")
    assert found["m"].keys() == {episodes[4].key}
    assert np.corrcoef(found["m"][episodes[4].key], worth[episodes[4].key])[0, 1] > 0.99


def test_the_tone_of_a_turn_is_its_own_and_of_english_alone():
    one = replace(episode("a", 1, 50.0), turns=(Turn(0, "bot", "Great, thank you!"), Turn(1, "user", "Terrible.")))
    (tones,) = _sentiment([one]).values()
    assert len(tones) == 1 and tones[0] > 0.5
    assert _sentiment([one, replace(one, language="de")]) == Missing(
        "VADER reads English, and 1 of 2 held-out sessions are in other languages"
    )
    assert _controls(SimpleNamespace(turn_labels=None), None, None, None) == {}
