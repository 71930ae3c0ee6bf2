"""Does credit help a policy to learn? A seller that has to find out which words make a buyer generous.

The policy is a table: at each of eight acts a softmax over nine sentences (three warm, three cold, three empty); what
follows, an offer and an acceptance, is scripted. Updates are REINFORCE on four episodes each, rewards brought to mean
0 and variance 1 over the batch, whatever they are: the episode's score on every act, or each act's own by a method that
plays on, with the policy as it is. Every method has the step size out of `RATES` at which it is fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import fmean

import numpy as np

from apportion.decompose.shapley.value_function import NoisyValueFunction
from apportion.decompose.shapley.values import shapley_values
from apportion.environments.actions import Action
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Observation
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.observation import SPEAK
from apportion.environments.sotopia.scripted_agents import CHAT, COLD, WARM, TalkingAgent, WordSensitiveAgent, mood
from apportion.foundation.arrays import Floats
from benchmarks.measure import tell
from benchmarks.savoir_episodes import RULES, task

WORDS = (*WARM, *COLD, *CHAT)
ACTS, BATCH, SEEDS, MOST = 8, 4, 5, 800
RATES = (0.3, 1.0, 3.0, 10.0, 30.0)
ENOUGH = 0.9
"""Of the best reachable score."""
HELD_OUT = 64
"""Episodes on which a policy is measured after each update; they count for nothing."""
GOAL = RolloutUtility({"GOAL": 1.0})


@dataclass(frozen=True)
class Policy:
    """A seller that draws each of its first acts by its own logits (ACTS, WORDS), and then deals."""

    logits: Floats
    called: str = "policy"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        place = view.step // 2
        if place >= ACTS:
            return TalkingAgent(2 * ACTS).act(view)
        return Action(SPEAK, view.draws.choices(WORDS, chances(self.logits[place]).tolist())[0])


def chances(logits: Floats) -> Floats:
    """Softmax over the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


Credit = Callable[[Rollouts, int, float], Floats]
"""By what stands behind an episode, its number of acts and its score: a reward for each act (n,)."""
CREDITS: dict[str, Credit] = {
    "episode-score": lambda rollouts, acts, score: np.full(acts, score),
    "savoir": lambda rollouts, acts, score: (
        shapley_values(NoisyValueFunction(rollouts.all_plays), acts, drawn_alike=True).values
    ),
}


def episode(policy: Policy, seed: str) -> tuple[Sotopia, Sotopia]:
    """One episode as it begins and as it ends."""
    game = Sotopia(task(), RULES)
    game.reset(seed)
    begun = game.clone()
    play(game, dict(zip(game.agents, (policy, WordSensitiveAgent()), strict=True)))
    return begun, game


def score_of(game: Sotopia) -> float:
    """The seller's GOAL."""
    goal = game.outcome()[game.agents[0]]["GOAL"]
    assert goal is not None
    return goal


def mean_score(policy: Policy, seed: str, count: int) -> float:
    """Of so many episodes."""
    return fmean(score_of(episode(policy, f"{seed}/{number}")[1]) for number in range(count))


def best() -> float:
    """What the best words reach: of all orders of warm, cold and empty ones, that of the best mood, played."""
    kinds = (WARM[0], COLD[0], CHAT[0])
    most = max(product(kinds, repeat=ACTS), key=lambda said: mood([(0, Action(SPEAK, words)) for words in said]))
    logits = np.full((ACTS, len(WORDS)), -50.0)
    logits[range(ACTS), [WORDS.index(words) for words in most]] = 50.0
    return score_of(episode(Policy(logits), "best")[1])


@dataclass
class Learning:
    """One run: how many episodes and acts it took to be good enough; None where MOST were too few."""

    episodes: int | None = None
    own: int = 0
    played: int = 0


def learn(credit: Credit, rate: float, seed: int, goal: float) -> Learning:
    """From chance to a mean score of ``goal``."""
    logits = np.zeros((ACTS, len(WORDS)))
    run = Learning()
    for done in range(0, MOST, BATCH):
        policy = Policy(logits)
        if mean_score(policy, f"held out/{done}", HELD_OUT) >= goal:
            run.episodes = done
            break
        said, rewards = [], []
        for number in range(done, done + BATCH):
            begun, game = episode(policy, f"{seed}/{number}")
            agents = dict(zip(game.agents, (policy, WordSensitiveAgent()), strict=True))
            opened = RestoredEpisode(str(number), begun, tuple(game.steps), agents)
            turns = opened.turns_of(game.agents[0])
            rollouts = Rollouts(opened, game.agents[0], turns, GOAL, seed=number)
            rewards.append(credit(rollouts, len(turns), score_of(game))[:ACTS])
            said.append([WORDS.index(game.acts[turn][1].text) for turn in turns[:ACTS]])
            run.own += len(game.acts)
            run.played += rollouts.so_far.acts
        weights = np.array(rewards)
        weights = (weights - weights.mean()) / (weights.std() + 1e-9)
        step = np.eye(len(WORDS))[np.array(said)] - chances(logits)
        logits = logits + rate * (weights[:, :, None] * step).mean(axis=0)
    return run


def measure_learning() -> None:
    """Print how many episodes each credit takes to reach `ENOUGH` of the best, and the acts that this cost."""
    most = best()
    chance = mean_score(Policy(np.zeros((ACTS, len(WORDS)))), "chance", 400)
    for name, credit in CREDITS.items():
        tried = {rate: [learn(credit, rate, seed, ENOUGH * most) for seed in range(SEEDS)] for rate in RATES}
        rate, runs = min(tried.items(), key=lambda one: fmean(run.episodes or 2 * MOST for run in one[1]))
        tell(
            f"learning, {name}",
            fmean(run.episodes or MOST for run in runs),
            "episodes",
            each=[run.episodes for run in runs],
            rate=rate,
            by_rate={str(tried_rate): [run.episodes for run in those] for tried_rate, those in tried.items()},
            acts=round(fmean(run.own for run in runs)),
            acts_of_rollouts=round(fmean(run.played for run in runs)),
            best=round(most, 3),
            chance=round(chance, 3),
        )
