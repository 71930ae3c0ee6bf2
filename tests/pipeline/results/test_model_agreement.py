import json

import pytest

from apportion.pipeline.results.model_agreement import ModelAgreement


def figures(gains, value=0.25, **more):
    controls = {name: {"value": value - g, "gain": g, "low": g - 0.1, "high": g + 0.1} for name, g in gains.items()}
    return {"spearman": {"value": value, "low": 0.2, "high": 0.3, "sessions": 40}, "controls": controls, **more}


def document(**row):
    return {"agreement": {"label": "liked"}, "reward_models": [{"method": "llm", **row}]}


@pytest.mark.parametrize(
    ("row", "beats", "said"),
    [
        (
            figures({"place": 0.2, "length": 0.01}),
            True,
            "the control 'length' at 0.240: a gain of +0.010 [-0.090, 0.110]",
        ),
        (
            figures({"place": 0.2, "length": 0.0}),
            False,
            "its reward agrees with people (liked) at 0.250 [0.200, 0.300]",
        ),
        (figures({"place": 0.2}, advantage=figures({"place": -0.1}, 0.1)), False, "what it pays a policy agrees"),
        (figures({"place": -0.2}, advantage=figures({"place": 0.1})), True, "'place'"),
    ],
)
def test_the_control_with_least_gain_decides_and_what_a_policy_is_paid_comes_first(row, beats, said):
    found = ModelAgreement.of(document(**row), "llm")
    assert found is not None and found.beats_controls is beats and said in found.text()
    section = found.section()
    assert section.startswith("## Agreement with people") and "40 held-out sessions" in section
    assert ("**not more than the control" in section) is not beats
    assert section.count("\n| ") == 1 + len(found.controls)


@pytest.mark.parametrize(
    "told",
    [
        {},
        document(),
        document(spearman={"reason": "no labels"}, controls={}),
        document(**{**figures({}), "controls": {}}),
        {"reward_models": [{"method": "rrd", **figures({"place": 1})}]},
    ],
)
def test_without_labels_controls_or_the_model_nothing_is_known(told):
    assert ModelAgreement.of(told, "llm") is None


def test_another_runs_model_is_looked_up_in_its_run(tmp_path):
    folder = tmp_path / "run" / "reward_models" / "llm-seed3"
    folder.mkdir(parents=True)
    assert ModelAgreement.of_folder(folder) is None
    evaluation = tmp_path / "run" / "evaluation.json"
    evaluation.write_text(json.dumps(document(**figures({"place": 0.1}))))
    found = ModelAgreement.of_folder(folder)
    assert found is not None and found.model == "llm" and found.beats_controls
    for broken in ("{", "[]", '{"reward_models": [{}]}'):
        evaluation.write_text(broken)
        assert ModelAgreement.of_folder(folder) is None
