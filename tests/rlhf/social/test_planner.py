"""What planners share: credit, REINFORCE on a toy that it must solve, folders, and what is refused."""

import json
import shutil

import pytest
import torch

from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.social import planner as shared
from apportion.rlhf.social import ppdpp
from apportion.rlhf.social.dat import PrefixPlanner
from apportion.rlhf.social.episodes import evaluate, play_all
from apportion.rlhf.social.epo import ReasoningPlanner
from apportion.rlhf.social.planner import LearnedPlanner, PlannedAgent, credits, descend, reinforce, seeded
from apportion.rlhf.social.ppdpp import NAMES, StrategyPlanner
from apportion.rlhf.social.strategies import followed, freeze
from tests.rlhf.social.small import SMALL, Says, small_run, small_tasks

CONCEDING = ROSTER.scripted("conceding")
PLANNERS = (StrategyPlanner, ReasoningPlanner, PrefixPlanner)
ONE_TASK = SMALL.model_copy(update={"cloning": False, "draws": 4, "partner": "conceding", "lr": 0.03, "most_acts": 20})


class Obeyed(StrategyPlanner):
    """Before a policy that does exactly what it is told."""

    def reply(self, agent, views, decisions):
        return [followed(NAMES[one.choice], view) for view, one in zip(views, decisions, strict=True)]


def unmoved(monkeypatch):
    """Every state reads alike, so that one strategy has to serve for all."""
    monkeypatch.setattr(ppdpp, "hidden_states", lambda agent, contexts: torch.ones(len(contexts), 32))


def test_credit_is_what_an_episode_has_over_others_of_its_task_and_falls_towards_its_beginning():
    start, other = small_tasks().training
    acts = [Says("offer: 300"), Says("offer: 200"), Says("offer: 100")]
    takes = Says("accept")
    played = [play_all([start], agent, takes)[0] for agent in acts]
    assert [episode.score for episode in played] == [10.0, 5.0, 0.0]
    rows = credits(played)
    assert [row[-1] for row in rows] == pytest.approx([0.75, 0.0, -0.75])
    assert rows[0] == pytest.approx([0.75 * 0.95 ** (len(rows[0]) - 1 - act) for act in range(len(rows[0]))])
    with pytest.raises(InputError, match=r"draws = 1: .* set 2 at least"):
        credits([*played, *play_all([other], acts[0], takes)])


def test_reinforce_finds_the_strategy_that_pays(monkeypatch):
    unmoved(monkeypatch)
    run = small_run(ONE_TASK)
    run.tasks = small_tasks(20)
    with seeded(0):
        planner = Obeyed(run.agent())
    agent = PlannedAgent("obeyed", planner.policy, planner)
    optimizer = torch.optim.Adam(planner.parameters, lr=run.settings.lr)
    chances = planner.network(torch.ones(1, 32)).softmax(1)[0].tolist()
    assert chances == pytest.approx([1 / len(NAMES)] * len(NAMES))
    for number in range(12):
        reinforce(run, agent, planner.log_probs, optimizer, number)
    best = NAMES[planner.network(torch.ones(1, 32)).argmax()]
    scores = {name: evaluate(Always(name, planner), run.tasks.training, CONCEDING).mean.value for name in NAMES}
    assert scores[best] > 5.0 > scores["accept"]
    chances = planner.network(torch.ones(1, 32)).softmax(1)[0]
    assert chances[NAMES.index("accept")] < 0.1 < 0.5 < chances.max()


class Always:
    paid = False

    def __init__(self, name, planner):
        self.called, self.name = name, name

    def act(self, view):
        return followed(self.name, view)


def planned(method, seed=0):
    """A run whose policy is frozen, and an agent with a planner before it that has learned something."""
    run = small_run(SMALL.model_copy(update={"partner": "conceding", "most_acts": 4}), seed)
    run.tasks = small_tasks(4)
    run.policy.model.config.max_position_embeddings = 4096  # So that its folder is no error: it reads whole episodes.
    freeze(run)
    with seeded(seed):
        agent = PlannedAgent("one", run.agent(), method(run.agent()))
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
            shared, "credits", lambda played: [[(-1.0) ** at] * len(one.steps) for at, one in enumerate(played)]
        )
        with paid.context():
            reinforce(run, agent, agent.planner.log_probs, torch.optim.Adam(agent.planner.parameters, lr=0.1), 0)
        paid.undo()
    after = dict(run.model.named_parameters())
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(after[name].grad is None for name in before)
    assert any(not torch.equal(old, new) for old, new in zip(learned, agent.planner.parameters, strict=True))


@pytest.fixture
def folder(tmp_path):
    def write(method, seed=0, name="one"):
        run, agent = planned(method, seed)
        learned = LearnedPlanner.of(agent)
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


def test_a_loss_that_is_no_number_ends_the_training():
    weight = torch.nn.Parameter(torch.ones(1))
    with pytest.raises(UnitError, match=r"a planner's loss is nan.* Lower lr"):
        descend(lambda chosen: (weight * float("nan")).sum(), [1, 2], 2, torch.optim.Adam([weight]))
