"""Claim: by our rules a random game of offers and agreement goes as in open_spiel's `bargaining`, and is played faster.

`open_spiel` (2.0.2, Apache 2.0; written in C++) is no dependency of ours: make an environment of its own.

    python -m venv /tmp/spiel && /tmp/spiel/bin/pip install open_spiel==2.0.2
    PYTHONPATH=. /tmp/spiel/bin/python benchmarks/negotiation_peer.py --contexts FILE [--games 100000]

FILE has contexts as in Deal or No Deal's ``selfplay.txt`` (4,086 of them, CC BY-NC 4.0). Every game is played
in both at once: at every act the same offers must be legal, and at the end the points be equal. `bargaining` has no
insisting, refusing and ending, and stops at an agreement, so that those acts of ours are left out, and after an
``agree`` comes an ``end`` and what was agreed on is taken. The speeds are of games of the same random policy, one after
the other in one process, by turns in `ROUNDS` rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from apportion.environments.negotiation.action_encoding import AGREE, END, MOST_KEPT, SPLITS, split_code, splits_of
from apportion.environments.negotiation.contexts import Context, read_contexts
from apportion.environments.negotiation.rules import Game

MOST_ACTS, ROUNDS = 10, 5


def main() -> None:
    """Play in both, and print what is equal and how fast each is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=Path, required=True)
    parser.add_argument("--games", type=int, default=100_000)
    given = parser.parse_args()
    contexts = read_contexts(given.contexts)
    peer = bargaining(contexts)
    print(json.dumps({"contexts": len(contexts), **compared(contexts, peer, given.games)}))
    for figure in speeds(contexts, peer, given.games // 10):
        print(json.dumps(figure))


def bargaining(contexts: Sequence[Context]) -> Any:
    """The peer's game over these contexts."""
    import pyspiel

    lines = (" ".join(",".join(map(str, one)) for one in (c.counts, *c.values)) for c in contexts)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("".join(f"{line}\n" for line in lines))
    settings = {"instances_file": file.name, "max_num_instances": len(contexts), "max_turns": MOST_ACTS}
    game = pyspiel.load_game("bargaining", settings)
    Path(file.name).unlink()
    return game


def compared(contexts: Sequence[Context], peer: Any, games: int) -> dict[str, Any]:
    """Play games in both at once; how many, of how many acts, with how many agreements.

    Raises
    ------
    AssertionError
        They differ.
    """
    draws = random.Random(0)
    acts = agreements = 0
    offers = _offers(peer)
    for number in range(games):
        index = number % len(contexts)
        context = contexts[index]
        state, game = peer.new_initial_state(), Game(context, 0, MOST_ACTS)
        state.apply_action(index)
        while not state.is_terminal():
            actions = state.legal_actions()
            theirs = [offers[action] for action in actions]
            ours = [act for act in game.legal() if act < SPLITS or act == AGREE]
            assert sorted(theirs) == ours, f"game {number}: legal {theirs} and {ours}"
            assert state.current_player() == game.seat, f"game {number}: another seat's turn"
            # Answers often agree: else nearly every game would be as long as it may be.
            act = AGREE if AGREE in ours and draws.random() < 0.3 else draws.choice(ours)
            state.apply_action(actions[theirs.index(act)])
            game.do(act)
            acts += 1
            if act == AGREE and not game.over:
                game.do(END)
        assert game.over, f"game {number}: over there, and not here"
        points = taken(game)
        assert list(points) == [int(value) for value in state.returns()], f"game {number}: {points}"
        agreements += game.agreed
    return {"games": games, "equal": True, "acts": acts, "agreements": agreements}


def taken(game: Game) -> tuple[int, int]:
    """Both take what was agreed on, or, where nothing was, all; the points."""
    for seat in range(2):
        meant = game.meant(seat)
        game.select(seat, splits_of(game.context.counts)[-1] if meant is None else meant)
    return game.points


def _offers(peer: Any) -> dict[int, int]:
    """By action of the peer, our act."""
    found: dict[int, int] = {}
    for action in range(peer.num_distinct_actions() - 1):
        a, b, c = peer.all_offers()[action].quantities
        if max(a, b, c) <= MOST_KEPT:  # It also lists splits that no allowed pool has.
            found[action] = split_code((a, b, c))
    return {**found, peer.num_distinct_actions() - 1: AGREE}


def speeds(contexts: Sequence[Context], peer: Any, games: int) -> list[dict[str, Any]]:
    """Games a second of a random policy: the best of `ROUNDS` rounds of each, by turns."""
    seconds: dict[str, list[float]] = {"rules": [], "open_spiel": []}
    length: dict[str, float] = {}
    for seed in range(ROUNDS):
        for name, play in (("rules", ours), ("open_spiel", theirs)):
            draws, begun = random.Random(seed), time.perf_counter()
            acts = sum(play(contexts, peer, number % len(contexts), draws) for number in range(games))
            seconds[name].append(time.perf_counter() - begun)
            length[name] = round(acts / games, 2)
    return [
        {"by": name, "games_per_s": round(games / min(took)), "acts_per_game": length[name], "games": games}
        for name, took in seconds.items()
    ]


def ours(contexts: Sequence[Context], peer: Any, index: int, draws: random.Random) -> int:
    """One random game by our rules; how many acts it had."""
    context = contexts[index]
    game = Game(context, 0, MOST_ACTS)
    choice, offers = draws.choice, splits_of(context.counts)
    answers = (*offers, AGREE)
    act = -1
    while not game.over:
        act = choice(answers if game.acts else offers)
        game.do(act)
        if act == AGREE and not game.over:
            game.do(END)
    taken(game)
    return len(game.acts) - (game.acts[-1] == END)


def theirs(contexts: Sequence[Context], peer: Any, index: int, draws: random.Random) -> int:
    """One random game of `bargaining`; how many acts it had."""
    state = peer.new_initial_state()
    state.apply_action(index)
    choice, acts = draws.choice, 0
    while not state.is_terminal():
        state.apply_action(choice(state.legal_actions()))
        acts += 1
    state.returns()
    return acts


if __name__ == "__main__":
    main()
