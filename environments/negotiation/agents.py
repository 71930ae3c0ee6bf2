"""Who can negotiate, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import MADE_OF, AgentRegistry
from apportion.environments.agents.wrappers import WrappedModel, unwrapped
from apportion.environments.negotiation.language_model import FORM, script_registry
from apportion.environments.negotiation.llm_realization import PROMPTS, WORDED, WORDING, LLMVerbalizedAgent
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.prompt_style import StyledModel, style_and_model
from apportion.llm_client.session import Complete

AGENTS = script_registry(
    "apportion.negotiation_agents",
    "apportion.environments.negotiation.scripts",
    {
        "random": "RandomAgent",
        "greedy": "GreedyAgent",
        "conceding": "ConcedingAgent",
        "fair": "FairAgent",
        "tit-for-tat": "TitForTatAgent",
    },
    # By its place alone: what it is trained with is above this package, and is loaded when somebody names it.
    learned="apportion.rlhf.negotiation.agent:LearnedNegotiator",
)


@dataclass(frozen=True)
class Negotiators(AgentRegistry):
    """All who can negotiate; a script that a language model puts into words is called ``fair~`` or ``fair~@MODEL``.

    Scripts are ``random``, ``greedy``, ``conceding``, ``fair``, ``tit-for-tat``; ``recorded@LOG#EPISODE`` plays again;
    ``learned@FOLDER`` was trained by `train negotiator`;
    language models are ``base``, ``react``, ``base@MODEL``.
    """

    def asked_by(
        self, name: str, chosen: ModelSpec, called: Called = str, temperature: float = TEMPERATURE
    ) -> StyledModel | None:
        """As `AgentRegistry.asked_by`; a worded script's, too."""
        style, _ = style_and_model(name)
        if style.endswith(WORDED) and unwrapped(name) is None:
            self.scripted(style.removesuffix(WORDED))
            return StyledModel.of("agent", name, chosen, called, temperature)
        return super().asked_by(name, chosen, called, temperature)

    def asking(self, name: str, asked: StyledModel, complete: Complete) -> Agent:
        """As `AgentRegistry.asking`; a worded script, too."""
        if asked.style.endswith(WORDED) and not isinstance(asked, WrappedModel):
            return LLMVerbalizedAgent(
                asked.called, self.scripted(asked.style.removesuffix(WORDED)), asked.settings, complete
            )
        return super().asking(name, asked, complete)

    def prompt_files(self, asked: StyledModel) -> list[Path]:
        """As `AgentRegistry.prompt_files`; of a worded script, too."""
        if asked.style.endswith(WORDED) and not isinstance(asked, WrappedModel):
            return [PROMPTS.find(WORDING)]
        return super().prompt_files(asked)


ROSTER = Negotiators(AGENTS, FORM, (*MADE_OF, "learned@FOLDER"))
