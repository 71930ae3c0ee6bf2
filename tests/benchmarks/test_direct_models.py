"""The benchmark of direct reward models: people's labels are judgements of the row that is named for them alone."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from apportion.corpus.session import Rating, Session, Turn
from apportion.evaluation.references.test_set import TestSet
from apportion.reward_model.history_windows import history_windows
from apportion.reward_model.network.embed import embedding_table
from benchmarks import direct_models


def session(name: str, turns: int) -> Session:
    said = [Turn(i, "user" if i % 2 else "bot", f"turn {i}") for i in range(2 * turns)]
    return Session(name, tuple(said), (Rating("user", "bot", direct_models.NAME, 3.0, 1.0, 5.0),))


def test_people_s_labels_stand_where_they_judged_and_nothing_elsewhere() -> None:
    labels: Any = SimpleNamespace(means=lambda turns: (np.array([4.0, math.nan, 2.5, 1.0, 5.0]), None))
    material = direct_models.Material([session("b", 3), session("a", 2)], None, labels)
    windows = history_windows(TestSet.of(material.episodes).episodes, 3)
    material.__dict__["embeddings"] = embedding_table(windows, np.zeros((5, 4), np.float32))
    rows = material.by_people.to_pylist()
    assert [(row["session_id"], row["raw_reward"]) for row in rows] == [
        ("a", 4.0),
        ("a", None),
        ("b", 2.5),
        ("b", 1.0),
        ("b", 5.0),
    ]
    assert {row["method"] for row in rows} == {"people"}


def test_the_row_of_people_s_labels_is_told_where_it_is_named_alone() -> None:
    assert "people" not in [method for _, method, _ in direct_models.variants(10)]
    assert [method for _, method, _ in direct_models.variants(10, ["people", "mix"])] == ["people", "mix"]
