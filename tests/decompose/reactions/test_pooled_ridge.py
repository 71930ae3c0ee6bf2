import numpy as np
import pytest

from apportion.decompose.reactions.model import PENALTIES, fit, pooled

RNG = np.random.default_rng(0)


def test_pooling_is_a_weighted_mean_within_each_session() -> None:
    features = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]])
    found = pooled(features, np.array([1.0, 3.0, 2.0]), [0, 2, 3])
    np.testing.assert_allclose(found, [[2.5, 1.5], [5.0, 5.0]])


def test_the_leave_one_out_error_is_that_of_leaving_each_out() -> None:
    x, y = RNG.normal(size=(12, 4)), RNG.normal(size=12)
    model = fit(x, y)
    predicted = []
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        mean, score = x[rest].mean(axis=0), y[rest].mean()
        # Leaving one out moves the mean too; its penalty stays.
        z = x[rest] - mean
        w = np.linalg.solve(z.T @ z + model.penalty * np.eye(4), z.T @ (y[rest] - score))
        predicted.append(score + (x[i] - mean) @ w)
    np.testing.assert_allclose(model.left_out, predicted)
    assert model.loss == pytest.approx(np.mean(np.square(y - predicted)), rel=1e-9)


def test_without_anything_to_learn_from_the_others_mean_foretells_a_score() -> None:
    found = fit(np.zeros((4, 2)), np.array([1.0, 2.0, 3.0, 6.0]))
    np.testing.assert_allclose(found.left_out, [11 / 3, 10 / 3, 3.0, 2.0])


def test_the_weights_solve_the_ridge_regression_and_the_penalty_is_on_the_grid() -> None:
    x = RNG.normal(size=(50, 3))
    y = x @ [1.0, -2.0, 0.0] + 0.1 * RNG.normal(size=50) + 7
    model = fit(x, y)
    z = x - x.mean(axis=0)
    expected = np.linalg.solve(z.T @ z + model.penalty * np.eye(3), z.T @ (y - y.mean()))
    np.testing.assert_allclose(model.weights, expected)
    np.testing.assert_allclose(model.weights, [1.0, -2.0, 0.0], atol=0.1)
    scale = np.linalg.svd(z, compute_uv=False)
    assert np.isclose(PENALTIES * np.mean(scale**2), model.penalty).any()


def test_more_features_than_sessions_is_no_trouble() -> None:
    x = RNG.normal(size=(5, 40))
    model = fit(x, x[:, 0])
    assert np.isfinite(model.weights).all() and np.isfinite(model.loss)


@pytest.mark.parametrize(
    ("features", "scores"),
    [
        (np.zeros((4, 2)), np.arange(4.0)),
        (RNG.normal(size=(4, 2)), np.full(4, 3.0)),
        (RNG.normal(size=(2, 2)), np.arange(2.0)),
        (RNG.normal(size=(1, 2)), np.arange(1.0)),
    ],
)
def test_nothing_to_learn_gives_zero_weights(features: np.ndarray, scores: np.ndarray) -> None:  # type: ignore[type-arg]
    model = fit(features, scores)
    assert not model.weights.any()
    assert model.loss == pytest.approx(np.var(scores))
