from itertools import permutations

import numpy as np
import pytest

from apportion.decompose.shapley.coalitions import all_coalitions
from apportion.environments.registry import open_session
from benchmarks import savoir, savoir_episodes


@pytest.mark.parametrize("kind", [savoir.pairwise, savoir.saturating, savoir.prefix_dependent])
def test_its_exact_values_are_the_mean_over_all_orders(kind):
    table = kind(all_coalitions(5).astype(float), np.random.default_rng(3))
    gains = np.zeros(5)
    for order in permutations(range(5)):
        for place, player in enumerate(order):
            before = sum(1 << i for i in order[:place])
            gains[player] += (table[before | 1 << player] - table[before]) / 120
    np.testing.assert_allclose(savoir.exact(table, 5), gains, atol=1e-9)


def test_its_episodes_have_seven_to_ten_acts_and_words_matter():
    for reopened, target, turns in savoir.reopened(4):
        assert 7 <= len(turns) <= 10
        without = [reopened.play_on(target, set(turns[:3]) - {turn}, (0,))[0].scores["GOAL"] for turn in turns[:3]]
        assert len(set(without)) > 1


def test_a_constant_answer_orders_nothing():
    assert savoir._order(np.zeros(3), np.arange(3.0)) == 0.0
    assert savoir._order(np.array([0.0, 2.0, 3.0]), np.arange(3.0)) == pytest.approx(1.0)


def test_the_corpus_of_its_episodes_can_be_labelled_and_rates_the_seller_alone(tmp_path):
    corpus = savoir_episodes.write_corpus(4, tmp_path / "sales")
    seller = savoir_episodes.task().characters[0].name
    assert set(corpus.ratings["target"].to_pylist()) == {seller}
    for session_id in corpus.session_ids():
        (found,) = corpus.session(session_id).episodes("GOAL")
        assert 7 <= len(found.target_turns) <= 10
        assert open_session(corpus.session(session_id), corpus.root, None).turns_of(seller) == found.target_turns
    assert savoir_episodes.write_corpus(4, tmp_path / "sales").ratings == corpus.ratings
