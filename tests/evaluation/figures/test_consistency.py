import random
from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pytest

from apportion.corpus.schema import SAMPLES
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.evaluate import evaluate
from apportion.evaluation.evaluation import Evaluation
from apportion.evaluation.figures.consistency import (
    NO_ANNOTATION,
    NOT_POSITIVE,
    POSITIVE,
    Consistency,
    consistency,
    turn_class,
)
from apportion.evaluation.inputs import Evidence, MethodValues
from apportion.evaluation.settings import EvaluationSettings
from apportion.evaluation.table import grids, render, render_markdown
from tests.evaluation.made_up import episode, rewards, splits


def samples(values, method="llm", session_id="s1"):
    """``values`` (K, T)"""
    key = {"session_id": session_id, "rater": "user", "target": "bot", "name": "liking", "method": method}
    rows = [
        {**key, "turn": 2 * turn, "sample": sample, "value": value}
        for sample, of_turn in enumerate(values)
        for turn, value in enumerate(of_turn)
    ]
    return pa.Table.from_pylist(rows, schema=SAMPLES.arrow)


def test_the_classes_are_those_of_appendix_j():
    """Positive (> 0), negative/neutral (0), or no annotation (NaN)."""
    classes = [turn_class(value) for value in (None, 0.0, -0.0, -3.0, 0.1)]
    assert classes == [NO_ANNOTATION, NOT_POSITIVE, NOT_POSITIVE, NOT_POSITIVE, POSITIVE]


def test_two_samples_agree_on_the_turns_of_one_class():
    (found,) = consistency(samples([[1.0, -1.0, None, 2.0], [3.0, 1.0, None, None]]))
    assert found == Consistency("llm", 2, 1, 4, 0.5, None, None)
    assert found.text() == (
        "2 samples of llm put 50.0% of turns into the same of three classes (4 turns of 1 conversations)"
    )


def test_the_spread_over_conversations_is_the_paper_s():
    table = pa.concat_tables([samples([[1.0, 1.0], [1.0, 1.0]]), samples([[1.0, 1.0], [1.0, -1.0]], session_id="s2")])
    (found,) = consistency(table)
    assert (found.agreement, found.episodes, found.turns) == (0.75, 2, 4)
    assert found.sd_episodes == pytest.approx(0.5**0.5 / 2)
    assert "75.0% ± 35.4% of turns" in found.text()


def test_the_agreement_is_that_of_all_pairs_counted_one_by_one():
    chance = random.Random(4)
    values = [[chance.choice([None, 0.0, 1.5, -0.5]) for _ in range(9)] for _ in range(5)]
    (found,) = consistency(samples(values))
    pairs = [
        sum(turn_class(a) == turn_class(b) for a, b in zip(one, other, strict=True)) / 9
        for one, other in combinations(values, 2)
    ]
    assert found.agreement == pytest.approx(sum(pairs) / 10)
    mean = sum(pairs) / 10
    assert found.sd_pairs == pytest.approx((sum((p - mean) ** 2 for p in pairs) / 9) ** 0.5)


def test_methods_are_apart_and_one_sample_says_nothing():
    table = pa.concat_tables([samples([[1.0], [1.0]], "b"), samples([[1.0], [-1.0]], "a"), samples([[1.0]], "c")])
    assert [(one.method, one.agreement) for one in consistency(table)] == [("a", 0.0), ("b", 1.0)]
    assert consistency(SAMPLES.arrow.empty_table()) == ()


def test_an_episode_with_fewer_samples_is_left_out():
    table = pa.concat_tables([samples([[1.0], [1.0], [1.0]]), samples([[1.0], [-1.0]], session_id="s2")])
    (found,) = consistency(table)
    assert (found.samples, found.episodes, found.agreement) == (3, 1, 1.0)


def test_samples_of_other_turns_are_refused():
    with pytest.raises(ValueError, match="samples of llm judge other turns"):
        consistency(samples([[1.0, 2.0], [1.0]]))


def test_it_stands_in_the_evaluation_and_in_its_tables():
    episodes = [episode(f"s{i}", 3, 40.0 + i) for i in range(4)]
    table = rewards(episodes, {e.session_id: [1.0, 2.0, 3.0] for e in episodes}, method="llm")
    of_split = splits(train=("s0", "s1"), test=("s2", "s3"))
    settings = EvaluationSettings(bootstrap=100)
    taken = samples([[1.0, -1.0], [1.0, 1.0], [1.0, None]])
    values = MethodValues(table, table, {"llm": 0.0}, samples=taken)
    found = evaluate(values, SplitEpisodes(episodes, of_split), Evidence(), settings)
    assert found.consistency == consistency(taken)
    assert Evaluation.from_json(found.to_json()) == found
    grid = grids(found)[-1]
    assert grid.rows == (("llm", "3", "1", "2", "50.0%", "–", "0.0%"),)
    assert "Repeated samples of one judge" in render(found)
    assert "appendix J" in render_markdown(found)
    without = replace(found, consistency=())
    assert "Repeated samples" not in render(without)
    document = without.to_json()
    del document["consistency"]
    assert Evaluation.from_json(document) == without
