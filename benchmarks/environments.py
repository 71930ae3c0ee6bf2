"""Claim: 1,000 scripted episodes a second of 20 acts on one core, and a clone in under 20 microseconds.

And 2,000 negotiations a second of ten acts through the same core.

Run: taskset -c 0 python -m benchmarks.environments [--episodes 5000] [--latency 2]

Bundled SOTOPIA tasks, two agents that speak until the 20 acts are over; no text is read, nothing is logged. Beside it
the same with every observation read as text, and clones of an episode of 20 acts that never draw and that draw once.

Negotiations are of drawn contexts, by scripts that concede to each other; their sentences are part of their acts.

With --latency SECONDS also: 64 episodes at once of a language model on a loopback server that takes so long for each
reply, as a multiple of 20 replies one after the other (aim: at most 1.15).
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from apportion.environments.agents.agent import Agent, ScriptedAgent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.environment import Action
from apportion.environments.negotiation.scripts import ConcedingAgent
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.llm_client.model_spec import ModelSpec
from benchmarks.measure import tell
from tests.llm_client.openai_server import OpenAIServer, completion, serving

EPISODES_A_S, GAMES_A_S, CLONE_US, LATENCY_RATIO = 1_000.0, 2_000.0, 20.0, 1.15


def episodes_a_second(agent: Agent, episodes: int) -> float:
    """Episodes of 20 acts, by the time of this process alone."""
    tasks = bundled_tasks.tasks()
    plans = []
    for number in range(episodes):
        task = tasks[number % len(tasks)]
        seats = {one.name: agent for one in task.characters}
        plans.append(EpisodePlan(str(number), partial(Sotopia, task), seats, number))
    start = time.process_time()
    played = simulate(plans).played
    took = time.process_time() - start
    assert all(len(one.environment.steps) == 20 for one in played)
    return episodes / took


def negotiations_a_second(games: int) -> tuple[float, float]:
    """Games of `conceding` with itself through the core, by the time of this process alone; acts a game."""
    choice = NegotiationChoice(games=min(games, 5_000), repeats=max(games // 5_000, 1))
    plans = choice.plans({"conceding": ConcedingAgent()})
    start = time.process_time()
    played = simulate(plans).played
    took = time.process_time() - start
    return len(played) / took, sum(len(one.environment.steps) - 1 for one in played) / len(played)


def clone_us(draws: bool, times: int = 20_000) -> float:
    """Microseconds a clone of an episode with 19 acts."""
    game = Sotopia(bundled_tasks.tasks()[0])
    for _ in range(19):
        game.do(Action("speak", "Hello."))
    game.chance.draws.random()
    start = time.process_time()
    for _ in range(times):
        copied = game.clone()
        if draws:
            copied.chance.draws.random()
    return (time.process_time() - start) / times * 1e6


def at_once(latency_s: float, episodes: int = 64) -> float:
    """Seconds of ``episodes`` played at once, over those of the 20 replies that one of them waits for."""
    speaks = json.dumps({"act": "speak", "text": "Hello."})
    scenario = bundled_tasks.scenarios()[0].name
    with (
        TemporaryDirectory() as folder,
        serving(OpenAIServer(lambda body: completion(speaks), latency_s=latency_s)) as server,
    ):
        chosen = ModelSpec("m", base_url=server.url, concurrency=episodes)
        choice = SimulationChoice(("base",), (scenario,), pairs=1, repeats=episodes, chosen=chosen)
        start = time.perf_counter()
        write_corpus(choice, Path(folder) / "play")
        return (time.perf_counter() - start) / (20 * latency_s)


def main() -> None:
    """Print one JSON line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=5_000)
    parser.add_argument("--latency", type=float)
    arguments = parser.parse_args()
    episodes = arguments.episodes
    silent = ScriptedAgent("speaks", lambda view: Action("speak", "Hello."))
    reader = ScriptedAgent("reads", lambda view: Action("speak", view.text[:20]))
    rate = episodes_a_second(silent, episodes)
    tell("scripted episodes, no text read", rate, "episodes/s", bar=EPISODES_A_S, ratio_to_bar=rate / EPISODES_A_S)
    tell("scripted episodes, every observation read", episodes_a_second(reader, episodes // 5), "episodes/s")
    rate, acts = negotiations_a_second(episodes)
    tell("negotiations, and both selections", rate, "games/s", acts=round(acts, 1), bar=GAMES_A_S)
    tell("clone that never draws", clone_us(False), "us", bar=CLONE_US)
    tell("clone that draws once", clone_us(True), "us")
    if arguments.latency:
        tell("64 episodes of a language model at once", at_once(arguments.latency), "x ideal", bar=LATENCY_RATIO)


if __name__ == "__main__":
    main()
