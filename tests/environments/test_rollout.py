"""What some of a target's acts are worth, played on."""

import math
import threading
import time
from dataclasses import replace
from itertools import combinations

import pytest

from apportion.environments.agents.agent import RandomLegalAgent, ScriptedAgent
from apportion.environments.concurrent_rollouts import mapped, side_by_side
from apportion.environments.environment import Action
from apportion.environments.episode_restorer import TerminalState
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import EpisodeScore
from apportion.environments.rollout import PAPER_WEIGHTS, Rollouts, RolloutUtility
from apportion.foundation.errors import InputError, StoppedError, UnitError
from tests.environments.games import Countdown
from tests.environments.test_restored_episode import played, social

GOAL = RolloutUtility({"GOAL": 1.0})
SCORED = {"GOAL": 8.0, "REL": -2.0, "KNO": 3.0}
RANGES = {"GOAL": (0.0, 10.0), "REL": (-5.0, 5.0), "KNO": (0.0, 10.0)}


def subsets(players):
    return [frozenset(kept) for size in range(players + 1) for kept in combinations(range(players), size)]


class Given:
    """A session whose every play ends as it is told."""

    def __init__(self, *endings):
        self.endings, self.asked = endings, []

    def play_on(self, target, kept, seeds):
        self.asked.append((target, set(kept), list(seeds)))
        return list(self.endings)

    def as_it_stands(self, target, kept):
        return self.endings[0]


def of(*endings, utility=GOAL, **more):
    return Rollouts(Given(*endings), "ann", (0, 2, 4), utility, rollouts=len(endings), **more)


def test_the_paper_s_utility_is_on_raw_ranges_and_may_be_scaled() -> None:
    ending = TerminalState(SCORED, ranges=RANGES)
    assert RolloutUtility(PAPER_WEIGHTS).of(ending) == pytest.approx(0.5 * 8 + 0.3 * -2 + 0.2 * 3)
    assert RolloutUtility(PAPER_WEIGHTS, scaled=True).of(ending) == pytest.approx(0.5 * 8 + 0.3 * 3 + 0.2 * 3)
    assert sum(PAPER_WEIGHTS.values()) == 1


def test_a_missing_dimension_makes_the_utility_missing_and_is_never_reweighted() -> None:
    ending = TerminalState({**SCORED, "KNO": None}, problem="the judge gave no number")
    assert RolloutUtility(PAPER_WEIGHTS).of(ending) is None and RolloutUtility(PAPER_WEIGHTS).missing(ending) == ["KNO"]
    rollouts = of(ending, utility=RolloutUtility(PAPER_WEIGHTS))
    said = r"ann's turns \[2\] alone: KNO is not known \(the judge gave no number\), so that its utility is missing"
    with pytest.raises(UnitError, match=said):
        rollouts.played_on(frozenset({1}))
    with pytest.raises(UnitError, match=said):
        rollouts.as_it_stands(frozenset({1}))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_told_with_its_coalition(bad) -> None:
    with pytest.raises(UnitError, match=rf"ann's turns \[0, 4\] alone: GOAL is {bad}; a score is a finite number"):
        of(TerminalState({"GOAL": bad})).played_on(frozenset({0, 2}))


def test_a_utility_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="without weights"):
        RolloutUtility({})
    with pytest.raises(InputError, match="weight of GOAL is nan"):
        RolloutUtility({"GOAL": math.nan})
    with pytest.raises(UnitError, match="weighs 'GOLA', which nobody scores here; did you mean 'GOAL'"):
        RolloutUtility({"GOLA": 1.0}).of(TerminalState(SCORED))
    for ranges in ({}, {"GOAL": (1.0, 1.0)}):
        with pytest.raises(UnitError, match="GOAL cannot be scaled"):
            RolloutUtility({"GOAL": 1.0}, scaled=True).of(TerminalState(SCORED, ranges=ranges))


