"""One Night Ultimate Werewolf to those who play any game: its options, its environment, who can play it."""

from __future__ import annotations

from apportion.environments.deduction.agent_registry import roster_of
from apportion.environments.deduction.games import GameKind
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.rules import Options

_SCRIPTS = {"claims": "Claiming", "bayes": "Bayesian"}
_ELSEWHERE = {
    name: f"{told} (Jin et al., 2024)"
    for name, told in (("belief", "Belief"), ("llm-ins", "LLM-instructed"), ("rl-ins", "RL-instructed"))
}
ONUW = GameKind(
    OneNight,
    Options,
    OneNight,
    roster_of(
        OneNight.kind,
        {name: f"apportion.environments.deduction.onuw.scripts:{made}" for name, made in _SCRIPTS.items()},
        _ELSEWHERE,
    ),
)
"""``random``, ``claims``, ``bayes``, ``recorded@LOG#EPISODE``, a package's, or a language model's: ``base``, ``react``,
``perspectives``, ``recon``, each also with ``@MODEL``."""
SIMULATOR = ONUW.simulator
