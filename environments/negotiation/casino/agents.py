"""Who can play CaSiNo's game, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apportion.corpus.casino_points import ISSUES
from apportion.environments.agents.language_model import ActionFormat, action_prompts
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.negotiation.language_model import fields, record, script_registry, split_in

PROMPTS = action_prompts(Path(__file__).parent / "prompts", "apportion.casino_prompts")
FORM = ActionFormat(
    PROMPTS, ("base",), partial(fields, items=ISSUES), partial(split_in, items=ISSUES), partial(record, items=ISSUES)
)
_OURS = {"random": "Random", "greedy": "Greedy", "conceding": "Conceding", "fair": "Fair", "tit-for-tat": "TitForTat"}
AGENTS = script_registry("apportion.casino_agents", "apportion.environments.negotiation.casino.scripts", _OURS)
ROSTER = AgentRegistry(AGENTS, FORM)
"""``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``, ``recorded@LOG#EPISODE``, a package's, or a
language model's: ``base``, ``base@MODEL``."""
