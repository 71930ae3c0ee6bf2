"""Who can play CaSiNo's game, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apportion.corpus.casino_points import ISSUES
from apportion.environments.agents.language_model import ActionFormat
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.negotiation.language_model import fields, record, split_in
from apportion.foundation.registry import Registry
from apportion.llm_client.prompts.prompt_file import PromptKind

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.casino_prompts",
    setting="agent",
    header=("title", "revises"),
    blanks=frozenset({"situation", "legal", "draft"}),
    needed=("situation", "legal"),
    form="A prompt is a header (title, revises), then [system] and [user]; see docs/negotiation_variants.md",
)
FORM = ActionFormat(
    PROMPTS, ("base",), partial(fields, items=ISSUES), partial(split_in, items=ISSUES), partial(record, items=ISSUES)
)
_OURS = {"random": "Random", "greedy": "Greedy", "conceding": "Conceding", "fair": "Fair", "tit-for-tat": "TitForTat"}
AGENTS = Registry(
    what="agent",
    group="apportion.casino_agents",
    must_be="an apportion.environments.agents.agent.Agent, or a class that is made without arguments, or with what "
    "stands behind "
    "an @ by its `of`",
    fits=lambda thing: callable(getattr(thing, "act", None)),
    ours={
        **{name: f"apportion.environments.negotiation.casino.scripts:{script}" for name, script in _OURS.items()},
        "recorded": "apportion.environments.agents.agent:ReplayAgent",
    },
)
ROSTER = AgentRegistry(AGENTS, FORM)
"""``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``, ``recorded@LOG#EPISODE``, a package's, or a
language model's: ``base``, ``base@MODEL``."""
