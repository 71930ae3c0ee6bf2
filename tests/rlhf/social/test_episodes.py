"""Tasks, episodes in a seat, the exact score, the filter, and figures with intervals."""

import pytest

from apportion.environments.actions import UNUSABLE
from apportion.environments.environment import Action
from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import InputError
from apportion.rlhf.social.episodes import (
    Scores,
    best_of_each,
    evaluate,
    play_all,
    play_on,
    split_tasks,
    task_of,
    worst_of_each,
)
from tests.rlhf.social.small import Says, small_tasks

CONCEDING = ROSTER.scripted("conceding")


def test_both_seats_of_a_task_are_on_one_side_and_the_seed_draws_which():
    tasks = split_tasks(0, 5, 0.4, 20)
    sides = [{task_of(start) for start in side} for side in (tasks.training, tasks.held_out)]
    assert not sides[0] & sides[1] and len(sides[1]) == 10 and len(tasks.held_out) == 20
    assert {start.name for start in split_tasks(0, 5, 0.4, 20).held_out} == {start.name for start in tasks.held_out}
    assert {task_of(start) for start in split_tasks(1, 5, 0.4, 20).held_out} != sides[1]


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_a_side_without_tasks_is_refused(share):
    with pytest.raises(InputError, match=r"holds out (0|7); leave some for both"):
        split_tasks(0, 1, share, 20)


def test_steps_are_what_the_seat_did_and_what_it_knew_then():
    tasks = small_tasks()
    (episode,) = play_all(tasks.training[:1], Says("offer: 150", "accept"), Says("offer: 300", "accept"))
    assert [step.said for step in episode.steps[:2]] == ["[physical action] offer: 150", "[physical action] accept"]
    assert [len(step.view.heard) for step in episode.steps[:2]] == [0, 2]
    # The seller asked for 150 of 100 to 300, and took 300, which is the most.
    assert episode.score == 10.0
    (again,) = play_on([(episode.start, episode.steps[1].before)], Says("offer: 150", Action("leave")), Says())
    assert again.score == 0.0 and [step.said for step in again.steps] == ["[leave] left the conversation"]
    assert len(episode.steps[1].before.acts) == 2  # What was given is as it was.


def test_whose_acts_cannot_be_used_scores_nothing():
    tasks = small_tasks()
    none = Action("none").marked(UNUSABLE, "it was no act")
    (episode,) = play_all(tasks.training[:1], Says(none, "accept"), Says("offer: 300"))
    assert episode.game.outcome()[episode.start.agent]["GOAL"] == 10.0 and episode.score == 0.0


def test_the_filter_keeps_the_best_of_each_task_and_seat_and_the_earliest_of_equal_ones():
    tasks = small_tasks()
    rising = [
        play_all(tasks.training, Says(Action("speak", "Hm."), "accept"), Says(f"offer: {price}", f"offer: {price}"))
        for price in (150, 250, 250)
    ]
    played = [episode for row in rising for episode in row]
    first, second = best_of_each(played, 1, 0.0)
    # One sells and wants much; the other buys.
    assert first is rising[1][0] and second is rising[0][1]
    assert (first.score, second.score) == (7.5, 7.5)
    assert len(best_of_each(played, 2, 0.0)) == 4 and best_of_each(played, 1, 7.6) == []
    assert worst_of_each(played, 5.0) == [rising[0][0], rising[1][1]] and worst_of_each(played, 2.5) == []


def test_scores_are_means_by_task_and_differences_are_paired():
    tasks = split_tasks(0, 5, 0.4, 20)
    one = evaluate(CONCEDING, tasks.held_out, CONCEDING)
    none = evaluate(Says(Action("leave")), tasks.held_out, CONCEDING)
    assert len(one.by_task) == 10 and none.mean.value == 0.0 and none.agreed == 0.0 and one.agreed == 1.0
    gain = one.less(none)
    assert gain.value == one.mean.value and gain.above_zero and one.mean.low <= gain.value <= one.mean.high
    assert one.less(one).text(2) == "0.00 [0.00, 0.00]"
    assert evaluate(CONCEDING, tasks.held_out, CONCEDING).by_task == one.by_task
    with pytest.raises(InputError, match="not paired"):
        one.less(Scores({"other": 1.0}, 1.0))
