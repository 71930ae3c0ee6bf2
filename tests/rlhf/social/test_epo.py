"""EPO: strategies are tokens of the reasoner alone, their likelihood is the model's, and the speaker reads them."""

import pytest
import torch

from apportion.environments.environment import Observation
from apportion.rlhf.sampling import policy_agent
from apportion.rlhf.social.epo import MOST_TOKENS, ReasoningPlanner
from apportion.rlhf.social.planner import PlannedAgent, seeded
from apportion.rlhf.social.run import context_of
from apportion.rlhf.social.strategies import freeze
from tests.rlhf.social.small import SMALL, small_run


@pytest.fixture
def planned():
    run = small_run()
    for name, weight in run.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    freeze(run)
    with seeded(0):
        planner = ReasoningPlanner(run.agent())
        for weight in planner.parameters:
            torch.nn.init.normal_(weight, std=0.3)
    return run, planner


def contexts(run, planner):
    return [
        context_of(Observation(start.make(), start.agent), run.policy, run.settings.window, planner.cue)
        for start in run.tasks.training
    ]


def test_a_strategys_likelihood_is_the_sum_over_its_tokens_by_the_reasoner(planned):
    run, planner = planned
    asked = contexts(run, planner)
    with seeded(1):
        decisions = planner.decide(asked, explores=True)
    found = planner.log_probs(decisions)
    for one, context, value in zip(decisions, asked, found, strict=True):
        assert one.state.tolist() == list(context.prompt) and 0 < len(one.choice) <= MOST_TOKENS
        run.model.set_adapter("reasoner")
        scores = run.model(input_ids=torch.cat([one.state, one.choice])[None]).logits[0].log_softmax(1)
        run.model.set_adapter("default")
        places = range(len(one.state) - 1, len(one.state) + len(one.choice) - 1)
        wanted = sum(scores[at, token] for at, token in zip(places, one.choice.tolist(), strict=True))
        assert value.item() == pytest.approx(wanted.item(), abs=1e-3)
    assert planner.cue in run.policy.tokenizer.decode(decisions[0].state)


def test_the_speaker_is_as_it_was_after_a_strategy_was_written(planned):
    run, planner = planned
    ids = torch.tensor([contexts(run, planner)[0].prompt])
    before = run.model(input_ids=ids).logits
    with seeded(1):
        planner.decide(contexts(run, planner), explores=False)
    assert torch.equal(run.model(input_ids=ids).logits, before) and run.model.active_adapter == "default"
    with planner.writing() as model:
        assert not torch.equal(model(input_ids=ids).logits, before)


def test_the_speaker_is_told_what_was_written_and_the_reasoner_asked(planned, monkeypatch):
    run, planner = planned
    read = []

    def said(policy, model, asked, *rest):
        read.extend(policy.tokenizer.decode(list(one.prompt)) for one in asked)
        return ["hm"] * len(asked)

    monkeypatch.setattr(policy_agent, "sample_seeded", said)
    start = run.tasks.training[0]
    agent = PlannedAgent("one", planner, explores=True)
    assert agent.act(Observation(start.make(), start.agent)).text == "hm"
    (decision,) = agent.decided.values()
    assert f"(Strategy: {decision.strategy})" in read[0] and planner.cue not in read[0]


def test_adapters_of_other_layers_are_refused(planned):
    _, planner = planned
    kept = {name: value.clone() for name, value in planner.weights().items()}
    planner.load(kept)
    with pytest.raises(RuntimeError, match="adapters of other layers"):
        planner.load(dict([*kept.items()][1:]))
    assert SMALL.epochs and all("lora_" in name for name in kept)
