import json

import pytest

from apportion.pipeline.results.model_agreement import card_section, verdict_of_folder
from tests.evaluation.methods.test_controls import PLACES, found


@pytest.fixture(scope="module")
def documents():
    return {
        "reward": found().to_json(),
        "paid": found(paid=PLACES).to_json(),
        "bare": found(turn_labels=None).to_json(),
    }


def test_the_card_tells_the_agreement_and_every_control(documents):
    section = card_section(documents["reward"], "m")
    assert "6 held-out sessions" in section and "mean Spearman 0.800 [0.800, 0.800]" in section
    assert "| place | 1.000 | -0.200 [-0.200, -0.200] |" in section and "| length | 0.000 | +0.800" in section
    assert "is not shown to agree with people more than" in section
    assert "mean Spearman 1.000" in card_section(documents["paid"], "m")
    assert card_section(documents["bare"], "m") is card_section(documents["reward"], "other") is None
    assert card_section({"reward_models": []}, "m") is None  # Of another version.


def test_another_runs_model_is_looked_up_in_its_run(tmp_path, documents):
    folder = tmp_path / "run" / "reward_models" / "m-seed3"
    folder.mkdir(parents=True)
    assert verdict_of_folder(folder) is None
    for text, against in ((json.dumps(documents["reward"]), "place"), ("{", None), ("{}", None)):
        (tmp_path / "run" / "evaluation.json").write_text(text)
        verdict = verdict_of_folder(folder)
        assert (None if verdict is None else verdict.against) == against
