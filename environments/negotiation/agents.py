"""Who can negotiate, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from environments.agents.roster import Roster
from environments.negotiation.language_model import FORM
from foundation.registry import Registry

AGENTS = Registry(
    what="agent",
    group="apportion.negotiation_agents",
    must_be="an environments.agents.agent.Agent, or a class that is made without arguments, or with what stands behind "
    "an @ by its `of`",
    fits=lambda thing: callable(getattr(thing, "act", None)),
    ours={
        "random": "environments.negotiation.scripts:Random",
        "greedy": "environments.negotiation.scripts:Greedy",
        "conceding": "environments.negotiation.scripts:Conceding",
        "fair": "environments.negotiation.scripts:Fair",
        "tit-for-tat": "environments.negotiation.scripts:TitForTat",
        "recorded": "environments.agents.recorded:Recorded",
    },
)
ROSTER = Roster(AGENTS, FORM)
"""``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``, ``recorded@LOG#EPISODE``, a package's, or a
language model's: ``base``, ``react``, ``base@MODEL``."""
