"""What one side of a negotiation is worth to it changes no byte of what the other is shown, asked or draws."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.environment import Observation
from apportion.environments.negotiation.contexts import Context, contexts_of
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.language_model import FORM
from apportion.environments.negotiation.llm_realization import LLMVerbalizedAgent
from apportion.environments.negotiation.scripts import ConcedingAgent, FairAgent, GreedyAgent
from apportion.environments.negotiation.scripts import RandomAgent as Drawn
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.llm_client.settings import LLMSettings
from tests.environments.models import nobody
from tests.environments.negotiation.strategies import CONTEXTS

SETTINGS = LLMSettings(model="m", temperature=1.0)
SCRIPTS = (Drawn(), ConcedingAgent(), FairAgent(), GreedyAgent())


def seen_by_alice(game: Negotiation) -> list[Any]:
    """All that depends on what Alice knows: text, data, legal acts, numbers, requests of each kind, the terminal."""
    view, telling = Observation(game, "Alice"), NegotiationRenderer()
    models = [LanguageModelAgent(f"{one}@m", one, SETTINGS, nobody, form=FORM) for one in ("base", "react")]
    worded = [LLMVerbalizedAgent("fair~@m", FairAgent(), SETTINGS, nobody)] if view.legal and not game.game.over else []
    requests = [agent.request(view) for agent in (*models, *worded)]
    return [
        *(view.text, tuple(view.facts), view.legal, view.number, view.draws.random()),
        *[(one.key(), one.messages, one.schema, one.sample, one.subject) for one in requests],
        *(telling.opening(view), telling.events(view), telling.prompt(view), telling.commands(view)),
        *(script.act(view) for script in SCRIPTS if view.legal),
    ]


@given(CONTEXTS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_another_s_values_change_no_byte(context: Context, seed: int, draw: int) -> None:
    others = [one for one in contexts_of(context.counts) if one.values[0] == context.values[0]]
    games = [Negotiation(context), Negotiation(Random(draw).choice(others))]
    for game in games:
        game.reset(seed)
    assert seen_by_alice(games[0]) == seen_by_alice(games[1])
    draws = Random(draw)
    while not games[0].over:
        # Whatever Bob does is done in both: what he knows may move him, and nothing else may reach her.
        acts = {name: draws.choice(SCRIPTS).act(Observation(games[0], name)) for name in games[0].acting()}
        for game in games:
            game.step(acts)
        assert seen_by_alice(games[0]) == seen_by_alice(games[1])
