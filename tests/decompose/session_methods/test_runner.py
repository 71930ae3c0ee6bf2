from dataclasses import replace

import pytest

from apportion.corpus.schema import REWARDS, UTTERANCE_FEATURES
from apportion.corpus.session import Rating
from apportion.decompose import methods
from apportion.decompose.method import Input, SessionMethod, TurnScore
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import descriptors, session

SETTINGS = DecomposeSettings()
TOOLS = LLMSession(SETTINGS.llm)
GIVEN = {}


def given(episode, behaviour, settings, asker):
    GIVEN["behaviour"] = behaviour
    return GIVEN["judgements"]


@pytest.fixture
def brought(monkeypatch):
    def bring(*judgements, **options):
        method = SessionMethod("mine", "Mine", "tests.decompose.session_methods.test_runner:given", **options)
        monkeypatch.setitem(methods._Registry._ours, "mine", method)
        GIVEN["judgements"] = list(judgements)

    return bring


def test_a_table_of_the_declared_schema_comes_back_with_an_episode_a_rating():
    table = judge_session("uniform", session(), "satisfaction", None, SETTINGS, TOOLS).judgements
    assert table.schema == REWARDS.arrow
    row = table.to_pylist()[0]
    named = {"session_id": "s1", "rater": "USER", "target": "SYSTEM", "name": "satisfaction", "turn": 1}
    assert {name: row[name] for name in named} == named
    assert (row["method"], row["seed"], row["reward"], row["raw_reward"]) == ("uniform", 0, None, 0.0)
    both = replace(session(), ratings=(*session().ratings, Rating("SYSTEM", "USER", "trust", 2, 1, 5)))
    table = judge_session("uniform", both, None, None, SETTINGS, TOOLS).judgements
    assert list(zip(table["name"].to_pylist(), table["turn"].to_pylist(), strict=True)) == [
        *(("satisfaction", turn) for turn in (1, 3, 5)),
        *(("trust", turn) for turn in (0, 2, 4)),
    ]
    assert judge_session("uniform", both, "trust", None, SETTINGS, TOOLS).judgements.num_rows == 3
    table = judge_session("uniform", replace(session(), ratings=()), None, None, SETTINGS, TOOLS).judgements
    assert (table.num_rows, table.schema) == (0, REWARDS.arrow)


def test_a_method_of_a_corpus_judges_no_session():
    with pytest.raises(InputError, match="'rrd' is learned on a corpus"):
        judge_session("rrd", session(), None, None, SETTINGS, TOOLS)


def test_judgements_are_put_in_the_order_of_the_turns(brought):
    brought(TurnScore(5, 3.0), TurnScore(1, None), TurnScore(3, 2.0, "why", 0.5))
    table = judge_session("mine", session(), None, None, SETTINGS, TOOLS).judgements
    assert table["turn"].to_pylist() == [1, 3, 5]
    assert table["raw_reward"].to_pylist() == [None, 2.0, 3.0]
    assert table["rationale"].to_pylist() == [None, "why", None]


@pytest.mark.parametrize("asked", [Input.DESCRIPTORS, Input.FACE, None])
def test_descriptors_and_features_are_given_to_those_who_ask(brought, asked):
    words, numbers = descriptors((1, "USER", "during", "x")), UTTERANCE_FEATURES.arrow.empty_table()
    brought(*(TurnScore(turn, 0.0) for turn in (1, 3, 5)), inputs=frozenset({asked} if asked else ()))
    judge_session("mine", session(), None, words, SETTINGS, TOOLS, numbers)
    assert GIVEN["behaviour"] is {Input.DESCRIPTORS: words, Input.FACE: numbers}.get(asked)


@pytest.mark.parametrize("turns", [(1, 3), (1, 3, 5, 7), (1, 3, 3), (1, 3, 5, 5), (0, 2, 4)])
def test_other_turns_than_the_target_s_are_refused(brought, turns):
    brought(*(TurnScore(turn, 0.0) for turn in turns))
    with pytest.raises(UnitError, match=r"session s1: method 'mine' judged turns .* of SYSTEM are \[1, 3, 5\]"):
        judge_session("mine", session(), None, None, SETTINGS, TOOLS)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e7])
def test_values_that_cannot_be_summed_are_refused(brought, value):
    brought(TurnScore(1, 0.0), TurnScore(3, value), TurnScore(5, 0.0))
    with pytest.raises(UnitError, match=r"session s1, turn 3: method 'mine' gave .* allowed are numbers from"):
        judge_session("mine", session(), None, None, SETTINGS, TOOLS)
