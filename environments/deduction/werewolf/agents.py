"""Who can play Werewolf, by name."""

from __future__ import annotations

from apportion.environments.deduction.agent_registry import roster_of

ROSTER = roster_of(
    "werewolf",
    {
        "claims": "apportion.environments.deduction.werewolf.heuristic_agent:Claims",
        "bayes": "apportion.environments.deduction.werewolf.bayesian_agent:BayesianAgent",
    },
    {
        "sla": "SLA (Xu et al., 2024, Language agents with reinforcement learning for strategic play in Werewolf)",
        "lspo": "LSPO (Xu et al., 2025, Learning strategic language agents in the werewolf game)",
    },
)
"""``random``, ``claims``, ``bayes``, ``recorded@LOG#EPISODE``, a package's, or a language model's: ``base``, ``react``,
``recon``."""
