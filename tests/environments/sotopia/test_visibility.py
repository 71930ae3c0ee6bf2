"""Non-interference: what is hidden from an agent changes no byte that it reads, and what it may see is there."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.agents.language_model import STYLES, LanguageModelAgent
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.published import read_published
from apportion.environments.sotopia.tasks import (
    FIELDS,
    VISIBLE,
    Relationship,
    Task,
    Visibility,
)
from apportion.environments.sotopia.text_rendering import SotopiaRenderer
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.llm_client.settings import LLMSettings
from tests.environments.models import nobody
from tests.shared import shared

RULES: tuple[Visibility, ...] = ("paper", "released")
CANARY = "CANARYBIRD"
DRAFT = Action("speak", "Well ...")
MODELS = [LanguageModelAgent(f"{style}@m", style, LLMSettings(model="m"), nobody) for style in STYLES]


@cache
def published() -> tuple[Task, ...]:
    return tuple(read_published(shared("data/sotopia")).tasks.values())


def read_by(task: Task, rule: Visibility, seat: int, *, acts: int = 3) -> tuple[str, ...]:
    """Every byte that one agent reads after some acts: observation, facts, what a style is asked, a person's screen."""
    game = Sotopia(task, Rules(rule))
    for number in range(acts):
        game.do(Action("speak", f"sentence {number}"))
    view = Observation(game, game.agents[seat])
    asked = [one.asks(view, question, {}, DRAFT) for one in MODELS for question in one.questions(view)]
    keys = [request.key() for request in asked]
    return view.text, repr(view.facts), *keys, read_by_person(view, game.rules)


def read_by_person(view: Observation, rules: Rules) -> str:
    shown: list[str] = []

    def stops(prompt: str) -> str:
        shown.append(prompt)
        raise EOFError

    with suppress(EOFError):
        HumanAgent(Screen(stops, shown.append, width=lambda: 1_000_000), SotopiaRenderer(rules)).act(view)
    return "".join(shown)


def with_field(task: Task, seat: int, field: str, value: Any) -> Task:
    characters = list(task.characters)
    before = characters[seat].name
    characters[seat] = replace(characters[seat], **{field: value})
    names = {before: characters[seat].name}
    pairs = {frozenset(names.get(name, name) for name in pair): kind for pair, kind in task.relationships.items()}
    return replace(task, characters=tuple(characters), relationships=pairs)


def changed(field: str) -> Any:
    return {"age": 33_333, "moral_values": (CANARY,), "schwartz_values": (CANARY,)}.get(field, CANARY)


def hidden_changes(task: Task, rule: Visibility, seat: int) -> list[Task]:
    """The task with each thing changed that the agent of ``seat`` may not know."""
    changes = []
    for other, character in enumerate(task.characters):
        if other == seat:
            continue
        visible = VISIBLE[rule][task.between(task.characters[seat], character)]
        changes += [with_field(task, other, field, changed(field)) for field in FIELDS if field not in visible]
        changes.append(with_field(task, other, "secret_words", (CANARY,)))
        goals = list(task.scenario.goals)
        goals[other] = CANARY
        changes.append(replace(task, scenario=replace(task.scenario, goals=tuple(goals))))
    return changes


def check(task: Task, rule: Visibility) -> None:
    for seat, own in enumerate(task.characters):
        text = read_by(task, rule, seat)
        for other in hidden_changes(task, rule, seat):
            assert read_by(other, rule, seat) == text
        for other, character in enumerate(task.characters):
            fields = FIELDS if other == seat else VISIBLE[rule][task.between(own, character)]
            for field in fields:
                if getattr(character, field) or field == "age":
                    assert read_by(with_field(task, other, field, changed(field)), rule, seat) != text, field


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rule", RULES)
def test_our_own_tasks(rule: Visibility, every: int) -> None:
    for task in bundled_tasks.tasks()[::every]:
        check(task, rule)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_every_fiftieth_published_task(rule: Visibility) -> None:
    for task in islice(published(), 5, None, 50):
        check(task, rule)


@pytest.mark.parametrize("rule", RULES)
def test_three_agents_who_know_each_other_differently(rule: Visibility) -> None:
    characters = bundled_tasks.characters()[:3]
    scenario = replace(bundled_tasks.scenarios()[8], goals=("first", "second", "third"))
    for kind in (Relationship.ACQUAINTANCE, Relationship.KNOW_BY_NAME):
        pairs = {frozenset((characters[0].name, characters[1].name)): kind}
        check(Task(scenario, characters, pairs), rule)


def test_terms_of_others_are_hidden() -> None:
    (task, *_) = bundled_tasks.tasks(only=bundled_tasks.scenarios()[:1])
    terms = Terms(OneNumber((60.0, 999.0), (110.0, 1.0)), ((), (CANARY,)))
    other = replace(task, scenario=replace(task.scenario, terms=terms))
    assert read_by(task, "released", 0) == read_by(other, "released", 0)
    assert read_by(task, "released", 1) != read_by(other, "released", 1)


@given(st.text(max_size=60), st.sampled_from(FIELDS[5:]), st.sampled_from(RULES), st.sampled_from(Relationship))
def test_no_text_ends_its_place(text: str, field: str, rule: Visibility, relationship: Relationship) -> None:
    """Whatever a profile says, the observation has the lines that it has without it."""
    one, other = bundled_tasks.characters()[:2]
    scenario = replace(bundled_tasks.scenarios()[8], relationship=relationship)
    value = (text,) if field.endswith("values") else text
    lines = read_by(Task(scenario, (replace(one, **{field: value}), other)), rule, 0)[0].split("\n")
    plain = read_by(Task(scenario, (one, other)), rule, 0)[0].split("\n")
    assert len(lines) == len(plain)
    assert [line.split(":")[0] for line in lines if line.startswith("#")] == [
        line.split(":")[0] for line in plain if line.startswith("#")
    ]


def test_a_stranger_s_name_is_hidden_too() -> None:
    (task, *_) = bundled_tasks.tasks(only=bundled_tasks.scenarios()[:1])
    text = read_by(task, "released", 0)[0]
    assert task.characters[1].name not in text and '#1 the other person said: "sentence 1"' in text
