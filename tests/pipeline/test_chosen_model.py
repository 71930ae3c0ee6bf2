import json
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline.chosen_model import chosen_model


def a_run(folder: Path, *models: str, **config: object) -> Path:
    """A run's record with ``config``, and folders of models."""
    for name in models:
        (folder / "reward_models" / name).mkdir(parents=True)
    values = {"features": {"reply_max_s": 5.0}, "seeds": [0, 1], **config}
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"config": values, "inputs": {}}))
    return folder


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ({"decompose": {"method": "sentiment", "compare": ["uniform"]}}, "sentiment-seed0"),
        ({"decompose": {"method": "sentiment", "compare": ["uniform"]}, "seeds": [1]}, "sentiment-seed1"),
        (
            {"decompose": {"method": "sentiment", "compare": ["uniform"]}, "align": {"reward_method": "uniform"}},
            "uniform-seed0",
        ),
    ],
)
def test_a_run_s_model_is_the_one_that_its_policy_is_trained_against(tmp_path, config, chosen):
    run = a_run(tmp_path / "run", "sentiment-seed0", "sentiment-seed1", "uniform-seed0", **config)
    assert chosen_model(run) == run / "reward_models" / chosen


def test_the_only_model_there_is_stands_for_the_run(tmp_path):
    run = a_run(tmp_path / "run", "uniform-seed4", decompose={"method": "sentiment"})
    assert chosen_model(run).name == "uniform-seed4"


def test_a_model_s_folder_is_itself(tmp_path):
    (tmp_path / "config.json").touch()
    assert chosen_model(tmp_path) == tmp_path


def test_what_is_neither_is_told_apart(tmp_path):
    with pytest.raises(InputError, match=r"nowhere: no such folder\. Name a run's"):
        chosen_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"neither a run's folder .* `apportion run CONFIG`"):
        chosen_model(tmp_path)
    with pytest.raises(InputError, match=r"no reward model\. Train one: .* --only train-reward"):
        chosen_model(a_run(tmp_path / "early", decompose={"method": "sentiment"}))
    missing = a_run(tmp_path / "part", "uniform-seed0", "uniform-seed1", decompose={"method": "sentiment"})
    with pytest.raises(InputError, match=r"the run's choice, sentiment-seed0, is not trained\. .*uniform-seed0, "):
        chosen_model(missing)
    with pytest.raises(InputError, match=r"made by another version.* Name one: .*uniform-seed0, "):
        chosen_model(a_run(tmp_path / "old", "uniform-seed0", "uniform-seed1", decompose={"methods": ["of old"]}))
