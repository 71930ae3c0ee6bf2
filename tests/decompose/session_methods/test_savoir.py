"""Credit by playing on: on bundled scenarios that rules check, with scripted partners, against independent sums."""

from dataclasses import replace
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.method import RolloutMethod
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.projection import apply_constants
from apportion.decompose.session_methods.baselines import episode_score
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.collect_episodes import play
from apportion.environments.episode_restorer import TerminalState
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import EpisodeScore
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import UnitError
from tests.decompose.sessions import judgements as table_of

PLAYING = tuple(name for name, method in METHODS.items() if isinstance(method, RolloutMethod))
TASKS = tuple(task for task in bundled_tasks.tasks(pairs=1) if task.scenario.terms and task.scenario.terms.deal)


class Game:
    """A session whose worth is a function of the players' set; every play ends alike."""

    def __init__(self, worth):
        self.worth = worth

    def _ending(self, kept, acts):
        value = self.worth(frozenset(kept))
        return TerminalState(value if isinstance(value, dict) else {"GOAL": value}, acts)

    def play_on(self, target, kept, seeds):
        return [self._ending(kept, 1) for _ in seeds]

    def as_it_stands(self, target, kept):
        return self._ending(kept, 0)


def episode(acts, name="GOAL", higher_is_better=True):
    turns = tuple(Turn(i, "ann", f"act {i}") for i in range(acts))
    return Episode("s1", turns, Rating("environment", "ann", name, 4.0, 0.0, 10.0, higher_is_better))


def judged(name, given, played, **chosen):
    settings = DecomposeSettings(method=name, savoir=chosen)
    found = find_method(name).resolve()(given, None, settings, None, played)
    assert [judgement.turn for judgement in found] == list(given.target_turns)
    return found


def values(*asked, **chosen):
    return [judgement.value for judgement in judged(*asked, **chosen)]


def social(task, most_acts, partner=Conceding(), seed=4):  # noqa: B008 - is frozen
    """A played episode of a bundled scenario: the session opened, and the first character's acts as an episode."""
    game = Sotopia(task, Rules(most_acts=most_acts))
    game.reset(seed)
    begun = game.clone()
    agents = dict(zip(game.agents, (Conceding(4), partner), strict=True))
    play(game, agents)
    reopened = RestoredEpisode("s1", begun, tuple(game.steps), agents)
    turns = tuple(Turn(i, move.agent, game.said(move)) for i, (move,) in enumerate(game.steps))
    target = game.agents[0]
    return reopened, Episode("s1", turns, Rating("environment", target, "GOAL", 4.0, 0.0, 10.0))


def table(reopened, given, seeds):
    """What every set of acts is worth, asked of the session itself."""
    turns = given.target_turns
    return {
        frozenset(kept): np.mean([e.scores["GOAL"] for e in reopened.play_on(given.rating.target, kept, seeds)])
        for size in range(len(turns) + 1)
        for kept in combinations(turns, size)
    }


def by_permutations(worth, players):
    gains = dict.fromkeys(players, 0.0)
    orders = list(permutations(players))
    for order in orders:
        for place, player in enumerate(order):
            gains[player] += (worth[frozenset(order[: place + 1])] - worth[frozenset(order[:place])]) / len(orders)
    return [gains[player] for player in players]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.scenario.name)
def test_on_bundled_scenarios_values_are_those_of_all_orders(task) -> None:
    reopened, given = social(task, most_acts=12)
    assert 2 <= len(given.target_turns) <= 6
    worth = table(reopened, given, (0,))  # These partners draw words alone, which no rule reads.
    found = judged("savoir", given, reopened, rollouts=2)
    assert [j.value for j in found] == pytest.approx(by_permutations(worth, given.target_turns), abs=1e-9)
    everybody = frozenset(given.target_turns)
    assert sum(j.value for j in found) == pytest.approx(worth[everybody] - worth[frozenset()], abs=1e-9)
    assert len({round(j.value, 6) for j in found}) > 1, task.scenario.name
    assert all(j.rationale.startswith("exact: ") and j.sd == pytest.approx(0, abs=1e-9) for j in found)


