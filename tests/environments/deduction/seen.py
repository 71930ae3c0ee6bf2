"""All that leaves a game of hidden roles for one player: what tests of non-interference compare byte for byte."""

from collections.abc import Sequence
from typing import Any

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import VOTE
from apportion.environments.deduction.language_model import FORM, STYLES
from apportion.environments.deduction.text_rendering import DeductionRenderer
from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.llm_client.settings import LLMSettings
from tests.environments.models import nobody
from tests.environments.terminal.test_human_agent import Typist

MODELS = [
    LanguageModelAgent(style, style, LLMSettings(model="m", temperature=1.0), nobody, form=FORM) for style in STYLES
]


def seen_by(game: Deduction, name: str, scripts: Sequence[Agent], deals: bool = True) -> list[Any]:
    """Text, data, deals, legal acts, numbers, requests of each style, the terminal, refusals, what scripts do."""
    view, telling, typist = Observation(game, name), DeductionRenderer(type(game)), Typist()
    person = HumanAgent(typist.screen, telling)
    person.see_the_beginning(view)
    person.see_the_end(view)
    seen: list[Any] = [
        *(view.text, view.facts, view.legal, view.number, view.step, view.draws.random()),
        *(view.facts.deals if deals else ()),  # Those of onuw are many.
        *(view.known[-1], view.heard, game.follower(len(game.steps)), typist.text),
        *(telling.opening(view), telling.events(view)),
    ]
    if view.legal:
        asked = [(model, one) for model in MODELS for one in model.questions(view)]
        requests = [model.asks(view, one, {"belief": "None."}, Action("none")) for model, one in asked]
        seen += [(one.key(), one.messages, one.schema, one.sample, one.subject) for one in requests]
        seen += [telling.prompt(view), telling.commands(view), telling.plain(view)]
        seen += [view.problem(Action(kind, "", aim)) for kind in (VOTE, "fail", "kill", "look") for aim in (None, 1, 9)]
        seen += [script.act(view) for script in scripts]
    return seen
