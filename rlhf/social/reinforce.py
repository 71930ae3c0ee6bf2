"""How planners learn: what is known by cross-entropy, and the rest by REINFORCE (Williams, 1992).

Its return is the exact goal score of the episode, discounted to each act; its baseline is the mean of the other
episodes of the same task and seat (leave one out).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from apportion.credit import leave_one_out
from apportion.foundation.errors import UnitError
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.social.episodes import HIGHEST, Scores, SeatStep, SocialEpisode, grouped
from apportion.rlhf.social.planner import Decision, LearnedPlanner, PlannedAgent, Planner, seeded
from apportion.rlhf.social.run import SocialRun
from apportion.rlhf.social.strategies import clone_follower

ANCHOR = 0.1
"""Of cross-entropy of what is known in the loss of REINFORCE: without it few episodes drive a planner to noise."""
DISCOUNT = 0.95
"""Of the return, from act to act: what is nearer to the agreement has more of the credit."""

_Example = TypeVar("_Example")


class DrawingPlanner(Planner):
    """One whose decisions have likelihoods."""

    @abstractmethod
    def known(self, steps: Sequence[SeatStep]) -> list[Decision]:
        """The decisions that the expert's acts come to, for the supervised start."""

    @abstractmethod
    def log_probs(self, decisions: Sequence[Decision]) -> Tensor:
        """How likely each decision is, with gradients to what learns alone [shape=(N,)] float32."""


def credits(played: Sequence[SocialEpisode]) -> list[list[float]]:
    """By episode, the advantage of each of its acts; every task and seat was played twice at least."""
    gains = dict[int, float]()
    for group in grouped(played).values():
        rows = leave_one_out([[one.score / HIGHEST] for one in group])
        gains |= {id(one): float(row[0]) for one, row in zip(group, rows, strict=True)}
    return [[gains[id(one)] * DISCOUNT**left for left in reversed(range(len(one.steps)))] for one in played]


def descend(
    loss: Callable[[list[_Example]], Tensor], examples: Sequence[_Example], batch: int, optimizer: Optimizer
) -> float:
    """One pass over examples in a drawn order, ``batch`` an update: the mean loss. Raises UnitError: that is none."""
    losses = []
    order = torch.randperm(len(examples)).tolist()
    for first in range(0, len(order), batch):
        value = loss([examples[one] for one in order[first : first + batch]])
        if not torch.isfinite(value):
            raise UnitError(f"a planner's loss is {value.item()}; it must be a finite number. Lower lr.")
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([one for group in optimizer.param_groups for one in group["params"]], 1.0)
        optimizer.step()
        losses.append(value.item())
    return sum(losses) / len(losses)


def train_planner(run: SocialRun, made: Callable[[PolicyAgent], DrawingPlanner]) -> LearnedPlanner:
    """The policy learns to follow strategies and is frozen, the planner learns what is known, then REINFORCE.

    Raises UnitError: a loss is no finite number.
    """
    clone_follower(run)
    frozen = run.agent()
    steps = [step for episode in run.play(run.expert, "start") for step in episode.steps]
    with seeded(run.seed):
        planner = made(frozen)
        by = torch.optim.Adam(planner.parameters, lr=run.settings.lr)
        taught = planner.known(steps)
        supervise(run, "supervised start", taught, lambda few: -planner.log_probs(few).mean(), by)
    agent = PlannedAgent(f"{planner.method}@{run.policy.name}", planner)
    return in_rounds(run, agent, "reinforce", partial(reinforce, run, planner, by, taught))


def supervise(
    run: SocialRun, what: str, examples: Sequence[_Example], loss: Callable[[list[_Example]], Tensor], by: Optimizer
) -> None:
    """``epochs`` passes over examples; tells how the loss fell."""
    losses = [descend(loss, examples, run.settings.batch_size, by) for _ in range(run.settings.epochs)]
    run.tell(f"{what}: {len(examples)} acts, loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")


def in_rounds(
    run: SocialRun, agent: PlannedAgent, tag: str, learn: Callable[[list[SocialEpisode], list[list[Decision]]], None]
) -> LearnedPlanner:
    """Rounds of playing the training tasks by decisions that explore, from which ``learn`` learns, by episode.

    ``tag``: a name of the rounds' random numbers.
    """
    start = run.evaluate(agent)
    run.tell(f"before reinforcement: {start.mean.text(2)} held out")
    for number in range(1, run.settings.rounds + 1):
        explorer = replace(agent, explores=True, decided={})
        played = run.play(explorer, f"{tag}-{number}")
        with seeded([run.seed, number]):
            learn(played, [explorer.decisions(episode) for episode in played])
        run.tell(f"round {number}: {len(played)} episodes, mean goal score {Scores.of(played).mean.value:.2f}")
    return LearnedPlanner.of(agent, start)


def reinforce(
    run: SocialRun,
    planner: DrawingPlanner,
    by: Optimizer,
    taught: Sequence[Decision],
    played: Sequence[SocialEpisode],
    decided: Sequence[Sequence[Decision]],
) -> None:
    """One pass of policy gradient over the decisions of episodes, which does not forget what was ``taught``."""
    pairs = [pair for made, row in zip(decided, credits(played), strict=True) for pair in zip(made, row, strict=True)]

    def loss(chosen: list[tuple[Decision, float]]) -> Tensor:
        kept = [taught[place] for place in torch.randint(len(taught), (len(chosen),)).tolist()] if taught else []
        weights = torch.tensor([credit for _, credit in chosen] + [ANCHOR] * len(kept))
        found = planner.log_probs([*(decision for decision, _ in chosen), *kept])
        return -(weights * found).sum() / len(chosen)

    descend(loss, pairs, run.settings.batch_size, by)
