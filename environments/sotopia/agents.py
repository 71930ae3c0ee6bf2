"""Who can play a character, by name: scripts, policies on this machine, a package's agents, and language models."""

from __future__ import annotations

from apportion.environments.agents.registry import MADE_OF, AgentRegistry, agents_by_name

AGENTS = agents_by_name(
    "apportion.agents",
    {
        "conceding": "apportion.environments.sotopia.scripted_agents:Conceding",
        # By their places alone, as `policy` is.
        "dat": "apportion.rlhf.social.dat:PrefixPlanner",
        "epo": "apportion.rlhf.social.epo:ReasoningPlanner",
        "moody": "apportion.environments.sotopia.scripted_agents:WordSensitiveAgent",
        "ppdpp": "apportion.rlhf.social.ppdpp:StrategyPlanner",
        "random": "apportion.environments.agents.agent:RandomLegalAgent",
        "talking": "apportion.environments.sotopia.scripted_agents:TalkingAgent",
    },
)
PLANNERS = ("dat@FOLDER", "epo@FOLDER", "ppdpp@FOLDER")
ROSTER = AgentRegistry(AGENTS, made_of=(*MADE_OF, "talking@STEP", *PLANNERS))
"""``conceding``, ``random``, ``moody``, ``talking@STEP``, ``recorded@LOG#EPISODE``, ``smollm2``, ``policy@FOLDER``,
``ppdpp@FOLDER`` (also ``epo``, ``dat``), a package's, or a language model's at a server: ``base``, ``react``,
``refine``, ``metamind``, ``base@MODEL``."""
asked_by, scripted = ROSTER.asked_by, ROSTER.scripted
