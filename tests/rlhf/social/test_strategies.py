"""Strategies: what follows one does it, acts are named by the nearest one, and a policy learns what it was told."""

import pytest
import torch

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.environment import Action
from apportion.environments.sotopia.agents import ROSTER
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.social.episodes import play_all
from apportion.rlhf.social.run import SocialRun
from apportion.rlhf.social.strategies import STRATEGIES, answer, clone_follower, drawn, followed, strategy_of, told
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks

CONCEDING = ROSTER.scripted("conceding")


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_act_by_a_strategy_is_named_by_it(name):
    script = ScriptedAgent(name, lambda view: followed(name, view))
    steps = [step for one in play_all(small_tasks().training, script, CONCEDING) for step in one.steps]
    assert len(steps) > 2 and {strategy_of(step) for step in steps} == {name}


def test_other_acts_are_named_by_the_nearest_strategy():
    start = small_tasks().training[0]  # A fee: 100 is the seller's worst price, and 300 the best.
    acts = ("offer: 290", "offer: 230", "offer: 110", Action("none"))
    (episode,) = play_all([start], Says(*acts), Says("offer: 120"))
    assert [strategy_of(step) for step in episode.steps] == ["demand", "press", "meet", "talk"]


def test_the_policy_reads_the_strategy_last_and_learns_the_words_of_the_act_alone():
    run = small_run()
    (step, *_) = play_all(run.tasks.training[:1], Says("offer: 250"), CONCEDING)[0].steps
    row = answer(run.agent(), step, told(STRATEGIES["press"]), step.said)
    words = [run.policy.tokenizer.decode(list(ids)) for ids in (row.prompt, row.reply)]
    assert f"(Strategy: {STRATEGIES['press']})" in words[0] and "offer: 250" not in words[0]
    assert words[1].startswith("[physical action] offer: 250") and row.mask == (1,) * len(row.reply)


def test_a_policy_clones_strategies_and_is_frozen_or_is_frozen_as_it_is(monkeypatch):
    learned = []
    monkeypatch.setattr(SocialRun, "learn_rows", lambda self, rows, what, tag: learned.append((rows, what, tag)))
    run = small_run(SMALL.model_copy(update={"cloning": False}))
    clone_follower(run)
    assert not learned and not any(weight.requires_grad for weight in run.model.parameters())
    run = small_run()
    monkeypatch.setattr(PolicyAgent, "act_all", lambda self, views: [Action("speak", "Hello.")] * len(views))
    played = run.play(run.agent(), "itself")
    clone_follower(run)
    ((rows, what, tag),) = learned
    assert tag == "following strategies"
    assert not any(weight.requires_grad for weight in run.model.parameters())
    read = ["(Strategy: " in run.policy.tokenizer.decode(row["input_ids"]) for row in rows]
    alone = sum(any(not step.act.stands for step in one.steps) for one in played)
    assert what == f"{sum(read)} acts" and read == sorted(read, reverse=True)
    assert len(read) - sum(read) == alone > 0  # What it says where it is told none.


def test_strategies_are_drawn_alike_for_the_same_view_and_all_of_them():
    steps = [step for one in play_all(small_tasks(40).training, Says(), Says(), draws=4) for step in one.steps]
    names = [drawn(step.view) for step in steps]
    assert names == [drawn(step.view) for step in steps] and set(names) == set(STRATEGIES)


def test_cloning_changes_adapters_alone():
    run = small_run()
    before = {name: weight.clone() for name, weight in run.model.named_parameters()}
    clone_follower(run)
    changed = {name for name, weight in run.model.named_parameters() if not torch.equal(weight, before[name])}
    assert changed and all("lora_" in name for name in changed)
