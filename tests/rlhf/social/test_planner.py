"""What planners share: only they learn, their folders, and what is refused."""

import json
import shutil

import pytest
import torch

from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.social import reinforce as learning
from apportion.rlhf.social.dat import PrefixPlanner
from apportion.rlhf.social.episodes import Scores, play_all
from apportion.rlhf.social.epo import ReasoningPlanner
from apportion.rlhf.social.planner import LearnedPlanner, PlannedAgent, seeded
from apportion.rlhf.social.ppdpp import StrategyPlanner
from apportion.rlhf.social.strategies import freeze
from tests.rlhf.social.small import SMALL, reinforced, small_run, small_tasks

CONCEDING = ROSTER.scripted("conceding")
PLANNERS = (StrategyPlanner, ReasoningPlanner, PrefixPlanner)


def planned(method, seed=0):
    """A run whose policy is frozen, and an agent with a planner before it that has learned something."""
    run = small_run(SMALL.model_copy(update={"partner": "conceding", "most_acts": 4}), seed)
    run.tasks = small_tasks(4)
    run.policy.model.config.max_position_embeddings = 4096  # So that its folder is no error: it reads whole episodes.
    freeze(run)
    with seeded(seed):
        agent = PlannedAgent("one", method(run.agent()))
        for weight in agent.planner.parameters:
            torch.nn.init.normal_(weight, std=0.3)
    return run, agent


@pytest.mark.parametrize("method", PLANNERS)
def test_only_the_planner_learns(method):
    run, agent = planned(method)
    mine = {id(weight) for weight in agent.planner.parameters}
    before = {name: weight.clone() for name, weight in run.model.named_parameters() if id(weight) not in mine}
    learned = [weight.clone() for weight in agent.planner.parameters]
    assert mine and before
    run.settings = run.settings.model_copy(update={"draws": 2, "lr": 0.1})
    run.model.zero_grad()
    if method is PrefixPlanner:
        from apportion.rlhf.social.dat import self_clone

        self_clone(run, agent.planner)
    else:
        # Every other episode is the better one: what is learned does not depend on what was said.
        paid = pytest.MonkeyPatch()
        paid.setattr(
            learning, "credits", lambda played: [[(-1.0) ** at] * len(one.steps) for at, one in enumerate(played)]
        )
        with paid.context():
            reinforced(run, agent, 1, lr=0.1)
        paid.undo()
    after = dict(run.model.named_parameters())
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(after[name].grad is None for name in before)
    assert any(not torch.equal(old, new) for old, new in zip(learned, agent.planner.parameters, strict=True))


@pytest.fixture
def folder(tmp_path):
    def write(method, seed=0, name="one"):
        run, agent = planned(method, seed)
        learned = LearnedPlanner.of(agent, Scores({}, 0.0))
        # The folder's policy as the command writes it; afterwards the model has no adapters any more.
        place = tmp_path / name
        said = [step.said for one in play_all(run.tasks.held_out, agent, CONCEDING) for step in one.steps]
        policy = run.policy
        write_policy(
            place, type(policy)("tiny", policy.model, policy.tokenizer, policy.eos_ids, policy.pad_id), run.model, "x"
        )
        write_window(place, run.settings.window)
        learned.write(place)
        return place, said

    return write


@pytest.mark.parametrize("method", PLANNERS)
def test_a_folder_plays_as_what_was_trained(folder, method):
    place, said = folder(method)
    agent = ROSTER.scripted(f"{method.method}@{place}")
    assert agent.called == f"{method.method}@one" and not agent.paid
    tasks = small_tasks(4).held_out
    played = play_all(tasks, agent, CONCEDING)
    assert [step.said for one in played for step in one.steps] == said and any(said)
    assert {path.suffix for path in place.rglob("*") if path.is_file()} <= {".json", ".safetensors", ".md", ".jinja"}


def test_what_is_no_folder_of_that_planner_is_refused(folder, tmp_path):
    place, _ = folder(StrategyPlanner)
    other, _ = folder(StrategyPlanner, 1, "two")
    with pytest.raises(InputError, match=r"trained as 'ppdpp'; write ppdpp@"):
        ROSTER.scripted(f"epo@{place}")
    with pytest.raises(
        InputError, match=r"'dat@.*nowhere'.* no folder of a trained planner .*Make one: apportion train"
    ):
        ROSTER.scripted(f"dat@{tmp_path / 'nowhere'}")
    for name in ("adapter_model.safetensors", "base/model.safetensors"):
        changed = shutil.copytree(place, tmp_path / name.replace("/", "-"))
        shutil.copyfile(other / name, changed / name)
        with pytest.raises(InputError, match="it was trained for another policy than the folder has now"):
            ROSTER.scripted(f"ppdpp@{changed}")
    (place / "planner.safetensors").write_bytes((other / "planner.safetensors").read_bytes())
    with pytest.raises(InputError, match=r"planner.safetensors was changed"):
        ROSTER.scripted(f"ppdpp@{place}")
    (other / "planner.json").write_text("[]")
    with pytest.raises(InputError, match="no folder of a trained planner"):
        ROSTER.scripted(f"ppdpp@{other}")
    assert json.loads((place / "planner.json").read_text()).keys() == {"method", "policy", "weights"}
