"""DAT: a prefix changes what is said, self-cloning brings back what would be said, and TD3+BC finds what pays."""

import pytest
import torch

from apportion.environments.environment import Observation
from apportion.rlhf.social.dat import ACTION, NOISE, PREFIX, PrefixPlanner, improve, network, self_clone, transitions
from apportion.rlhf.social.episodes import play_all
from apportion.rlhf.social.planner import Decision, PlannedAgent, seeded, states_of
from apportion.rlhf.social.strategies import answer, freeze
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks


@pytest.fixture
def planned():
    run = small_run(SMALL.model_copy(update={"temperature": 0.001, "most_acts": 4, "epochs": 12, "lr": 0.03}))
    freeze(run)
    with seeded(0):
        planner = PrefixPlanner(run.agent())
    return run, planner


def said(run, planner, action):
    start = run.tasks.training[0]
    (act,) = planner.reply([Observation(start.make(), start.agent)], [Decision(torch.zeros(1), action)])
    return act.text


def test_the_prefix_changes_what_is_said(planned):
    run, planner = planned
    assert planner.network.embedded(torch.zeros(3, ACTION)).shape == (3, PREFIX, 32)
    with torch.no_grad():
        planner.network.up *= 100
    words = [said(run, planner, sign * torch.ones(ACTION)) for sign in (1, -1, 1)]
    assert words[0] == words[2] != words[1]


def test_noise_is_drawn_only_where_it_explores_and_actions_stay_bounded(planned):
    run, planner = planned
    start = run.tasks.training[0]
    views = [Observation(start.make(), start.agent)]
    explorer, still = (PlannedAgent("one", planner, explores) for explores in (True, False))
    explorer.act_all(views), still.act_all(views)
    assert not still.decided and [*explorer.decided] == [views[0].number]
    (noisy,) = explorer.decided.values()
    mean = planner.network.actor(noisy.state[None])[0]
    assert (noisy.choice - mean).abs().max() > 0 and noisy.choice.abs().max() <= 1


def test_self_cloning_makes_what_the_model_says_likely_again_and_leaves_the_actor_room(planned):
    run, planner = planned
    told = []
    run.tell, run.tasks = told.append, small_tasks(2)
    run.settings = run.settings.model_copy(update={"epochs": 40})
    steps = play_all(run.tasks.training[:1], run.agent(), Says())[0].steps
    states = states_of(run.agent(), steps)
    examples = list(zip(states, [answer(run.agent(), one, "", one.said) for one in steps], strict=True))
    before, actions = planner.likelihood(examples).item(), planner.network.actor(states)
    self_clone(run, planner)
    assert planner.likelihood(examples).item() > before + 0.2
    assert told and told[0].startswith("self-cloning: ")
    # At the bounds neither noise nor a gradient would change an action.
    assert torch.equal(planner.network.actor(states), actions) and actions.abs().max() < 0.9


def test_the_noise_of_play_moves_a_prefix_by_its_own_size(planned):
    _, planner = planned
    with seeded(1), torch.no_grad():
        moved = planner.network.embedded(NOISE * torch.randn(50, ACTION)) - planner.network.embedded(
            torch.zeros(1, ACTION)
        )
    size = planner.policy.model.get_input_embeddings().weight.norm(dim=1).mean().item()
    assert 0.5 * size < moved.norm(dim=2).mean().item() < 4 * size


def test_of_an_episode_only_its_last_act_is_paid_and_nothing_follows_it():
    made = [Decision(torch.full((2,), float(number)), torch.zeros(1)) for number in range(3)]
    known = transitions([(made, 0.5), (made[:1], 1.0)])
    assert known.rewards.tolist() == [0.0, 0.0, 0.5, 1.0] and known.goes_on.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert known.following[:, 0].tolist() == [1.0, 2.0, 2.0, 0.0]


def test_td3_finds_the_action_that_pays_and_stays_near_what_was_done():
    with seeded(1):
        actions = (0.3 * torch.randn(400, 1)).clamp(-1, 1)
        states = torch.randn(400, 2)
        paid = [float(1 - (action - 0.4).abs()) for action in actions]
        rows = [([Decision(state, action)], pay) for state, action, pay in zip(states, actions, paid, strict=True)]
        actor = torch.nn.Sequential(network(2, 1), torch.nn.Tanh())
        before = actor(states).mean().item()
        improve(actor, transitions(rows), 300)
        after = actor(states).mean().item()
    assert abs(before) < 0.15 < after < 0.6
