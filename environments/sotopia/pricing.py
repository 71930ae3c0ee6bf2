"""What simulating would take before anything is asked: the most requests, and the first of them word for word."""

from __future__ import annotations

from collections.abc import Iterator

from environments.agents.language_model import TOKENS_AN_ACT, LanguageModelAgent
from environments.core import View
from environments.sotopia.agents import asked_by
from environments.sotopia.game import Sotopia
from environments.sotopia.simulation import SimulationChoice, seated, seed_of
from foundation.errors import InputError
from llm_client.cost.most import MostAsked
from llm_client.cost.prices import find_price
from llm_client.cost.tokens import estimated_input_tokens
from llm_client.errors import prefixed
from llm_client.preview import Preview
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings

MEASURED = 100
"""Episodes, at most, whose first request is measured; the rest are taken to be as long."""


def price(choice: SimulationChoice) -> list[MostAsked]:
    """By model, what a choice would take at most; nothing for scripted agents. Asks nobody.

    Raises
    ------
    InputError
        An unknown name, or a price table that cannot be read.
    """
    by_model: dict[str, list[ChatRequest]] = {}
    counts: dict[str, int] = {}
    settings: dict[str, LLMSettings] = {}
    for llm, request, count in _first_requests(choice):
        settings[llm.model] = llm
        counts[llm.model] = counts.get(llm.model, 0) + count
        measured = by_model.setdefault(llm.model, [])
        if len(measured) < MEASURED:
            measured.append(request)
    return [_priced(choice, settings[model], requests, counts[model]) for model, requests in by_model.items()]


def preview(choice: SimulationChoice, count: int) -> Preview:
    """The first ``count`` requests: of each seat of a language model, what it would be asked before anybody has acted.

    Raises
    ------
    InputError
        An unknown name, or no language model plays.
    """
    asked = [(llm, request) for llm, request, _ in _first_requests(choice)]
    if not asked:
        raise InputError("no language model plays, so nothing would be sent")
    requests = [request for _, request in asked]
    llm, note = asked[0][0], "first requests alone: later ones hold what was said before"
    consent = f"{choice.called('send_to')} {llm.consent_host or llm.host}"
    return Preview(llm, tuple(requests[:count]), len(requests), consent, choice.called("preview"), (note,))


def _first_requests(choice: SimulationChoice) -> Iterator[tuple[LLMSettings, ChatRequest, int]]:
    """Of every seat of a language model: its settings, its first request, and how many there are at most."""
    asked = {name: asked_by(name, choice.chosen, choice.called, choice.temperature) for name in choice.agents}
    agents = {
        name: LanguageModelAgent(one.called, one.style, one.settings, _nobody)
        for name, one in asked.items()
        if one is not None
    }
    for name, task, seating in seated(choice):
        game = Sotopia(task, choice.rules)
        game.reset(seed_of(choice, name, seating))
        for seat, agent in enumerate(seating):
            if agent in agents:
                one = agents[agent]
                asked_for = len(range(seat, choice.rules.most_acts, len(seating))) * one.requests_an_act
                yield one.settings, one.request(View(game, game.agents[seat])), asked_for


def _priced(choice: SimulationChoice, llm: LLMSettings, first: list[ChatRequest], count: int) -> MostAsked:
    opening = sum(map(estimated_input_tokens, first)) / len(first)
    # On average half of the acts are there to be read.
    input_tokens = round(count * (opening + choice.rules.most_acts / 2 * TOKENS_AN_ACT))
    output_tokens = count * TOKENS_AN_ACT
    with prefixed(choice.called("model")):
        paid = find_price(llm.model, choice.chosen.prices)
    usd = None if paid is None else paid.usd(input_tokens, output_tokens)
    return MostAsked(llm.model, count, input_tokens, output_tokens, usd, llm.provider == "recorded")


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("a look before the work asks nobody")
