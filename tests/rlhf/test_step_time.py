"""What is told of a step's time and memory before a training begins."""

import math
from dataclasses import replace

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf import step_time as timed
from apportion.rlhf.preflight import check_alignment, step_told
from apportion.rlhf.settings import AlignSettings
from tests.rlhf.saved import save_model
from tests.rlhf.toy import SMALL


@pytest.fixture
def settings(tmp_path, monkeypatch) -> AlignSettings:
    monkeypatch.setattr("apportion.rlhf.policy_settings.has_card", lambda: False)
    return SMALL.model_copy(update={"policy": str(save_model(tmp_path / "model"))})


def test_a_step_is_what_it_computes(settings, monkeypatch):
    # Seconds of: what is sampled (4 replies of 6 tokens), read and learned from (70 tokens).
    seconds = iter((24.0, 70.0, 140.0))
    monkeypatch.setattr(timed, "_seconds", lambda work, device: work() or next(seconds))
    taken = timed.step_time(check_alignment(settings), settings)
    assert taken.tokens_s == pytest.approx(1) and taken.sampling == pytest.approx(4 * 64 + 4 * 6)
    assert taken.update == pytest.approx(2 * 4 * 70 * 2 + 2 * 4 * 70) and taken.training == 2 * taken.step
    assert "samples 1 tokens/s, and takes at most about 33 min a step of 4 replies" in str(taken)
    for algorithm, each in (("sft", 2), ("kto", 2 + 3)):
        seconds = iter((24.0, 70.0, 140.0))
        taught = settings.model_copy(update={"algorithm": algorithm, "epochs": 3})
        taken = timed.step_time(check_alignment(taught), taught)
        assert (taken.sampling, taken.step) == (0, pytest.approx(4 * 70 * each)) and " steps " not in str(taken)


def test_only_some_layers_are_timed_where_all_are_too_many(settings, monkeypatch):
    monkeypatch.setattr(timed, "MOST_WEIGHTS", 0)
    policy = check_alignment(settings)
    shape = timed.Shape.of(policy.model.config)
    model, share = timed._shortened(policy.model, shape, settings)
    assert len(model.model.layers) == 1 < shape.layers and 0.5 <= share < 1


def test_what_would_not_end_on_the_cpu_goes_there_only_where_it_is_said(settings):
    taken = timed.StepTime(settings, 1.0, 3600.0, 0.0, 1e9, 2e9)
    taken.check()
    years = replace(taken, settings=settings.model_copy(update={"steps": 10_000}))
    for too_much in (years, replace(taken, free=1e8)):
        with pytest.raises(InputError, match=r"there is no card here, and .*or set device = 'cpu' to train it"):
            too_much.check()
        replace(too_much, settings=too_much.settings.model_copy(update={"device": "cpu"})).check()
    assert "10,000 steps 1.1 years" in str(years)


def test_it_is_told_in_a_line_and_where_it_cannot_be_measured_why(settings, monkeypatch):
    assert step_told(check_alignment(settings), settings).startswith(f"align: {settings.policy} in float32 on cpu")
    monkeypatch.setattr(timed, "_shortened", None)
    assert "how long a step takes here cannot be said (TypeError" in step_told(check_alignment(settings), settings)
    assert check_alignment(SMALL) is None and 0 < timed._free(timed.torch.device("cpu")) <= math.inf
