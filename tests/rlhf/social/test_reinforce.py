"""How planners learn: credit, REINFORCE on a toy that it must solve, and what is refused."""

import pytest
import torch

from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import UnitError
from apportion.rlhf.social import ppdpp
from apportion.rlhf.social.episodes import evaluate, play_all
from apportion.rlhf.social.planner import Decision, PlannedAgent, seeded
from apportion.rlhf.social.ppdpp import NAMES, StrategyPlanner
from apportion.rlhf.social.reinforce import credits, descend
from apportion.rlhf.social.strategies import followed
from tests.rlhf.social.small import SMALL, Says, reinforced, small_run, small_tasks

CONCEDING = ROSTER.scripted("conceding")
ONE_TASK = SMALL.model_copy(update={"cloning": False, "draws": 4, "partner": "conceding", "lr": 0.03, "most_acts": 20})


class Obeyed(StrategyPlanner):
    """Before a policy that does exactly what it is told."""

    def reply(self, views, decisions):
        return [followed(NAMES[one.choice], view) for view, one in zip(views, decisions, strict=True)]


def unmoved(monkeypatch):
    """Every state reads alike, so that one strategy has to serve for all."""
    monkeypatch.setattr(ppdpp, "hidden_states", lambda agent, contexts: torch.ones(len(contexts), 32))


def test_credit_is_what_an_episode_has_over_others_of_its_task_and_falls_towards_its_beginning():
    start = small_tasks().training[0]
    acts = [Says("offer: 300"), Says("offer: 200"), Says("offer: 100")]
    takes = Says("accept")
    played = [play_all([start], agent, takes)[0] for agent in acts]
    assert [episode.score for episode in played] == [10.0, 5.0, 0.0]
    rows = credits(played)
    assert [row[-1] for row in rows] == pytest.approx([0.75, 0.0, -0.75])
    assert rows[0] == pytest.approx([0.75 * 0.95 ** (len(rows[0]) - 1 - act) for act in range(len(rows[0]))])


def test_reinforce_finds_the_strategy_that_pays(monkeypatch):
    unmoved(monkeypatch)
    run = small_run(ONE_TASK)
    run.tasks = small_tasks(20)
    with seeded(0):
        planner = Obeyed(run.agent())
    agent = PlannedAgent("obeyed", planner)
    chances = planner.network(torch.ones(1, 32)).softmax(1)[0].tolist()
    assert chances == pytest.approx([1 / len(NAMES)] * len(NAMES))
    reinforced(run, agent, 12, lr=run.settings.lr)
    best = NAMES[planner.network(torch.ones(1, 32)).argmax()]
    scores = {name: evaluate(Always(name, planner), run.tasks.training, CONCEDING).mean.value for name in NAMES}
    assert scores[best] > 5.0 > scores["accept"]
    chances = planner.network(torch.ones(1, 32)).softmax(1)[0]
    assert chances[NAMES.index("accept")] < 0.1 < 0.5 < chances.max()


@pytest.mark.parametrize("taught", [[], [2] * 4])
def test_where_no_episode_pays_more_what_was_taught_is_not_forgotten(monkeypatch, taught):
    unmoved(monkeypatch)
    monkeypatch.setattr(
        "apportion.rlhf.social.reinforce.credits", lambda played: [[0.0] * len(one.steps) for one in played]
    )
    run = small_run(ONE_TASK)
    run.tasks = small_tasks(20)
    with seeded(0):
        planner = Obeyed(run.agent())
    known = [Decision(torch.ones(32), torch.tensor(one)) for one in taught]
    reinforced(run, PlannedAgent("obeyed", planner), 1, lr=1e-3, taught=known)
    chances = planner.network(torch.ones(1, 32)).softmax(1)[0].tolist()
    assert chances[2] > 1 / len(NAMES) if taught else chances == pytest.approx([1 / len(NAMES)] * len(NAMES))


class Always:
    paid = False

    def __init__(self, name, planner):
        self.called, self.name = name, name

    def act(self, view):
        return followed(self.name, view)


def test_a_loss_that_is_no_number_ends_the_training():
    weight = torch.nn.Parameter(torch.ones(1))
    with pytest.raises(UnitError, match=r"a planner's loss is nan.* Lower lr"):
        descend(lambda chosen: (weight * float("nan")).sum(), [1, 2], 2, torch.optim.Adam([weight]))
