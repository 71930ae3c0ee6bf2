"""Claim: playing on with language models takes at most 1.15 x what its longest chain and its slots allow.

Run: python benchmarks/savoir_served.py [--latency 2] [--concurrency 64]

`savoir` on an episode of 20 acts, 10 of them the target's (122 coalitions, J = 2), both seats played on by a model on a
loopback server that takes so long for each reply: wall time over the ideal, which is the latency times the larger of
the longest chain of replies that wait for each other and all requests over the slots. Then a run (`run_units`) of 24
sessions of six acts, both speakers credited, in the same way.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.session_methods.savoir import savoir
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.agents.agent import Agent, ScriptedAgent
from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.simulation import SimulationChoice, simulate_sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.shards import run_units
from benchmarks.measure import tell
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

BAR = 1.15
RUN = """corpus = "play"
output = "run"
rating = "GOAL"
[split]
train = 1
validation = 0
test = 0
policy = 0
[decompose]
methods = ["savoir"]
[decompose.llm]
model = "m"
base_url = "{url}"
concurrency = {concurrency}
[decompose.savoir]
agents = {{ target = "base", partner = "base" }}
"""


def speaking() -> OpenAIServer:
    """Says something else every time, so that no two histories become one."""
    numbers = itertools.count()

    def answer(body: Body) -> Body:
        return completion(json.dumps({"act": "speak", "text": f"Word {next(numbers)}."}))

    return OpenAIServer(answer)


def told(name: str, wall_s: float, server: OpenAIServer, chain: int, given: argparse.Namespace) -> None:
    """Print how much longer it took than it had to."""
    slots = len(server.requests) / given.concurrency
    ideal_s = given.latency * max(chain, slots)
    more = {"wall_s": round(wall_s, 2), "ideal_s": round(ideal_s, 2), "requests": len(server.requests)}
    tell(name, wall_s / ideal_s, "x ideal", bar=BAR, longest_chain=chain, most_at_once=server.most_at_once, **more)


def one_session(given: argparse.Namespace) -> None:
    """Ten acts, 122 coalitions, J = 2."""
    game = Sotopia(bundled_tasks.tasks()[0], Rules(most_acts=20))
    game.reset(1)
    begun = game.clone()
    silent: Agent = ScriptedAgent("speaks", lambda view: Action("speak", f"Hello {view.step}."))
    play(game, dict.fromkeys(game.agents, silent))
    turns = tuple(Turn(i, move.agent, str(game.said(move))) for i, (move,) in enumerate(game.steps))
    episode = Episode("s1", turns, Rating("environment", game.agents[0], "GOAL", 4.0, 0.0, 10.0))
    with serving(speaking()) as server, TemporaryDirectory() as folder:
        server.latency_s = given.latency
        llm = LLMSettings(model="m", base_url=server.url, concurrency=given.concurrency, temperature=1.0)
        settings = DecomposeSettings(methods=("savoir",), llm=llm.model_dump())
        with LLMSession(llm, cache=Path(folder) / "replies.sqlite") as asker:
            model = LanguageModelAgent("base@m", "base", llm, asker.complete)
            reopened = RestoredEpisode("s1", begun, tuple(game.steps), dict.fromkeys(game.agents, model))
            started = time.perf_counter()
            savoir(episode, None, settings, asker, reopened)
            told("savoir, 10 acts, served", time.perf_counter() - started, server, 20, given)


def several(given: argparse.Namespace) -> None:
    """24 sessions in a run's shard."""
    with serving(speaking()) as server, TemporaryDirectory() as folder:
        server.latency_s = given.latency
        place = Path(folder)
        simulate_sotopia(
            SimulationChoice(("random",), ("used_bicycle",), pairs=1, repeats=24, rules=Rules(most_acts=6)),
            place / "play",
        )
        (place / "run.toml").write_text(RUN.format(url=server.url, concurrency=given.concurrency))
        config = load_config(place / "run.toml")
        open_engine(config)  # What it imports once is no part of playing on.
        started = time.perf_counter()
        outcomes = run_units(config, "judge", 0, 1, lambda *said: None)
        wall_s = time.perf_counter() - started
        assert {outcome.status for outcome in outcomes} == {"done"}, outcomes
        told(f"a run of {len(outcomes)} sessions, served", wall_s, server, 6, given)


def main() -> None:
    """Print one JSON line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--concurrency", type=int, default=64)
    given = parser.parse_args()
    one_session(given)
    several(given)


if __name__ == "__main__":
    main()
