"""A small policy in a run of its own, scripts that say what a test wants, and two tasks."""

from collections.abc import Sequence
from functools import partial

import torch

from apportion.environments.environment import Action
from apportion.environments.sotopia.goal_checks import PHYSICAL
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.social.episodes import SocialTasks, split_tasks
from apportion.rlhf.social.planner import Decision, PlannedAgent
from apportion.rlhf.social.reinforce import in_rounds, reinforce
from apportion.rlhf.social.run import SocialRun, SocialSettings
from tests.rlhf.toy import small_policy

SMALL = SocialSettings(most_acts=8, draws=1, epochs=1, tokens=3000, least=0.0, resamples=2)
OFFER = "offer: {}".format


class Says:
    """Does one act after the other, in each episode anew; then nothing."""

    paid = False

    def __init__(self, *acts, called="says"):
        self.acts, self.called = [Action(PHYSICAL, act) if isinstance(act, str) else act for act in acts], called

    def act(self, view):
        own = sum(by == view.facts.part.seat for by, _ in view.facts.acts)
        return self.acts[own] if own < len(self.acts) else Action("none")


def small_tasks(most_acts: int = SMALL.most_acts) -> SocialTasks:
    """Both seats of one task to learn from, and of one to evaluate on."""
    tasks = split_tasks(0, 1, 0.4, most_acts)
    return SocialTasks(tasks.training[:2], tasks.held_out[:2])


def small_run(settings: SocialSettings = SMALL, seed: int = 0) -> SocialRun:
    """A run whose policy knows nothing."""
    policy = small_policy(seed)
    model = attach_adapter(policy.model, LoraSettings(r=2, alpha=4, dropout=0.0))
    return SocialRun(settings, seed, policy, model, small_tasks())


def reinforced(run: SocialRun, agent: PlannedAgent, rounds: int, lr: float, taught: Sequence[Decision] = ()) -> None:
    """An agent's planner learns by so many rounds of REINFORCE."""
    run.settings = run.settings.model_copy(update={"rounds": rounds})
    optimizer = torch.optim.Adam(agent.planner.parameters, lr=lr)
    in_rounds(run, agent, "reinforce", partial(reinforce, run, agent.planner, optimizer, taught))
