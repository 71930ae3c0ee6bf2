import pyarrow as pa
import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.evaluation.evaluation import Evaluation
from apportion.evaluation.inputs import SupportCount, rests_on
from apportion.evaluation.table import render
from tests.evaluation.made_up import evaluated, rewards
from tests.evaluation.test_evaluate import EPISODES, HIDDEN, NAMES, inputs, of

JUDGED = {name: HIDDEN[name] for name in NAMES[20:45]}
"""10 of 30 training and 10 of 20 test sessions."""
UNJUDGED = {"faces": {e.key for e in EPISODES if e.session_id not in JUDGED}, "near": set()}


def test_sessions_are_counted_by_split():
    found = rests_on(UNJUDGED, {"mix": {EPISODES[0].key}}, EPISODES[:30], EPISODES[35:55])
    assert found == (SupportCount("faces", "all", 10, 30, 10, 20), SupportCount("mix", "local", 29, 30, 20, 20))
    assert found[1].text() == (
        "mix: its local part rests on 29 of 30 training sessions; in the others it learns from the score alone."
    )


@pytest.fixture(scope="module")
def found() -> Evaluation:
    table = pa.concat_tables([inputs()["rewards"], rewards(EPISODES, JUDGED, "faces", raw=JUDGED)])
    offsets = {**inputs()["offsets"], "faces": 0.0}
    return evaluated(**inputs(rewards=table, offsets=offsets, unjudged=UNJUDGED))


def test_a_method_of_some_sessions_costs_the_others_none(found, usual):
    plain = usual
    assert of(found.decompositions, "near") == of(plain.decompositions, "near")
    assert (found.counts, found.comparisons, found.warnings) == (plain.counts, plain.comparisons, plain.warnings)
    assert [figures.method for figures in found.decompositions] == ["faces", "near"]
    assert not any("faces" in (c.method, c.against) for c in found.comparisons)


def test_its_own_row_is_of_its_own_sessions_and_the_table_says_so(found):
    spearman = of(found.decompositions, "faces").spearman
    assert isinstance(spearman, Estimate) and spearman.sessions <= 10
    assert found.partial == {"faces"}
    text = render(found)
    assert "faces: rests on 10 of 30 training sessions, and as a decomposition on 10 of 20 test sessions" in text
    assert "20 test sessions" in text
    assert Evaluation.from_json(found.to_json()) == found


def test_a_method_without_a_single_test_session_has_no_row(found):
    only = {name: HIDDEN[name] for name in NAMES[:10]}
    table = pa.concat_tables([inputs()["rewards"], rewards(EPISODES, only, "faces", raw=only)])
    unjudged = {"faces": {e.key for e in EPISODES if e.session_id not in only}}
    none = evaluated(**inputs(rewards=table, unjudged=unjudged))
    assert [figures.method for figures in none.decompositions] == ["near"]
    assert "as a decomposition on 0 of 20 test sessions" in render(none)
