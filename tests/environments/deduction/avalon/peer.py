"""AvalonBench's engine as an oracle: every game is played at random by our rules, then act by act in theirs.

AvalonBench (Light et al., 2023; github.com/jonathanmli/Avalon-LLM) has no licence, so nothing of it is here: clone it
and name the checkout in ``APPORTION_AVALONBENCH``. Without one, tests compare with a table of what it came to: one
letter a game (g: good wins; q: three quests failed; m: Merlin was found) and a digest of everything compared: whether
the team goes, how many cards fail, who leads next, which size is needed, whether it is over and who has won.

The file read is ``avalonbench_dev/avalon/engine.py`` (numpy, pydantic). It imports its exceptions from a file that is
not beside it; an empty class stands in.
"""

import contextlib
import importlib.util
import io
import sys
import types
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

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
from tests.environments.deduction.avalon.exact import ballots, dealt, hands, targets, teams

SEED, GAMES = 2023, 10_000
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


def table_of(course: Callable[[Recorded], Course], games: int = GAMES, seed: int = SEED) -> dict[str, Any]:
    """What an engine comes to in random games: a letter a game, and a digest of how they went."""
    letters, whole = [], sha256()
    for sequence in sequences(games, seed):
        gone = course(sequence)
        letters.append(gone.letter)
        whole.update(f"{' '.join(gone.words)} {gone.letter}\n".encode())
    return {"games": games, "seed": seed, "letters": "".join(letters), "digest": whole.hexdigest()}


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