def test_values_add_over_dimensions_as_their_weights_say() -> None:
    def worth(kept):
        return {"GOAL": float(len(kept) ** 2), "REL": float(1 in kept) - 2 * (kept >= {0, 2}), "KNO": float(0 in kept)}

    apart = {name: values("savoir", episode(4), Game(worth), weights={name: 1.0}) for name in ("GOAL", "REL", "KNO")}
    together = values("savoir", episode(4), Game(worth), weights={"GOAL": 0.5, "REL": 0.3, "KNO": 0.2})
    summed = 0.5 * np.array(apart["GOAL"]) + 0.3 * np.array(apart["REL"]) + 0.2 * np.array(apart["KNO"])
    np.testing.assert_allclose(together, summed, rtol=0, atol=1e-9)
    assert values("savoir", episode(4, "KNO"), Game(worth)) == pytest.approx(apart["KNO"])  # Unsaid: what is rated.


def test_the_two_principles_apart_and_the_baselines() -> None:
    class Prospects(Game):
        def as_it_stands(self, target, kept):
            return TerminalState({"GOAL": float(len(kept))})

    game = Prospects(lambda kept: 5.0 * (0 in kept) + 2.0 * (kept >= {0, 1}) + 1.0 * (2 in kept and 0 not in kept))
    assert values("shapley-hindsight", episode(3), game) == pytest.approx([1, 1, 1])
    assert values("expected-utility", episode(3), game) == pytest.approx([5, 2, 0])
    assert values("leave-one-out", episode(3), game) == pytest.approx([6, 2, 0])
    assert values("savoir", episode(3), game) == pytest.approx([5.5, 1, 0.5])
    undivided = episode_score(episode(3), None, DecomposeSettings(), None)
    assert [judgement.value for judgement in undivided] == [4.0] * 3


def test_where_a_low_score_is_the_good_end_lowering_it_is_credit() -> None:
    game = Game(lambda kept: 5.0 - len(kept))
    assert values("savoir", episode(3, higher_is_better=False), game) == pytest.approx([1, 1, 1])
    assert values("savoir", episode(3), game) == pytest.approx([-1, -1, -1])


def test_savoir_as_published_is_from_0_to_10_its_raw_values_kept_and_equal_ones_counted() -> None:
    raw = {0: 0.4, 1: 0.8, 2: 1.5, 3: 0.3}
    found = judged("savoir-paper", episode(4), Game(lambda kept: 5.0 + sum(raw[i] for i in kept)))
    assert [j.value for j in found] == pytest.approx(list(raw.values()))  # Additive: every estimator finds it.
    assert found[0].rationale.startswith("exact: 16 histories of 4 acts; worth 5 without any, 8 with all")
    beyond = judged("savoir-paper", episode(7), Game(lambda kept: float(len(kept))))
    assert beyond[0].rationale.startswith("KernelSHAP, appendix-d: 86 histories of 7 acts")
    flat = Episode("s2", episode(2).turns, episode(2).rating)
    rows = table_of({episode(4): [j.value for j in found], flat: [1.5, 1.5]}, "savoir-paper", sd=0.3)
    rewards, projection = apply_constants(rows, [episode(4), flat], 3.0, 7.0, find_method("savoir-paper"))
    scaled = rewards.column("reward").to_pylist()
    assert np.round(scaled, 2).tolist() == [0.83, 4.17, 10.0, 0.0, 5.0, 5.0]  # Appendix B
    assert rewards.column("raw_reward").to_pylist()[:4] == pytest.approx(list(raw.values()))
    assert rewards.column("sd").to_pylist() == pytest.approx([0.3 * 10 / 1.2] * 4 + [0, 0])
    assert projection.rule == "min-max" and projection.score_offset == 0 and projection.equal == (flat.key,)
    assert projection.to_json()["equal"] == [
        {"session_id": "s2", "rater": "environment", "target": "ann", "name": "GOAL"}
    ]
    plain, kept = apply_constants(
        table_of({flat: [1.5, 1.5]}, "savoir-paper-raw"), [flat], 3.0, 7.0, find_method("savoir-paper-raw")
    )
    assert plain.column("reward").to_pylist() == [1.5, 1.5] and "equal" not in kept.to_json()


def test_noise_of_the_rollouts_is_in_sd_and_unknown_of_one() -> None:
    class Lucky(Game):
        def play_on(self, target, kept, seeds):
            return [TerminalState({"GOAL": len(kept) + Random(seed).gauss(0, 1)}, 1) for seed in seeds]

    given, game = episode(4), Lucky(None)
    alike, apart = (judged("savoir", given, game, rollouts=6, common_random_numbers=same) for same in (True, False))
    assert [j.sd for j in alike] == pytest.approx([0] * 4) and [j.value for j in alike] == pytest.approx([1] * 4)
    assert all(0.1 < j.sd < 1 for j in apart) and "96 plays of 96 acts" in apart[0].rationale
    assert {j.sd for j in judged("savoir", given, game, rollouts=1)} == {None}
    assert apart == judged("savoir", given, game, rollouts=6, common_random_numbers=False)
    assert apart != judged("savoir", given, game, rollouts=6, common_random_numbers=False, seed=1)