def test_no_rollout_is_refused_and_one_too_few_told() -> None:
    with pytest.raises(InputError, match="rollouts = 0: a coalition is played on once at least"):
        of(utility=GOAL)
    short = Rollouts(Given(TerminalState(SCORED)), "ann", (0,), GOAL, rollouts=2)
    with pytest.raises(UnitError, match=r"ann's turns \[\] alone: 1 endings of 2 plays"):
        short.played_on(frozenset())


def test_players_are_the_acts_turns_and_every_coalition_draws_alike_unless_it_is_not_to() -> None:
    for same in (True, False):
        rollouts = of(TerminalState(SCORED), TerminalState(SCORED), common_random_numbers=same, seed="7/s1")
        for coalition in subsets(3):
            assert rollouts.played_on(coalition) == [8.0, 8.0]
        asked = rollouts.played.asked
        assert [kept for _, kept, _ in asked] == [{(0, 2, 4)[i] for i in c} for c in subsets(3)]
        assert len({tuple(seeds) for _, _, seeds in asked}) == (1 if same else 8)
        assert len(set(asked[0][2])) == 2


def test_histories_that_have_ended_are_scored_and_the_others_played_on() -> None:
    whole, restored = social()
    target = whole.agents[0]
    turns = restored.turns_of(target)
    rollouts = Rollouts(restored, target, turns, GOAL, rollouts=3)
    everything = frozenset(range(len(turns)))
    assert rollouts.played_on(everything) == [whole.outcome()[target]["GOAL"]] * 3
    assert (rollouts.so_far.coalitions, rollouts.so_far.ended, rollouts.so_far.plays) == (1, 1, 0)
    found = rollouts.played_on(frozenset())
    assert found == [ending.scores["GOAL"] for ending in restored.play_on(target, (), rollouts._seeds(frozenset()))]
    assert (rollouts.so_far.coalitions, rollouts.so_far.ended, rollouts.so_far.plays) == (2, 1, 3)
    assert rollouts.so_far.acts > 3 and rollouts.as_it_stands(frozenset()) == 0.0


def test_scales_come_from_the_environment() -> None:
    whole, restored = social()
    target = whole.agents[0]
    turns = restored.turns_of(target)
    plain, scaled = (Rollouts(restored, target, turns, RolloutUtility({"FIN": 1.0}, s)) for s in (False, True))
    everything = frozenset(range(len(turns)))
    (value, _), (brought, _) = plain.played_on(everything), scaled.played_on(everything)
    assert value > 0 and brought == pytest.approx(value + 5)


def test_acts_that_are_not_allowed_without_others_are_counted() -> None:
    taking = ScriptedAgent("takes", lambda view: Action("take", "3"))
    _, restored = played(Countdown(["a", "b"]), taking)
    rollouts = Rollouts(restored, "a", restored.turns_of("a"), RolloutUtility({"points": 1.0}))
    rollouts.played_on(frozenset({1}))
    assert rollouts.so_far.dropped == restored.history("a", {restored.turns_of("a")[1]})[1]


class Endless(Countdown):
    kind = "endless"

    def acting(self):
        return (self.agents[len(self.steps) % 2],)


def test_play_that_never_ends_is_told() -> None:
    game = Endless(["a", "b"])
    game.reset(1)
    begun = game.clone()
    game.do(Action("pass", "I pass"))
    restored = RestoredEpisode("s1", begun, tuple(game.steps), dict.fromkeys(game.agents, RandomLegalAgent()))
    passing = restored.played_by(dict.fromkeys(game.agents, ScriptedAgent("p", lambda view: Action("pass", "I pass"))))
    with pytest.raises(UnitError, match="endless: not over after 10000 steps"):
        Rollouts(passing, "a", (0,), RolloutUtility({"points": 1.0})).played_on(frozenset())


class Uncopied(Countdown):
    kind = "uncopied"

    def clone(self):
        raise NotImplementedError("no copies")


def test_a_game_that_cannot_be_copied_is_told() -> None:
    game = Uncopied(["a", "b"])
    with pytest.raises(UnitError, match=r"session s1: uncopied cannot be copied \(clone\(\): no copies\), so that"):
        RestoredEpisode("s1", game, (), dict.fromkeys(game.agents, RandomLegalAgent()))


