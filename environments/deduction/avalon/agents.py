"""Who can play Avalon, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from apportion.environments.deduction.agent_registry import roster_of
from apportion.environments.deduction.avalon.game import Avalon

ELSEWHERE = {
    "lasi": "LASI (Lan et al., 2024)",
    "strategist": "Strategist (Light et al., 2025)",
}
"""What the Stackelberg Speaker is compared with in Avalon (Table 1), besides ReAct and ReCon."""
ROSTER = roster_of(
    Avalon.kind,
    {
        "claims": "apportion.environments.deduction.avalon.scripts:Claims",
        "bayes": "apportion.environments.deduction.avalon.scripts:Bayesian",
    },
    ELSEWHERE,
)
"""``random``, ``claims``, ``bayes``, ``recorded@LOG#EPISODE``, a package's, or a language model's: ``base``, ``react``,
``perspectives``, ``recon``, each also with ``@MODEL``."""
