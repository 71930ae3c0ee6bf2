"""Who can bargain, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.environments.agents.language_model import ActionFormat
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.bargaining.realization import OFFER
from apportion.foundation.registry import Registry
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json

PRICE = "price"
"""The field in which a model writes a price."""
PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.bargaining_prompts",
    setting="agent",
    header=("title", "revises"),
    blanks=frozenset({"situation", "legal", "draft"}),
    needed=("situation", "legal"),
    form="A prompt is a header (title, revises), then [system] and [user]; see docs/negotiation_variants.md",
)


def fields(view: Observation) -> Mapping[str, Any]:
    """`PRICE`: the price of an offer, null for other acts."""
    return {PRICE: {"type": ["integer", "null"], "minimum": 1}}


def price_in(kind: str, document: Mapping[str, Any], view: Observation) -> int | None:
    """The price of a reply.

    Raises
    ------
    ReplyMistakeError
        An offer without a whole number.
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
AGENTS = Registry(
    what="agent",
    group="apportion.bargaining_agents",
    must_be="an apportion.environments.agents.agent.Agent, or a class that is made without arguments, or with what "
    "stands behind "
    "an @ by its `of`",
    fits=lambda thing: callable(getattr(thing, "act", None)),
    ours={
        **{name: f"apportion.environments.negotiation.bargaining.scripts:{script}" for name, script in _OURS.items()},
        "recorded": "apportion.environments.agents.agent:ReplayAgent",
    },
)
ROSTER = AgentRegistry(AGENTS, FORM)
"""``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``, ``recorded@LOG#EPISODE``, a package's, or a
language model's: ``base``, ``base@MODEL``."""