class FailsOnce:
    """A judge that fails where the first agent was silent."""

    called = "fails-once"

    def verdict(self, environment):
        return EpisodeScore({agent: {"GOAL": None} for agent in environment.agents}, "no reply")


def test_a_judge_that_fails_is_told_with_its_coalition() -> None:
    whole, restored = social()
    target = whole.agents[0]
    failing = Rollouts(replace(restored, judge=FailsOnce()), target, restored.turns_of(target), GOAL)
    with pytest.raises(UnitError, match=r"turns \[0\] alone: GOAL is not known \(no reply\)"):
        failing.played_on(frozenset({0}))


def test_who_plays_on_reads_nothing_of_acts_that_were_left_out() -> None:
    """A canary in every utterance: what agents read in a coalition holds those of its history and later ones alone."""
    read: list[str] = []

    def says(view):
        read.append(view.text)
        return Action("speak", f"canary-{view.step}-{view.number:x}.")

    game, restored = social(ScriptedAgent("canaries", says))
    said = [move.act.text for moves in game.steps for move in moves]
    target = game.agents[1]  # The other one speaks first: that is in every history.
    turns = restored.turns_of(target)
    rollouts = Rollouts(restored, target, turns, GOAL)
    for coalition in (frozenset(), frozenset({0}), frozenset({1, 4}), frozenset({0, 2, 3, 8})):
        read.clear()
        rollouts.played_on(coalition)
        kept = {turns[player] for player in coalition}
        history = {0, *kept, *(turn + 1 for turn in kept)}
        assert read
        for number, words in enumerate(said):
            assert any(words in text for text in read) == (number in history), (coalition, number)


@pytest.mark.parametrize("at_once", [1, 3, 16])
def test_results_come_in_order_and_one_that_fails_stops_none(at_once) -> None:
    begun = []

    def work(number):
        begun.append(number)
        if number % 3 == 0:
            raise UnitError(f"no {number}")
        return number * number

    found = side_by_side(work, range(10), at_once, first=lambda number: -number)
    assert [str(one) if isinstance(one, UnitError) else one for one in found] == [
        f"no {number}" if number % 3 == 0 else number * number for number in range(10)
    ]
    assert sorted(begun) == list(range(10)) and (at_once > 1 or begun == list(range(10))[::-1])


def test_as_many_as_may_be_are_at_work_at_once() -> None:
    together = threading.Barrier(5)
    assert side_by_side(lambda number: together.wait(10) >= 0, range(5), 5, first=float) == [True] * 5


def test_what_ends_all_is_raised_once_what_has_begun_is_done_and_the_rest_left_alone() -> None:
    ended = []

    def work(number):
        if number == 0:
            raise StoppedError("the budget is used up")
        time.sleep(0.2)
        ended.append(number)

    with pytest.raises(StoppedError, match="the budget is used up"):
        side_by_side(work, range(50), 2, first=float)
    assert 0 < len(ended) < 10
    time.sleep(0.3)
    assert len(ended) < 10


def test_those_who_come_first_at_once_share_their_threads() -> None:
    most, now, lock = [0], [0], threading.Lock()

    def work(number):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1

    mapped(lambda number: side_by_side(work, range(10), 9, first=float), range(12), 12)
    assert 1 < most[0] <= 9


def test_mapped_keeps_the_order_and_may_play_side_by_side_itself() -> None:
    def nested(number):
        return side_by_side(lambda given: given * number, [1, 2, 3], 2, first=float)

    assert (
        mapped(nested, [1, 10, 100], 3) == mapped(nested, [1, 10, 100], 1) == [[1, 2, 3], [10, 20, 30], [100, 200, 300]]
    )
    for at_once in (1, 4):
        with pytest.raises(UnitError, match="no 2"):
            mapped(lambda number: 1 if number < 2 else fails(number), [1, 2, 3], at_once)


def fails(number):
    raise UnitError(f"no {number}")
