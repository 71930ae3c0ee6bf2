"""PPDPP, and every planner from end to end: the supervised start, rounds, a folder, and the agent in the world."""

import json

import pytest
import torch

from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import InputError
from apportion.rlhf.social import ppdpp, run
from apportion.rlhf.social.episodes import Scores, evaluate
from apportion.rlhf.social.methods import train_social
from apportion.rlhf.social.planner import LearnedPlanner
from apportion.rlhf.social.run import SocialRun, SocialSettings
from tests.rlhf.social.small import SMALL, small_run, small_tasks

QUICK = SocialSettings(pairs=1, most_acts=4, draws=2, epochs=1, least=0.0, warmup=2, tokens=512)
CONCEDING = ROSTER.scripted("conceding")


@pytest.mark.slow  # Each builds a tiny policy, clones a script and trains, twice.
@pytest.mark.parametrize("method", ["ppdpp", "epo", "dat"])
def test_a_round_from_end_to_end(method, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "split_tasks", lambda *asked: small_tasks(QUICK.most_acts))
    told = []
    report = train_social(method, "tiny", tmp_path / "one", QUICK, 3, told.append)
    first = {"dat": ["cloning", "cloning", "self-cloning"]}.get(method, ["following strategies", "supervised start"])
    assert [line.split(":")[0] for line in told] == [*first, "before reinforcement", "round 1", "over its own start"]
    assert report.agent == method and f"{method}, from tiny" in (tmp_path / "one" / "README.md").read_text()
    assert not (tmp_path / "one" / "reasoner").exists()
    agent = ROSTER.scripted(f"{method}@{tmp_path / 'one'}")
    assert (
        evaluate(agent, small_tasks(QUICK.most_acts).held_out, CONCEDING).by_task.keys() == report.after.by_task.keys()
    )
    written = json.loads((tmp_path / "one" / "planner.json").read_text())
    again = train_social(method, "tiny", tmp_path / "two", QUICK, 3)
    assert json.loads((tmp_path / "two" / "planner.json").read_text()) == written and again == report


def test_the_supervised_start_learns_what_the_expert_does(monkeypatch):
    begun = small_run(SMALL.model_copy(update={"cloning": False, "rounds": 0, "epochs": 40, "lr": 0.02}))
    begun.tasks = small_tasks(20)
    monkeypatch.setattr(SocialRun, "evaluate", lambda self, agent: Scores({"one": 0.0}, 0.0))
    states = []

    def by_act(agent, steps):
        """A state that tells how many acts there were: all that the script goes by."""
        states.extend(steps)
        return torch.nn.functional.one_hot(torch.tensor([len(step.before.steps) // 2 for step in steps]), 32).float()

    monkeypatch.setattr(ppdpp, "states_of", by_act)
    learned = ppdpp.train(begun)
    assert isinstance(learned, LearnedPlanner) and states
    scores = learned.agent.planner.network(torch.eye(32)[:10])
    names = [ppdpp.NAMES[one] for one in scores.argmax(dim=1)]
    assert names[:6] == ["talk", "demand", "press", "press", "meet", "meet"]


@pytest.mark.parametrize("method", ["ppdpp", "epo"])
def test_one_episode_a_task_is_refused_before_anything_is_trained(method, tmp_path):
    with pytest.raises(InputError, match=rf"draws = 1: {method} compares an episode with others .* set 2 at least"):
        train_social(method, "tiny", tmp_path / "out", SMALL.model_copy(update={"draws": 1}), 0)
