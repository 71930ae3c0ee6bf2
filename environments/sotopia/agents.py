"""Who can play a character, by name: scripts, policies on this machine, a package's agents, and language models."""

from __future__ import annotations

from apportion.environments.agents.registry import MADE_OF, AgentRegistry, agents_by_name

AGENTS = agents_by_name(
    "apportion.agents",
    {
        "conceding": "apportion.environments.sotopia.scripted_agents:Conceding",
        "moody": "apportion.environments.sotopia.scripted_agents:WordSensitiveAgent",
        "random": "apportion.environments.agents.agent:RandomLegalAgent",
        "talking": "apportion.environments.sotopia.scripted_agents:TalkingAgent",
    },
)
METAMIND = "MetaMind (Zhang et al., 2025, Modeling human social thoughts with metacognitive multi-agent systems)"
ROSTER = AgentRegistry(AGENTS, made_of=(*MADE_OF, "talking@STEP"), elsewhere={"metamind": METAMIND})
"""``conceding``, ``random``, ``moody``, ``talking@STEP``, ``recorded@LOG#EPISODE``, ``smollm2``, ``policy@FOLDER``, a
package's, or a language model's at a server: ``base``, ``react``, ``refine``, ``base@MODEL``."""
asked_by, scripted = ROSTER.asked_by, ROSTER.scripted
