"""LSPO: clusters of speeches, and CFR against the equilibrium of a reduced Werewolf by linear programming.

The reduced game: one werewolf, a seer and two villagers, one day, 40 deals with their nights, each as probable; the
seer and the werewolf choose a cluster for their one speech, all else is the script's. It is a game of two with perfect
recall, whose every leaf is enumerated here, and whose equilibrium is the solution of the sequence form's program.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.chooser import CANDIDATES, mind_of
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.language_model import FORM
from apportion.environments.deduction.latent_strategies import (
    CFR,
    LSPO,
    LatentSpeaker,
    Node,
    by_cluster,
    clustered,
    embedded,
    minimise_regret,
    spoken,
)
from apportion.environments.environment import Action, Observation
from apportion.llm_client.settings import LLMSettings
from tests.environments.deduction.test_chooser import answers, speaking

GAME = game_called("werewolf")
CLAIMS = GAME.roster.scripted("claims")
REDUCED = GAME.options_of(("roles=werewolf,seer,villager,villager", "most_days=1"))
SEER, WEREWOLF = "seer", "werewolf"
Choice = tuple[str, int]
NONE: Choice = ("no speech", 0)


def begun(count: int, seed: str = "reduced") -> list[Deduction]:
    games = []
    for number in range(count):
        game = GAME.make(REDUCED, None)
        game.reset(f"{seed}/{number}")
        games.append(game)
    return games


class Matrix:
    """The sequence form of the reduced game, made from its leaves; the werewolf's gain is its chance to win."""

    def __init__(self, solver: CFR, roots: list[Node]) -> None:
        found: dict[tuple[Choice, Choice], float] = defaultdict(float)
        for root in roots:
            for chosen, won in leaves(solver, root, {}):
                found[chosen.get(WEREWOLF, NONE), chosen.get(SEER, NONE)] += won / len(roots)
        self.wolf, self.seer = (sorted({pair[place] for pair in found}) for place in (0, 1))
        self.gain = np.array([[found.get((one, other), 0.0) for other in self.seer] for one in self.wolf])

    def value(self) -> float:
        """Of the equilibrium: the werewolf's plan whose worst case is best."""
        theirs = list(dict.fromkeys(key for key, _ in self.seer))
        mine = list(dict.fromkeys(key for key, _ in self.wolf))
        at_most = np.hstack([-self.gain.T, [[float(key == one) for one in theirs] for key, _ in self.seer]])
        whole = [[float(key == one) for key, _ in self.wolf] + [0.0] * len(theirs) for one in mine]
        cost = np.r_[np.zeros(len(self.wolf)), -np.ones(len(theirs))]
        bounds = [(0, 1)] * len(self.wolf) + [(None, None)] * len(theirs)
        solved = linprog(cost, at_most, np.zeros(len(self.seer)), whole, np.ones(len(mine)), bounds)
        return -float(solved.fun)

    def responses(self, average: Mapping[str, list[float]]) -> tuple[float, float]:
        """What the best response to the average strategy gets: as werewolf, and what it leaves the werewolf as seer."""
        ours, theirs = (
            np.array([average[key][cluster] if key in average else 1.0 / sum(key == one for one, _ in cells)
                      for key, cluster in cells]) for cells in (self.wolf, self.seer)
        )  # fmt: skip
        best, worst = defaultdict(list), defaultdict(list)
        for (key, _), gain in zip(self.wolf, self.gain @ theirs, strict=True):
            best[key].append(gain)
        for (key, _), gain in zip(self.seer, ours @ self.gain, strict=True):
            worst[key].append(gain)
        return sum(map(max, best.values())), sum(map(min, worst.values()))


def leaves(solver: CFR, node: Node, chosen: Mapping[str, Choice]) -> Iterator[tuple[Mapping[str, Choice], float]]:
    if not node.seat:
        wolf = f"Player {node.game.deal.index(WEREWOLF) + 1}"
        yield chosen, node.game.outcome()[wolf][WIN] or 0.0
        return
    for cluster in node.options:
        yield from leaves(
            solver, solver.child(node, cluster), {**chosen, node.game.deal[node.seat - 1]: (node.key, cluster)}
        )


