import numpy as np
import pytest
from scipy.spatial.distance import pdist

from apportion.evaluation.error_slices.clusters import Space, alike, nested


def blobs(seed: int = 0, count: int = 4, each: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(count, 20)) * 3
    kinds = np.repeat(np.arange(count), each)
    return (middles[kinds] + rng.normal(size=(count * each, 20)) * 0.3).astype(np.float32), kinds


def test_the_tree_joins_what_lies_together_before_all_else():
    embeddings, kinds = blobs()
    space = Space.learned(embeddings, 0)
    labels = space.nearest(space.points(embeddings))
    groups = nested(space.centres, np.bincount(labels, minlength=len(space.centres)))
    of_kind = [frozenset(labels[kinds == kind].tolist()) for kind in range(4)]
    assert all(clusters in groups for clusters in of_kind)
    assert frozenset(range(len(space.centres))) not in groups


def test_how_alike_the_turns_of_a_group_are_is_the_mean_cosine_of_two():
    embeddings, _ = blobs(each=10)
    labels = np.arange(40) % 3
    expected = 1 - pdist(embeddings[labels < 2], "cosine").mean()
    (found,) = alike([frozenset({0, 1})], labels, embeddings)
    assert found == pytest.approx(expected, abs=1e-5)
    assert alike([frozenset({2})], np.array([0, 2]), embeddings[:2]).tolist() == [1.0]


@pytest.mark.parametrize("count", [1, 2, 30])
def test_equal_turns_are_one_cluster(count):
    embeddings = np.ones((count, 8), np.float32)
    space = Space.learned(embeddings, 0)
    assert set(space.nearest(space.points(embeddings))) == {0}


def test_embeddings_of_zeros_have_a_place():
    embeddings = np.zeros((3, 8), np.float32)
    assert np.isfinite(Space.learned(embeddings, 0).points(embeddings)).all()


def test_of_very_many_turns_a_part_is_learned_from(monkeypatch):
    monkeypatch.setattr("apportion.evaluation.error_slices.clusters.LEARNED_FROM", 100)
    embeddings, kinds = blobs()
    space = Space.learned(embeddings, 0)
    labels = space.nearest(space.points(embeddings))
    assert len(space.centres) == 100 // 25 and len(labels) == len(kinds)


def test_two_small_clusters_have_no_tree():
    assert nested(np.zeros((3, 2)), np.array([4, 0, 5])) == [frozenset({0}), frozenset({2})]
