"""Scripted episodes in which words matter: their histories can all be played on, so that the credit of acts is known.

The seller of a bundled scenario talks, warmly, coldly or of nothing, and then deals; the buyer offers by its mood.

    python -m benchmarks.savoir_episodes FOLDER [--episodes 500]          # the corpus, for `apportion label shapley`
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from apportion.corpus.builder import CorpusBuild
from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import check_free, claim, folder_for, place
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.run_episode import play
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.scripted_agents import TalkingAgent, WordSensitiveAgent
from apportion.environments.sotopia.simulation import LOG
from apportion.environments.sotopia.sources.bundled_tasks import tasks
from apportion.environments.sotopia.tasks import Task

SCENARIO = "used_bicycle"
RULES = Rules(most_acts=20)
CLOSING = (10, 12, 14, 16)
"""Steps at which the seller begins to deal: 7 to 10 acts of its own."""


def task() -> Task:
    """Who sells to whom."""
    return next(one for one in tasks(pairs=1) if one.scenario.name == SCENARIO)


def plans(count: int) -> list[EpisodePlan]:
    """As many episodes, by their seeds 1, 2, …"""
    played = task()
    seller, buyer = (one.name for one in played.characters)
    return [
        EpisodePlan(
            f"sale-{seed:03}",
            partial(Sotopia, played, RULES),
            {seller: TalkingAgent(CLOSING[seed % len(CLOSING)]), buyer: WordSensitiveAgent()},
            seed,
            {"scenario": SCENARIO, "rules": vars(RULES)},
        )
        for seed in range(1, count + 1)
    ]


def write_corpus(count: int, out: Path) -> Corpus:
    """The episodes as a corpus of simulated sessions, of which the seller alone is rated."""
    record = {"kind": "scripted sales", "episodes": count, "closing": list(CLOSING)}
    check_free(out, record)
    with folder_for(out):
        claim(out, record)
        made = to_corpus(simulate(plans(count), out / LOG))
        seller = task().characters[0].name
        ratings = made.tables["ratings"]
        tables = {**made.tables, "ratings": ratings.filter(pc.equal(ratings["target"], seller))}
        place("scripted sales", out, CorpusBuild(tables, made.notes, made.left_out), record)
    return Corpus.open(out)


def reopened(count: int) -> Iterator[tuple[RestoredEpisode, str, tuple[int, ...]]]:
    """The same episodes, opened to be played on; the seller, and its turns."""
    for plan in plans(count):
        game = plan.make()
        game.reset(plan.seed)
        begun = game.clone()
        play(game, plan.agents)
        opened = RestoredEpisode(plan.name, begun, tuple(game.steps), plan.agents)
        yield opened, game.agents[0], opened.turns_of(game.agents[0])


def main() -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--episodes", type=int, default=500)
    given = parser.parse_args()
    print(f"{len(write_corpus(given.episodes, given.folder).session_ids())} sessions in {given.folder}")


if __name__ == "__main__":
    main()