@pytest.mark.parametrize("name", PLAYING)
@pytest.mark.parametrize("acts", [0, 1, 2, 40])
def test_no_act_one_act_and_forty(name, acts) -> None:
    found = values(name, episode(acts), Game(lambda kept: 2.0 * len(kept) + 1))
    assert found == pytest.approx([2.0] * acts, abs=1e-8)


@pytest.mark.parametrize("name", PLAYING)
def test_what_one_history_lacks_is_told_with_session_and_turns(name) -> None:
    def worth(kept):
        return {"GOAL": None if kept == {0, 1, 2} else 1.0}

    with pytest.raises(UnitError, match=r"session s1: ann's turns \[0, 1, 2\] alone: GOAL is not known"):
        values(name, episode(3), Game(worth))
    with pytest.raises(UnitError, match=r"session s1: ann's turns \[0, 1, 2\] alone: GOAL is nan"):
        values(name, episode(3), Game(lambda kept: float("nan") if len(kept) == 3 else 0.0))


def test_a_budget_or_a_draw_that_does_not_tell_the_acts_apart_is_told() -> None:
    for name in ("savoir", "savoir-paper", "shapley-hindsight"):
        with pytest.raises(UnitError, match=r"session s1: a budget of 20 histories does not tell 12 acts apart.* = 26"):
            values(name, episode(12), Game(lambda kept: 0.0), budget=20)
    with pytest.raises(UnitError, match=r"a budget of 200 histories does not tell 100 acts apart.* = 202"):
        values("savoir", episode(100), Game(lambda kept: 0.0))
    with pytest.raises(UnitError, match="session s1: 82 coalitions do not tell 40 players apart"):
        for seed in range(200):
            values("savoir", episode(40), Game(lambda kept: 0.0), budget=82, seed=seed)


def test_the_paper_s_weights_need_a_judge_that_scores_them() -> None:
    reopened, given = social(TASKS[0], 8)
    weights = {"GOAL": 0.5, "REL": 0.3, "KNO": 0.2}
    with pytest.raises(UnitError, match="REL, KNO is not known, so that its utility is missing"):
        values("savoir", given, reopened, weights=weights)

    class AllSeven:
        called = "all"

        def verdict(self, environment):
            goals = environment.outcome()
            return EpisodeScore({name: {"GOAL": goals[name]["GOAL"], "REL": 1.0, "KNO": 2.0} for name in goals})

    found = values("savoir", given, replace(reopened, judge=AllSeven()), weights=weights)
    assert found == pytest.approx([0.5 * value for value in values("savoir", given, reopened)], abs=1e-9)


@pytest.mark.parametrize("name", PLAYING)
def test_an_environment_without_a_copy_of_itself_is_told(name) -> None:
    class NoClone(Sotopia):
        def clone(self):
            raise NotImplementedError("clone")

    game = NoClone(TASKS[0], Rules(most_acts=8))
    with pytest.raises(UnitError, match=r"session s1: sotopia cannot be copied \(clone\(\): clone\), so that nothing"):
        values(name, episode(2), RestoredEpisode("s1", game, (), {}))


def test_one_history_of_122_that_cannot_be_scored_is_told_after_all_of_its_round_have_been_played() -> None:
    class Paid(Game):
        waits = True

        def __init__(self, worth):
            super().__init__(worth)
            self.played = []

        def play_on(self, target, kept, seeds):
            self.played.append(kept)
            return super().play_on(target, kept, seeds)

    game = Paid(lambda kept: {"GOAL": None if len(kept) == 9 and 3 not in kept else float(len(kept))})
    with pytest.raises(
        UnitError, match=r"session s1: ann's turns \[0, 1, 2, 4, 5, 6, 7, 8, 9\] alone: GOAL is not known"
    ):
        values("savoir", episode(10), game)
    assert len(game.played) == 2 * 54  # The first pairs, and none and all three times more.
    whole = Paid(lambda kept: float(len(kept)))
    assert judged("savoir", episode(10), whole) == judged("savoir", episode(10), Game(whole.worth))
