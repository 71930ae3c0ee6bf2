"""Claim: our games of Avalon go as in AvalonBench's engine, act by act, and random games are played faster.

AvalonBench (Light et al., 2023; github.com/jonathanmli/Avalon-LLM) has no licence, so that nothing of it is here: make
a checkout of your own.

    git clone https://github.com/jonathanmli/Avalon-LLM /tmp/avalonbench
    python benchmarks/avalon_peer.py --checkout /tmp/avalonbench [--games 10000] [--write TABLE.json]

Every game is played at random by our rules, and its acts are then done in theirs: after each, whether the team goes,
how many cards fail, who leads next, which size is needed, whether it is over and who has won must be equal.
``--write`` keeps what theirs came to as a table of one letter a game (g: good wins; q: three quests failed; m: Merlin
was found) and a digest of everything that was compared, for machines without a checkout.

The file read is ``avalonbench_dev/avalon/engine.py`` (numpy, pydantic). It imports its exceptions from a file that is
not beside it; an empty class stands in. The speeds are of dealing and playing games of the same random policy in one
process, by turns in `ROUNDS` rounds; each figure is the median of its rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import sys
import time
import types
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

sys.path[0] = str(Path(__file__).resolve().parents[1])

from apportion.environments.deduction.avalon.rules import (
    MERLIN_FOUND,
    MERLIN_HIDDEN,
    QUEST,
    QUESTS_FAILED,
    SHOT,
    TEAM,
    VOTE,
    Deal,
    Game,
    Options,
)
from tests.environments.deduction.avalon.exact import ballots, dealt, hands, random_game, targets, teams

SEED, GAMES, ROUNDS = 2023, 10_000, 5
ENGINE = Path("avalonbench_dev") / "avalon" / "engine.py"
LETTER = {MERLIN_HIDDEN: "g", QUESTS_FAILED: "q", MERLIN_FOUND: "m"}
Decision = tuple[str, tuple[int, ...]]
"""What is decided, and how: the seats of a team, votes and cards as 0 and 1, the seat that is named."""


class Recorded(NamedTuple):
    """A game as it was dealt, and everything that was decided in it."""

    deal: Deal
    leader: int
    decisions: tuple[Decision, ...]


class Course(NamedTuple):
    """How a game went: a word after each decision, and the letter of its end."""

    words: tuple[str, ...]
    letter: str


def sequences(games: int = GAMES, seed: int = SEED) -> Iterator[Recorded]:
    """Random games by our rules; the same in every version of Python."""
    draws = Random(seed)
    for _ in range(games):
        game = dealt(Options(), draws)
        leader, decisions = game.leader, []
        while game.winner is None:
            decision = _drawn(game, draws)
            _do(game, decision)
            decisions.append(decision)
        yield Recorded(game.deal, leader, tuple(decisions))


def ours(sequence: Recorded) -> Course:
    """How a game goes by our rules."""
    game, words = Game(Options(), sequence.deal, sequence.leader), []
    for decision in sequence.decisions:
        words.append(_word(decision, _do(game, decision), game.winner is not None, game.leader, _needed(game)))
    assert game.ending is not None
    return Course(tuple(words), LETTER[game.ending])


class AvalonBench:
    """Their engine, from a checkout.

    Parameters
    ----------
    checkout : Path
        Of the repository; raises OSError where the engine is not in it.
    """

    def __init__(self, checkout: Path) -> None:
        package = types.ModuleType("avalonbench")
        package.__path__ = []
        errors = types.ModuleType("avalonbench.avalon_exception")
        errors.AvalonEnvException = type("AvalonEnvException", (Exception,), {})  # type: ignore[attr-defined]
        spec = importlib.util.spec_from_file_location("avalonbench.engine", checkout / ENGINE)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules |= {"avalonbench": package, errors.__name__: errors, spec.name: module}
        spec.loader.exec_module(module)
        with contextlib.redirect_stdout(io.StringIO()):  # It greets every game.
            self.game = module.AvalonGameEnvironment.from_num_players(5)
        self.number_of = {name.lower(): number for number, name in module.AvalonBasicConfig.ROLES.items()}

    def course(self, sequence: Recorded) -> Course:
        """How a game goes there."""
        import numpy

        game = self.game
        game.reset()
        game.roles = numpy.array([self.number_of[role] for role in sequence.deal])
        game.is_good = numpy.array([role in ("merlin", "servant") for role in sequence.deal])
        game.quest_leader = sequence.leader
        words = []
        for decision in sequence.decisions:
            result = self.do(decision)
            # They move the leader on when a team is proposed, we when it was voted on.
            leader = (game.quest_leader - (decision[0] == TEAM)) % 5
            needed = game.get_team_size() if game.phase == 0 else None
            words.append(_word(decision, result, game.done, leader, needed))
        letter = "g" if game.good_victory else "m" if sequence.decisions[-1][0] == SHOT else "q"
        return Course(tuple(words), letter)

    def do(self, decision: Decision) -> int | None:
        """Decide something; whether a team goes, how many cards fail, whether Merlin was found."""
        game, (kind, values) = self.game, decision
        if kind == TEAM:
            game.choose_quest_team(frozenset(values), game.quest_leader)
            return None
        if kind == VOTE:
            return int(game.gather_team_votes(list(values))[2])
        if kind == QUEST:
            return int(game.gather_quest_votes(list(values))[3])
        return int(not game.choose_assassination_target(game.get_assassin(), values[0])[2])

    def random_game(self, draws: Random) -> None:
        """Deal a game, as they do, and play it as `tests.environments.deduction.avalon.exact` does."""
        game = self.game
        game.reset()
        while not game.done:
            if game.phase == 0:
                of = teams(5, game.get_team_size())
                game.choose_quest_team(frozenset(_one_of(of, draws)), game.quest_leader)
            elif game.phase == 1:
                game.gather_team_votes(_one_of(ballots(5), draws))
            elif game.phase == 2:
                evil = frozenset(seat for seat in range(5) if not game.is_good[seat])
                game.gather_quest_votes(_one_of(hands(tuple(sorted(game.quest_team)), evil), draws))
            else:
                assassin = int(game.get_assassin())
                game.choose_assassination_target(assassin, _one_of(targets(5, assassin), draws))


def table_of(course: Callable[[Recorded], Course], games: int = GAMES, seed: int = SEED) -> dict[str, Any]:
    """What an engine comes to in random games: a letter a game, and a digest of how they went."""
    letters, whole = [], sha256()
    for sequence in sequences(games, seed):
        gone = course(sequence)
        letters.append(gone.letter)
        whole.update(f"{' '.join(gone.words)} {gone.letter}\n".encode())
    return {"games": games, "seed": seed, "letters": "".join(letters), "digest": whole.hexdigest()}


def speeds(peer: AvalonBench, games: int = 2_000, rounds: int = ROUNDS) -> dict[str, float]:
    """Random games a second of process time, the median of rounds by turns."""
    draws = Random(SEED)
    players: dict[str, Callable[[], object]] = {
        "ours": lambda: random_game(Options(), draws),
        "AvalonBench": lambda: peer.random_game(draws),
    }
    took: dict[str, list[float]] = {name: [] for name in players}
    for _ in range(rounds):
        for name, play in players.items():
            begun = time.process_time()
            for _ in range(games):
                play()
            took[name].append(time.process_time() - begun)
    return {name: games / median(times) for name, times in took.items()}


def main() -> None:
    """Play in both, and print what is equal and how fast each is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--games", type=int, default=GAMES)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    peer = AvalonBench(given.checkout)
    theirs = table_of(peer.course, given.games)
    equal = theirs == table_of(ours, given.games)
    counted = {letter: theirs["letters"].count(letter) for letter in LETTER.values()}
    print(json.dumps({"games": given.games, "equal": equal, "digest": theirs["digest"], **counted}))
    if given.write is not None:
        given.write.write_text(json.dumps(theirs, indent=1) + "\n")
    print(json.dumps({name: round(speed) for name, speed in speeds(peer).items()}))
    sys.exit(0 if equal else 1)


def _drawn(game: Game, draws: Random) -> Decision:
    if game.phase == TEAM:
        return TEAM, _one_of(teams(5, game.size), draws)
    if game.phase == VOTE:
        return VOTE, tuple(map(int, _one_of(ballots(5), draws)))
    if game.phase == QUEST:
        return QUEST, tuple(map(int, _one_of(hands(game.team, game.evil), draws)))
    return SHOT, (_one_of(targets(5, game.assassin), draws),)


def _do(game: Game, decision: Decision) -> int | None:
    kind, values = decision
    if kind == TEAM:
        game.propose(values)
        return None
    if kind == VOTE:
        return int(game.vote([bool(vote) for vote in values]))
    if kind == QUEST:
        return game.quest([bool(card) for card in values])
    return int(game.shoot(values[0]))


def _needed(game: Game) -> int | None:
    return game.size if game.phase == TEAM else None


def _word(decision: Decision, result: int | None, over: bool, leader: int, needed: int | None) -> str:
    return f"{decision[0]}{''.join(map(str, decision[1]))}:{result},{int(over)},{leader},{needed}"


def _one_of(things: Any, draws: Random) -> Any:
    return things[int(draws.random() * len(things))]


if __name__ == "__main__":
    main()
