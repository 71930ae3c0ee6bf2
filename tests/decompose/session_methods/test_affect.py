from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from apportion.decompose.method_settings import AffectSettings
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import features as features_of
from tests.decompose.sessions import session

Row = tuple[int, str, str, str, float | None]


def features(*rows: Row, session_id: str = "s1") -> pa.Table:
    """Rows of (turn, person, window, feature, mean)."""
    return features_of(*((session_id, *row) for row in rows))


def judged(table: pa.Table | None, **chosen: Any) -> list[tuple[float | None, str | None]]:
    settings = DecomposeSettings(affect=AffectSettings(**chosen))
    with LLMSession(settings.llm) as asker:
        found = judge_session("affect", session(), None, None, settings, asker, table).judgements
    assert found.column("turn").to_pylist() == [1, 3, 5]
    return list(zip(found.column("raw_reward").to_pylist(), found.column("rationale").to_pylist(), strict=True))


SEEN = features(
    (1, "USER", "during", "happiness", 0.75),
    (1, "USER", "during", "smile", 0.1),
    (1, "USER", "reply", "happiness", 0.25),
    (1, "SYSTEM", "during", "happiness", 0.9),
    (2, "USER", "during", "happiness", 0.9),
    (3, "USER", "during", "happiness", None),
    (3, "USER", "during", "smile", 0.9),
    (3, "USER", "reply", "happiness", 0.5),
)


def test_it_is_the_rater_s_happiness_or_another_feature_during_the_target_s_turn_or_after() -> None:
    assert judged(SEEN) == [(0.75, "happiness 0.75 (during)"), (None, None), (None, None)]
    assert judged(SEEN, window="reply")[0] == (0.25, "happiness 0.25 (reply)")
    assert judged(SEEN, window="both") == [
        (0.5, "happiness 0.50 (both)"),
        (0.5, "happiness 0.50 (both)"),
        (None, None),
    ]
    table = features((1, "USER", "during", "smile", 0.25), (1, "USER", "during", "happiness", None))
    assert judged(table)[0] == (0.25, "smile 0.25 (during)")
    assert judged(SEEN, feature="smile")[:2] == [(0.1, "smile 0.10 (during)"), (0.9, "smile 0.90 (during)")]


@pytest.mark.parametrize(
    "table",
    [
        None,
        features(),
        features((1, "USER", "during", "smile", math.nan)),
        features((1, "USER", "during", "smile", 1.0), session_id="s2"),
    ],
)
def test_a_session_without_a_face_has_nothing_to_say(table: pa.Table | None) -> None:
    assert judged(table) == [(None, None)] * 3
