"""Claim: games of hidden roles run at 300 a second through the core by random agents, at 20 a second by Bayesian ones.

And Werewolf by the rules alone at least twice as fast as TextArena's SecretMafia, by random players in the same run.

    taskset -c 0 python benchmarks/deduction.py [--games 300] [--textarena PYTHON]
    python benchmarks/deduction.py --wins 600        # instead: who wins Werewolf, every script against every other

Through the core: agents, observations' facts, speeches, events and all, nothing logged. Rules alone: no core, no talk.
TextArena (0.7.4, MIT) is no dependency of ours: make an environment of its own, whose Python is named.

    python -m venv /tmp/textarena && /tmp/textarena/bin/pip install textarena==0.7.4

Its SecretMafia is played without its wrappers, seven players (two of them Mafia, a doctor, a detective), one round of
discussion, which is the fewest that it plays; its default is three. By turns, in `ROUNDS` rounds of each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.avalon import rules as avalon
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.werewolf import rules as werewolf
from benchmarks.measure import tell
from tests.environments.deduction.avalon.exact import random_game

CORE_A_S, BAYES_A_S, TIMES_PEER, ROUNDS = 300, 20, 2, 3
PEER = """
import random, sys, time
from textarena.envs.SecretMafia.env import Phase, SecretMafiaEnv
random.seed(0)
games, start = int(sys.argv[1]), time.process_time()
for _ in range(games):
    env = SecretMafiaEnv(discussion_rounds=1)
    env.reset(num_players=7)
    done = False
    while not done:
        state = env.state
        alive, seat = state.game_state["alive_players"], state.current_player_id
        if env.phase == Phase.DAY_DISCUSSION:
            action = "I see."
        else:
            mafia = env.phase == Phase.NIGHT_MAFIA
            others = [p for p in alive if p != seat and not (mafia and env.player_roles[p] == "Mafia")]
            action = f"[{random.choice(others)}]"
        done, _ = env.step(action)
print(games / (time.process_time() - start))
"""


def werewolf_alone(games: int) -> None:
    """Random games of Werewolf without core or talk."""
    draws, options = Random(0), werewolf.Options()
    for _ in range(games):
        table = werewolf.Table(options, tuple(draws.sample(options.roles, len(options.roles))))
        while seats := table.acting():
            table.do({seat: draws.choice(table.aims(seat)) for seat in seats}, draws)


def avalon_alone(games: int) -> None:
    """Random games of Avalon without core or talk; `avalon_peer.py` has them beside AvalonBench's engine."""
    draws, options = Random(0), avalon.Options()
    for _ in range(games):
        random_game(options, draws)


ALONE: dict[str, Callable[[int], None]] = {"werewolf": werewolf_alone, "avalon": avalon_alone}
"""By game, so many of it by the rules alone."""


def a_second(games: int, work: Callable[[int], None]) -> float:
    """Games a second of processor time."""
    start = time.process_time()
    work(games)
    return games / (time.process_time() - start)


def through_the_core(kind: str, agent: str) -> Callable[[int], None]:
    """Games of one agent with itself."""
    game = game_called(kind)
    player, environment = game.roster.scripted(agent), game.make(game.options(), None)

    def work(games: int) -> None:
        for number in range(games):
            environment.reset(number)
            play(environment, dict.fromkeys(environment.agents, player))

    return work


def wins(village: str, werewolves: str, games: int) -> float:
    """How often the village wins Werewolf, by agents, on the deals of the seeds from 0."""
    game, won = game_called("werewolf"), 0
    sides = {"village": game.roster.scripted(village), "werewolves": game.roster.scripted(werewolves)}
    for seed in range(games):
        environment = game.make(game.options(), None)
        environment.reset(seed)
        seats = zip(environment.agents, environment.deal, strict=True)
        play(environment, {name: sides[environment.teams[role]] for name, role in seats})
        won += environment.facts(environment.agents[0]).events[-2].data == "village"
    return won / games


def peer(python: str, games: int) -> float:
    """Games a second of TextArena's SecretMafia."""
    done = subprocess.run([python, "-c", PEER, str(games)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python}: SecretMafia cannot be played there:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def main() -> None:
    """Print one JSON line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=300, help="of each agent through the core")
    parser.add_argument("--textarena", metavar="PYTHON", help="of an environment with TextArena")
    parser.add_argument("--wins", type=int, metavar="GAMES", help="who wins Werewolf, in so many games of each pair")
    given = parser.parse_args()
    if given.wins:
        for village, werewolves in product(("random", "claims", "bayes"), repeat=2):
            rate = wins(village, werewolves, given.wins)
            tell(f"village of {village}, werewolves of {werewolves}", rate, "won by the village", games=given.wins)
        return
    for kind in GAMES.names():
        random = a_second(given.games, through_the_core(kind, "random"))
        tell(f"{kind} through the core, random", random, "games/s", bar=CORE_A_S)
        if "bayes" in game_called(kind).roster.registry.names():
            bayes = a_second(given.games // 4, through_the_core(kind, "bayes"))
            tell(f"{kind} through the core, bayes", bayes, "games/s", bar=BAYES_A_S)
    for kind, work in ALONE.items():
        tell(f"{kind} by the rules alone, random", a_second(10 * given.games, work), "games/s")
    if given.textarena:
        for number in range(1, ROUNDS + 1):
            theirs, ours = peer(given.textarena, given.games), a_second(10 * given.games, werewolf_alone)
            tell(
                f"werewolf by the rules alone beside SecretMafia, round {number}", ours, "games/s",
                peer=round(theirs, 1), ratio=round(ours / theirs, 2), bar=TIMES_PEER,
            )  # fmt: skip


if __name__ == "__main__":
    main()
