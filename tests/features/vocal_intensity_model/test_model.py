from __future__ import annotations

import json
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.stats import zscore

from apportion.features.vocal_intensity_model.model import (
    FIGURES,
    IntensityModel,
    against_usual,
    figures,
    intensity_identity,
    load_intensity_model,
)
from apportion.foundation.errors import InputError

MODEL = IntensityModel(np.array([1.0, 2.0, 0.0, -0.5, 0.25]), -0.75)
TABLES = arrays(np.float64, st.tuples(st.integers(2, 8), st.just(5)), elements=st.floats(-100, 100, width=32))


def test_the_figures_of_a_stretch() -> None:
    found = figures(
        {"f0_hz": (200.0, 0.4), "intensity_db": (60.0, 1.0), "log_energy_db": (None, 0.0), "smile": (1.0, 1.0)}
    )
    np.testing.assert_array_equal(found, [200.0, 60.0, np.nan, np.nan, 0.4])


def test_the_probability_is_logistic_of_z_scores_with_the_unknown_as_usual() -> None:
    values = np.random.default_rng(0).normal(50, 7, (20, 5))
    np.testing.assert_allclose(against_usual(values, values), zscore(values, axis=0), rtol=1e-10)
    usual = np.array([[1.0, 5.0, np.nan, np.nan, 0.5], [3.0, 5.0, np.nan, 2.0, 0.5]])
    z = against_usual(np.array([[5.0, 9.0, 1.0, np.nan, np.nan]]), usual)
    np.testing.assert_array_equal(z, [[3.0, 0.0, 0.0, 0.0, 0.0]])
    z = np.random.default_rng(1).normal(size=(7, 5))
    np.testing.assert_allclose(MODEL.probability(z), 1 / (1 + np.exp(-(MODEL.bias + z @ MODEL.weights))), rtol=1e-12)
    assert MODEL.probability(1e6 * np.array([MODEL.weights, -MODEL.weights])).tolist() == [1.0, 0.0]


@given(TABLES, st.floats(0.5, 4), st.floats(-20, 20))
def test_the_level_and_scale_of_a_voice_say_nothing(values: np.ndarray, factor: float, shift: float) -> None:
    moved = against_usual(factor * values + shift, factor * values + shift)
    kept = np.ptp(values, axis=0) > 1e-3
    np.testing.assert_allclose(moved[:, kept], against_usual(values, values)[:, kept], atol=1e-5)


def test_a_model_is_kept_without_pickle_and_known_by_its_content(tmp_path: Path) -> None:
    for name in ("a", "b"):
        MODEL.save(tmp_path / name, {"auc": 0.9})
    found = load_intensity_model(tmp_path / "a")
    np.testing.assert_array_equal(found.weights, MODEL.weights)
    assert found.bias == MODEL.bias
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["config.json", "model.safetensors"]
    assert json.loads((tmp_path / "a" / "config.json").read_text())["training"] == {"auc": 0.9}
    assert intensity_identity(tmp_path / "a") == intensity_identity(tmp_path / "b")
    IntensityModel(MODEL.weights, 0.0).save(tmp_path / "b", {"auc": 0.9})
    assert intensity_identity(tmp_path / "a") != intensity_identity(tmp_path / "b")


def test_no_model(tmp_path: Path) -> None:
    for call in (load_intensity_model, intensity_identity):
        with pytest.raises(InputError, match=r"no model of vocal intensity is named .*train intensity FOLDER"):
            call(None)
        with pytest.raises(InputError, match=r"none': no folder with config\.json and model\.safetensors"):
            call(tmp_path / "none")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", b"{", "not a readable model"),
        ("config.json", b'{"model_type": "other", "figures": []}', "needed is 'apportion-vocal-intensity'"),
        ("model.safetensors", b"", "not a readable model"),
        ("model.safetensors", b"\x80\x04pickle", "not a readable model"),
    ],
)
def test_what_is_no_such_model(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    MODEL.save(tmp_path, {})
    (tmp_path / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_intensity_model(tmp_path)


@pytest.mark.parametrize("weights", [np.ones(4), np.array([1, 2, 3, 4, np.nan])])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, weights: np.ndarray) -> None:
    IntensityModel(weights, 0.0).save(tmp_path, {})
    with pytest.raises(InputError, match=f"finite weights of {', '.join(FIGURES)}"):
        load_intensity_model(tmp_path)
