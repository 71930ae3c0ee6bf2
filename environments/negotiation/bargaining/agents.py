"""Who can bargain, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.environments.agents.language_model import ActionFormat, action_prompts
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.bargaining.realization import OFFER
from apportion.environments.negotiation.language_model import script_registry
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json

PRICE = "price"
"""The field in which a model writes a price."""
PROMPTS = action_prompts(Path(__file__).parent / "prompts", "apportion.bargaining_prompts")


def fields(view: Observation) -> Mapping[str, Any]:
    """`PRICE`: the price of an offer, null for other acts."""
    return {PRICE: {"type": ["integer", "null"], "minimum": 1}}


def price_in(kind: str, document: Mapping[str, Any], view: Observation) -> int | None:
    """The price of a reply.

    Raises ReplyMistakeError: An offer without a whole number.
    """
    price = document[PRICE]
    if kind != OFFER:
        return None
    if type(price) is not int:
        raise ReplyMistakeError(f'"{PRICE}" is {short_json(price)}; "{kind}" needs a whole number')
    return price


def record(act: Action, view: Observation) -> Mapping[str, Any]:
    """The price of an act, as the model writes it."""
    return {PRICE: act.data}


FORM = ActionFormat(PROMPTS, ("base",), fields, price_in, record)
_OURS = {"random": "AnyAct", "greedy": "Greedy", "conceding": "Conceding", "fair": "Fair", "tit-for-tat": "TitForTat"}
AGENTS = script_registry("apportion.bargaining_agents", "apportion.environments.negotiation.bargaining.scripts", _OURS)
ROSTER = AgentRegistry(AGENTS, FORM)
"""``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``, ``recorded@LOG#EPISODE``, a package's, or a
language model's: ``base``, ``base@MODEL``."""
