"""What a judging model answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.language_model import read_answer, read_whole, reply_schema
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from tests.environments.sotopia.evaluation.judges import SCORES, scored

LABELS = ("agent_1", "agent_2")


def reply(change: Callable[[dict[str, Any]], object] = lambda document: None) -> ChatReply:
    document = {label: scored() for label in LABELS}
    change(document)
    return ChatReply(json.dumps(document), "m")


def test_reasoning_and_a_whole_number_in_seven_dimensions_of_each() -> None:
    answer = read_whole(reply(), LABELS)
    for label in LABELS:
        assert {name: given.score for name, given in answer.given[label].items()} == SCORES
        assert answer.given[label]["GOAL"].reasoning == "GOAL: as it was."


@pytest.mark.parametrize(
    ("change", "mistake", "lost"),
    [
        (lambda d: d["agent_1"]["GOAL"].update(score=7.5), "agent_1, GOAL has the score 7.5; a whole number from 0", 1),
        (lambda d: d["agent_1"]["SEC"].update(score=3), "SEC has the score 3; a whole number from -10 to 0", 1),
        (lambda d: d["agent_1"]["SEC"].update(score=True), "SEC has the score true", 1),
        (lambda d: d["agent_1"]["SEC"].update(score="0"), 'SEC has the score "0"', 1),
        (lambda d: d["agent_1"]["SEC"].update(score=None), "SEC has the score null", 1),
        (lambda d: d["agent_2"]["BEL"].update(reasoning=" "), "agent_2, BEL has no reasoning", 1),
        (lambda d: d["agent_2"]["BEL"].pop("score"), 'BEL is not an object with "reasoning" and "score"', 1),
        (lambda d: d["agent_2"].pop("FIN"), "FIN is not an object", 1),
        (lambda d: d["agent_2"].update(FIN=3), "FIN is not an object", 1),
        (lambda d: d["agent_2"].update(FUN=3), 'agent_2: there is no dimension "FUN"', 0),
        (lambda d: d.pop("agent_2"), "agent_2 has no scores; give all of BEL, REL", 7),
        (lambda d: d.update(agent_2=[1]), "agent_2 has no scores", 7),
        (lambda d: d.update(agent_3={}), '"agent_3" was not asked about', 0),
        (lambda d: [d[label][name].update(score=99) for label in LABELS for name in SCORES], "; and 11 more", 14),
    ],
)
def test_a_mistake_is_named_and_costs_nothing_but_its_dimension(
    change: Callable[[dict[str, Any]], object], mistake: str, lost: int
) -> None:
    with pytest.raises(ReplyMistakeError, match=mistake.replace("(", r"\(")):
        read_whole(reply(change), LABELS)
    answer = read_answer(reply(change), LABELS)
    given = [answer.given[label][name] for label in LABELS for name in DIMENSIONS]
    assert sum(one.score is None for one in given) == lost == sum(one.cause is not None for one in given)


@pytest.mark.parametrize(
    ("text", "finish", "mistake"),
    [
        ("Both did well.", "stop", "not one JSON object"),
        ("[]", "stop", "not an object with agent_1, agent_2"),
        ('{"agent_1": {', "length", "cut off at the limit of tokens; give shorter reasoning"),
        ('{"agent_1": {"BEL": {"reasoning": "x", "score": 1e999}}}', "stop", "BEL has the score Infinity"),
        ('{"agent_1": {}, "agent_1": {}}', "stop", "stands twice"),
    ],
)
def test_what_is_no_answer_is_told(text: str, finish: str, mistake: str) -> None:
    with pytest.raises(ReplyMistakeError, match=mistake):
        read_whole(ChatReply(text, "m", finish_reason=finish), LABELS)


def test_the_schema_allows_the_ranges_and_nothing_else() -> None:
    schema = reply_schema(LABELS)
    assert list(schema["properties"]) == list(LABELS)
    for name, form in schema["properties"]["agent_2"]["properties"].items():
        numbers = form["properties"]["score"]["enum"]
        assert (numbers[0], numbers[-1]) == RANGES[name] and form["required"] == ["reasoning", "score"]
