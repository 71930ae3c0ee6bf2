"""PPDPP: a small classifier chooses one of a list of strategies before each act (Deng et al., 2024, Plug-and-play
policy planner for large language model powered dialogue agents).

The planner is fine-tuned on annotated strategies first (cross-entropy), then by REINFORCE in dialogues that the
language model plays, each strategy told to it in words; the language model is frozen.

Choices where the paper leaves one, or cannot be followed:

- The planner reads the frozen policy's last hidden state, where theirs is a RoBERTa of its own.
- It starts from what the expert script does: `apportion.rlhf.social.strategies.strategy_of` names its acts.
- The reward is the exact goal score at the end; theirs asks a language model after every turn, and takes a little off
  for each. A baseline is taken off, which theirs has not.
- In play it takes the likeliest strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.social.episodes import SeatStep
from apportion.rlhf.social.planner import Decision, LearnedPlanner, hidden_states, states_of
from apportion.rlhf.social.reinforce import DrawingPlanner, train_planner
from apportion.rlhf.social.run import SocialRun
from apportion.rlhf.social.strategies import STRATEGIES, strategy_of

NAMES = tuple(STRATEGIES)
WIDTH = 64
"""Of the hidden layer."""


class StrategyPlanner(DrawingPlanner):
    """A softmax over `STRATEGIES`; untrained, all are as likely."""

    method, example = "ppdpp", "ppdpp@FOLDER"

    def __init__(self, policy: PolicyAgent) -> None:
        super().__init__(policy)
        width, last = policy.model.config.hidden_size, nn.Linear(WIDTH, len(NAMES))
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.network = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, WIDTH), nn.Tanh(), last)

    def decide(self, contexts: Sequence[DialogueContext], explores: bool) -> list[Decision]:
        """A strategy before each act."""
        states = hidden_states(self.policy, contexts)
        with torch.no_grad():
            scores = self.network(states)
        chosen = torch.multinomial(scores.softmax(dim=1), 1)[:, 0] if explores else scores.argmax(dim=1)
        return [Decision(state, one, STRATEGIES[NAMES[one]]) for state, one in zip(states, chosen, strict=True)]

    def known(self, steps: Sequence[SeatStep]) -> list[Decision]:
        """The strategies that acts are nearest to."""
        chosen = [torch.tensor(NAMES.index(strategy_of(step))) for step in steps]
        return [Decision(state, one) for state, one in zip(states_of(self.policy, steps), chosen, strict=True)]

    def log_probs(self, decisions: Sequence[Decision]) -> Tensor:
        """Of the strategies that were chosen."""
        scores: Tensor = self.network(torch.stack([one.state for one in decisions]))
        return scores.log_softmax(dim=1).gather(1, torch.stack([one.choice for one in decisions])[:, None])[:, 0]


def train(run: SocialRun) -> LearnedPlanner:
    """As `train_planner`."""
    return train_planner(run, StrategyPlanner)