def solver_of(games: list[Deduction]) -> CFR:
    mind = mind_of("lspo", "werewolf")
    return CFR(mind, clustered(spoken(games, mind, CLAIMS), 6, 0), CLAIMS, frozenset({SEER, WEREWOLF}))


def test_regret_falls_and_the_average_strategy_comes_near_the_equilibrium() -> None:
    games = begun(40)
    solver, draws = solver_of(games), Random(5)
    roots = [solver.root(game) for game in games]
    matrix = Matrix(solver, roots)
    value = matrix.value()
    at_first = matrix.responses({})
    assert at_first[0] - at_first[1] > 0.1  # Drawn speeches are far from it.
    exploitable, regret = [], []
    for rounds in (1, 9, 90):
        for _ in range(rounds):
            solver.learn(roots, draws)
        best, worst = matrix.responses({key: list(row) for key, row in solver.average().items()})
        assert worst - 1e-6 <= value <= best + 1e-6
        exploitable.append(best - worst)
        regret.append(solver.regret)
    assert regret[0] > 5 * regret[1] / 2 > regret[2] and exploitable[0] > exploitable[1] > exploitable[2]
    assert exploitable[2] < 0.01


def test_clusters_are_of_what_is_said_and_not_of_whom() -> None:
    assert np.array_equal(embedded("I suspect Player 3."), embedded("I suspect PLAYER 12"))
    assert not np.any(embedded("3 4!"))
    texts = [f"I suspect Player {seat}." for seat in range(1, 5)] + ["I am the seer.", "Hello there."]
    centres = clustered(texts, 5, 0)
    assert len(centres) == 3  # No more than there are different speeches.
    named = {str(number): Action(SPEAK, text) for number, text in enumerate(texts)}
    assert sorted(by_cluster(named, centres).values()) == ["0", "4", "5"]


def test_a_file_of_strategies_speaks_and_acts_in_whole_games(tmp_path: Path) -> None:
    told: list[float] = []
    games = begun(4, "train")
    table = minimise_regret(mind_of("lspo", "werewolf"), games, CLAIMS, 3, lambda done, regret: told.append(regret))
    assert len(told) == 4
    assert all(abs(sum(row) - 1) < 1e-4 for name, row in table.rows.items() if not name.startswith("cluster "))
    table.write(tmp_path / "lspo.json")
    agent = GAME.roster.scripted(f"lspo@{tmp_path / 'lspo.json'}")
    assert isinstance(agent, LatentSpeaker) and agent.centres.shape[1] == 64
    (game,) = begun(1, "after")
    play(game, dict.fromkeys(game.agents, agent))
    assert game.over


def test_a_model_is_asked_several_times_for_a_speech_alone(tmp_path: Path) -> None:
    view = speaking("werewolf")
    whole = GAME.make(GAME.options(), None)
    table = minimise_regret(mind_of("lspo", "werewolf"), begun(1), CLAIMS, 0, lambda done, regret: None)
    replace(table, roles=tuple(sorted(whole.rules.roles))).write(tmp_path / "lspo.json")
    asked: list[int] = []

    def counted(request):  # type: ignore[no-untyped-def]
        asked.append(request.sample)
        return answers(request)

    model = LanguageModelAgent("base@m", "base", LLMSettings(model="m"), counted, form=FORM)
    agent = LSPO.around(model, str(tmp_path / "lspo.json"), "both", None, None)
    assert isinstance(agent, LatentSpeaker) and agent.act(view).kind == SPEAK and len(asked) == CANDIDATES
    night = Observation(whole, whole.acting()[0])
    quiet = replace(agent, proposer=CLAIMS)
    assert quiet.act(night) == CLAIMS.act(night)
    with pytest.raises(AttributeError):
        _ = quiet.request
