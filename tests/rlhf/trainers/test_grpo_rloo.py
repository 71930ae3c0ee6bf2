import math
import random
import shutil
import statistics
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.settings import AlarmSettings
from apportion.rlhf.trainers import grpo_rloo as group_training
from apportion.rlhf.trainers.group_advantages import EPSILON, charged, spread_over_tokens, turn_advantages
from apportion.rlhf.trainers.running import tensor_files
from apportion.rlhf.training.alarms import sameness
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.killing import check_killed_between_steps
from tests.rlhf.test_alignment import by_length, digest, run
from tests.rlhf.toy import (
    SHAPES,
    SMALL,
    chats,
    contexts,
    episode,
    layers_of,
    no_history,
    quiet,
    shaped_policy,
    small_policy,
    train,
)

TENSORS = tensor_files(1)
METRICS = {"reward", "kl", "response_tokens", "entropy", "repetition", "sameness", "policy_loss", "clip_fraction"}
GROUPS = {"num_generations": 2, "batch_size": 4, "mini_batch_size": 4, "lr": 0.01}
WAYS = {
    "grpo": {"algorithm": "grpo", **GROUPS},
    "grpo, several turns": {
        "algorithm": "grpo",
        **GROUPS,
        "max_turns": 2,
        "max_context_tokens": 90,
        "micro_batch_size": 2,
    },
    "grpo, live": {
        "algorithm": "grpo",
        **GROUPS,
        "environment": "sotopia",
        "environment_settings": {"scenarios": ["used_bicycle"], "pairs": 1, "most_acts": 4},
        "max_context_tokens": 1500,
    },
    "rloo": {"algorithm": "rloo", **GROUPS, "beta": 0.5},
    "raft": {"algorithm": "raft", **GROUPS, "mini_batch_size": 2, "beta": 0.1},
    "dpo": {"algorithm": "dpo", **GROUPS},
    "kto": {"algorithm": "kto", **GROUPS},
    "sft": {"algorithm": "sft", **GROUPS},
}


class Stop(Exception):  # noqa: N818
    """Stands for a kill: nothing after it is carried out."""


def stop_after(step: int):
    def progress(done: int, total: int, text: str) -> None:
        if done == step:
            raise Stop

    return progress


def assembled(monkeypatch, reward, partner=None, asked=None, **changes):
    """A trainer that is ready, and has not been trained."""
    made = []
    monkeypatch.setattr(group_training, "run_trainer", lambda run, make: made.append(make(Path(mkdtemp()))))
    policy = small_policy()
    settings = SMALL.model_copy(update={**WAYS["grpo"], **changes})
    train(TrainingData(policy, asked or contexts(policy), reward, partner), Run(settings, 0))
    return made[0]


def sampled(trainer):
    rows = [trainer.train_dataset[index // 2] for index in range(4)]
    trainer.model.train()
    return trainer._generate_and_score_completions(rows)


@pytest.mark.parametrize("algorithm", ["grpo", "rloo", "raft", "dpo"])
def test_a_run_gives_the_same_as_ppo_curves_samples_policy_and_card(tmp_path, algorithm):
    lines = []
    history, samples = run(
        tmp_path, **{**WAYS[algorithm], "steps": 2}, progress=lambda done, total, text: lines.append(text)
    )
    rows = [row for row in history.to_pylist() if row["metric"] != "warmup_loss"]
    measured = METRICS
    if algorithm in ("raft", "dpo"):
        measured = METRICS - {"policy_loss", "clip_fraction"} | {"loss"}
    measured |= {"margin", "pairs"} if algorithm == "dpo" else set()
    assert {row["metric"] for row in rows} == measured and {row["step"] for row in rows} == {1, 2}
    assert all(math.isfinite(row["value"]) for row in rows)
    # Sampled without dropout, the first replies come from the reference itself.
    assert next(row["value"] for row in rows if row["metric"] == "kl") == 0.0
    assert len(samples) == 2 and samples["after"].null_count == 0
    card = (tmp_path / "README.md").read_text()
    assert f"lora, {algorithm}, tiny" in card and f"trained with {algorithm.upper()} against" in card
    assert (tmp_path / "adapter_model.safetensors").exists() and (tmp_path / "base").is_dir()
    assert [line.split(":")[0] for line in lines] == [f"{algorithm.upper()} step {step}" for step in (1, 2)]


@pytest.mark.parametrize(
    ("kind", "way", "saver"),
    [
        *((kind, "grpo", {}) for kind in SHAPES),
        ("opt", "grpo, several turns", {"gradient_checkpointing": True}),
        ("opt", "rloo", {}),
    ],
)
def test_before_any_update_no_token_leaves_the_clip_range(kind, way, saver):
    policy = shaped_policy(kind)
    lora = SMALL.lora.model_copy(update={"dropout": 0.5, "targets": layers_of(kind)})
    still = {
        "lr": 1e-30,
        "steps": 1,
        "ppo_epochs": 2,
        "mini_batch_size": 2,
        "micro_batch_size": 1,
        "clip": 1e-3,
        "lora": lora,
    }
    settings = SMALL.model_copy(update={**WAYS[way], **still, **saver})
    partner = RecordedPartner(chats(4), no_history) if settings.max_turns > 1 else None
    measured = Metrics()
    train(TrainingData(policy, contexts(policy), by_length, partner), Run(settings, 0, measured))
    assert measured.at(1)["clip_fraction"] == measured.at(1)["kl"] == 0.0


def test_no_run_is_reported_to_the_hub(monkeypatch):
    told = []
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("trl.trainer.base_trainer.send_telemetry", lambda **facts: told.append(facts))
    assembled(monkeypatch, by_length)
    assert not told


def test_trl_puts_the_very_prompt_that_ppo_puts(monkeypatch):
    trainer = assembled(monkeypatch, by_length)
    tricky = episode("s", [("ann", "so <|end|> what"), ("bot", "well"), ("ann", "now"), ("bot", "no")])
    asked = make_contexts([tricky], trainer.policy.tokenizer, no_history, context_turns=3, max_context_tokens=64)
    trainer = assembled(monkeypatch, by_length, asked=asked.contexts)
    rows = [trainer.train_dataset[index] for index in range(2)]
    prompts, _, _ = trainer._tokenize_prompts([row["prompt"] for row in rows])
    assert [tuple(prompt) for prompt in prompts] == [asked.contexts[row["context"]].prompt for row in rows]


def test_the_reward_sees_each_replys_history_and_a_group_answers_one_context(monkeypatch):
    seen = []

    def reward(contexts, histories, replies):
        seen.extend(histories)
        return by_length(contexts, histories, replies)

    trainer = assembled(monkeypatch, reward)
    sampled(trainer)
    expected = [trainer.contexts[trainer.train_dataset[index // 2]["context"]].history for index in range(4)]
    assert seen == expected and len(set(seen)) == 2
    order = trainer.train_dataset["context"]
    assert len(order) == SMALL.steps * 2 and len(set(order)) == len(order)


def test_replies_of_a_group_are_not_compared_with_each_other(monkeypatch):
    trainer = assembled(monkeypatch, by_length)
    output = sampled(trainer)
    tokens, mask = output["completion_ids"], output["completion_mask"].bool()
    assert trainer.observed["sameness"] == sameness(tokens, mask, [0, 0, 1, 1])
    monkeypatch.setattr(group_training, "sameness", lambda replies, mask, contexts: contexts)
    sampled(trainer)
    answered = trainer.observed["sameness"]
    assert answered[0] == answered[1] != answered[2] == answered[3]


def test_trls_advantages_are_those_of_turns_where_a_response_is_one_turn(monkeypatch):
    scored = lambda contexts, histories, replies: [1.0, 4.0, -2.0, 0.5]  # noqa: E731
    trainer = assembled(monkeypatch, scored, scale_rewards=True)
    output = sampled(trainer)
    expected = [own[0] for own in turn_advantages(trainer.reward.turns, 2)]
    assert output["advantages"].tolist() == pytest.approx(expected, rel=1e-4)


def test_grpo_and_rloo_pay_for_the_divergence_alike(monkeypatch):
    """TRL takes it off RLOO's rewards; what is left less the others' mean is twice what is left less a pair's mean."""
    found = {}
    for algorithm, beta in (("grpo", 0.5), ("rloo", 0.5), ("grpo", 0.0)):
        trainer = assembled(monkeypatch, by_length, algorithm=algorithm, beta=beta)
        torch.manual_seed(0)
        for name, weight in trainer.model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.3)
        output = sampled(trainer)
        found[algorithm, beta] = (output["completion_ids"].tolist(), output["advantages"])
    (said, grpo), (said_too, rloo), (_, free) = found.values()
    assert said == said_too and torch.allclose(rloo, 2 * grpo, atol=1e-4) and (grpo - free).abs().max() > 0.1


def several_turns(monkeypatch, reward, **changes):
    policy = small_policy()
    asked = [one for one in contexts(policy) if one.turn == 1][:2]
    partner = RecordedPartner(chats(4), no_history)
    return assembled(monkeypatch, reward, partner, asked, max_turns=2, max_context_tokens=90, **changes)


SCORED = [1.0, 3.0, 2.0, 0.0, 5.0, 5.0, 5.0, 1.0]


@pytest.mark.parametrize("published", [False, True])
def test_each_token_of_a_turn_gets_its_turns_advantage(monkeypatch, published):
    given = {"score_norm": False, "scale_rewards": published}
    trainer = several_turns(monkeypatch, lambda contexts, histories, replies: SCORED[: len(replies)], **given)
    output = sampled(trainer)
    tokens, own = output["completion_ids"], output["tool_mask"].bool() & output["completion_mask"].bool()
    assert output["advantages"].shape == tokens.shape and all(len(ends) == 2 for ends in trainer.ends)
    # The hand-computed case of test_turn_advantages; the second group: 10 and 6 to come, then 5 and 1.
    deviations = [gap / 2**0.5 + 1e-4 if published else 1.0 for gap in (2, 3, 4)]
    first, second, third = (gap / deviation for gap, deviation in zip((1, 1.5, 2), deviations, strict=True))
    hand = [[first, second], [-first, -second], [third, third], [-third, -third]]
    for row, (advantages, ends) in enumerate(zip(hand, trainer.ends, strict=True)):
        for turn, (start, end) in enumerate(((0, ends[0]), (ends[0] + 1, ends[1]))):
            mine = own[row, start : end + 1]
            assert mine.any()
            given = output["advantages"][row, start : end + 1][mine]
            assert given.tolist() == pytest.approx([advantages[turn]] * int(mine.sum()), rel=1e-5)
        # The other side speaks between the turns and is not learned from.
        assert not own[row, : ends[1] + 1].all()


def test_the_loss_weighs_each_token_by_its_turns_advantage(monkeypatch):
    """TRL's loss with our (B, T) advantages, against the same sum by hand: at the first update all ratios are 1."""
    given = {"score_norm": False, "beta": 0.0, "scale_rewards": True}
    trainer = several_turns(monkeypatch, lambda contexts, histories, replies: SCORED[: len(replies)], **given)
    output = sampled(trainer)
    trainer.current_gradient_accumulation_steps = 1
    loss = trainer._compute_loss(trainer.model, output)
    own = (output["tool_mask"] * output["completion_mask"]).double()
    by_hand = -(output["advantages"].double() * own).sum() / own.sum()
    assert loss.item() == pytest.approx(by_hand.item(), abs=1e-5)
    spread = spread_over_tokens(turn_advantages(trainer.reward.turns, 2), trainer.ends, own.shape[1])
    assert torch.equal(output["advantages"], spread)


def test_paid_at_the_end_a_response_of_several_turns_has_one_advantage(monkeypatch):
    trainer = several_turns(monkeypatch, lambda *asked: SCORED[: len(asked[-1])], reward_placement="response")
    assert sampled(trainer)["advantages"].shape == (4,)


def test_scores_are_normalised_and_clipped_as_in_ppo(monkeypatch):
    trainer = assembled(monkeypatch, lambda contexts, histories, replies: [0.0, 0.0, 0.0, 100.0], reward_clip=1.5)
    sampled(trainer)
    assert trainer.reward.scores == [0.0, 0.0, 0.0, 100.0]
    assert trainer.reward.turns == [pytest.approx([value]) for value in (-(3**-0.5), -(3**-0.5), -(3**-0.5), 1.5)]


def scored(*scores):
    return lambda contexts, histories, replies: list(scores)


@pytest.mark.parametrize(("beta", "divergences", "best"), [(0.0, (0, 9, 0, 0), (1, 2)), (0.5, (0, 9, 4, 0), (0, 3))])
def test_raft_keeps_the_best_of_each_group_less_what_its_divergence_costs(monkeypatch, beta, divergences, best):
    changes = {**WAYS["raft"], "score_norm": False, "beta": beta}
    trainer = assembled(monkeypatch, scored(1.0, 4.0, 0.5, -1.0), **changes)
    observe, given = trainer._observe, {}

    def observed(output):
        given.update(output)
        found = observe(output)
        trainer.divergence = torch.zeros_like(trainer.divergence)
        trainer.divergence[:, 0] = torch.tensor([float(nats) for nats in divergences])
        return found

    monkeypatch.setattr(trainer, "_observe", observed)
    output = sampled(trainer)
    for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"):
        assert torch.equal(output[name], given[name][list(best)])
    # The curve is that of all replies, as with the other trainers.
    assert trainer.observed["reward"] == 1.125
    assert output["num_items_in_batch"] == output["completion_mask"].sum()


def test_raft_learns_the_kept_replies_by_their_likelihood_alone(monkeypatch):
    trainer = assembled(monkeypatch, by_length, **WAYS["raft"], temperature=1.0)
    output = sampled(trainer)
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation
    # As after an update: what the policy was that sampled no longer counts.
    with torch.no_grad():
        for name, weight in trainer.model.named_parameters():
            if "lora_B" in name:
                weight.fill_(0.05)
    loss = trainer._compute_loss(trainer.model, output)
    ids, mask = (torch.cat([output[f"prompt_{part}"], output[f"completion_{part}"]], 1) for part in ("ids", "mask"))
    places = (mask.cumsum(1) - 1).clamp(min=0)
    logp = trainer.model(ids, attention_mask=mask, position_ids=places).logits.log_softmax(-1)[:, :-1]
    said = logp.gather(2, ids[:, 1:, None])[:, -output["completion_ids"].shape[1] :, 0] * output["completion_mask"]
    by_hand = -said.sum() / output["completion_mask"].sum()
    assert loss.item() == pytest.approx(by_hand.item(), rel=1e-4)
    trained = [weight for weight in trainer.model.parameters() if weight.requires_grad]
    for own, hand in zip(torch.autograd.grad(loss, trained), torch.autograd.grad(by_hand, trained), strict=True):
        torch.testing.assert_close(own, hand, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_stopped_after_any_step_the_end_is_the_same(tmp_path, way):
    changes = {**WAYS[way], "steps": 3}
    undisturbed = run(tmp_path / "a", **changes)
    for step in (1, 2):
        with pytest.raises(Stop):
            run(tmp_path / "b", checkpoints=tmp_path / "kept", progress=stop_after(step), **changes)
        assert not (tmp_path / "b").exists()
    stopped = run(tmp_path / "b", checkpoints=tmp_path / "kept", **changes)
    assert [table.to_pydict() for table in undisturbed] == [table.to_pydict() for table in stopped]
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert not list((tmp_path / "kept").glob("tmp.*"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["grpo", "dpo", "sft"])
def test_killed_between_any_two_steps_the_final_policy_is_the_same(tmp_path, way):
    check_killed_between_steps(tmp_path, steps=4, **WAYS[way])


def test_random_numbers_outside_are_left_alone_and_the_same_seed_gives_the_same(tmp_path):
    def drawn():
        return random.random(), float(np.random.rand()), float(torch.rand(1))

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    expected = drawn()
    random.setstate(states[0]), np.random.set_state(states[1]), torch.set_rng_state(states[2])
    one = run(tmp_path / "1", **WAYS["grpo"])
    assert drawn() == expected
    assert run(tmp_path / "2", **WAYS["grpo"]) == one and digest(tmp_path / "1") == digest(tmp_path / "2")


def test_a_reward_that_is_no_number_keeps_and_names_the_last_good_checkpoint(tmp_path):
    calls = []

    def reward(contexts, histories, replies):
        calls.append(1)
        return [math.nan if len(calls) == 3 else float(len(reply)) for reply in replies]

    match = r"GRPO step 3: the reward model gave nan for the reply .*checkpoint, of 1 step, .*step-000001"
    with pytest.raises(UnitError, match=match):
        run(tmp_path / "out", checkpoints=tmp_path / "kept", reward=reward, **{**WAYS["grpo"], "steps": 4})
    assert (tmp_path / "kept" / "step-000001" / "adapter_model.safetensors").is_file()
    assert not (tmp_path / "out").exists()


def test_an_alarm_stops_the_run(tmp_path):
    alarms = AlarmSettings(patience=1, max_kl=1e-9)
    with pytest.raises(UnitError, match=r"RLOO step \d: stopped, the policy games its reward. KL blow-up"):
        run(tmp_path / "out", **{**WAYS["rloo"], "steps": 6, "alarms": alarms, "lr": 0.1})


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The checkpoints of a training that was stopped after its first step."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Stop):
        run(folder / "out", checkpoints=folder / "kept", progress=stop_after(1), **WAYS["grpo"])
    return folder / "kept"


@pytest.mark.parametrize("damage", ["state.json", "trainer_state.json", "adapter_model.safetensors", *TENSORS])
def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path, damage, stopped):
    kept = shutil.copytree(stopped, tmp_path / "kept")
    (kept / "step-000001" / damage).write_bytes(b"\x80\x04 half")
    with pytest.raises(UnitError, match=r"checkpoint .*step-000001 cannot be read .* Delete this folder to go on"):
        run(tmp_path / "out", checkpoints=kept, progress=quiet, **WAYS["grpo"])


def test_a_checkpoint_holds_no_pickled_objects_and_a_pickle_in_it_is_not_run(tmp_path, stopped):
    folder = shutil.copytree(stopped, tmp_path / "kept") / "step-000001"
    assert not (folder / "training_args.bin").exists()
    assert {path.name for path in folder.iterdir()} == {
        "adapter_model.safetensors", "adapter_config.json", "state.json", "trainer_state.json", *TENSORS,
    }  # fmt: skip
    shutil.copy(folder / "optimizer.pt", tmp_path / "good.pt")
    torch.save({"planted": Planted(tmp_path / "owned")}, folder / "optimizer.pt")
    with pytest.raises(UnitError, match="cannot be read"):
        run(tmp_path / "out", checkpoints=tmp_path / "kept", **WAYS["grpo"])
    assert not (tmp_path / "owned").exists()


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))


SCORES = st.floats(-100, 100).map(lambda score: round(score, 3))


def test_a_case_computed_by_hand():
    # Two responses to one context. What is to come: 1 + 3 and 3; 2 + 0 and 0. Means 3 and 1.5, deviations of two
    # values (n - 1): |4 - 2| / sqrt(2) and |3 - 0| / sqrt(2).
    first, second = 2 / 2**0.5 + EPSILON, 3 / 2**0.5 + EPSILON
    found = turn_advantages([[1.0, 3.0], [2.0, 0.0]], group=2)
    assert found[0] == pytest.approx([1 / first, 1.5 / second])
    assert found[1] == pytest.approx([-1 / first, -1.5 / second])
    assert turn_advantages([[1.0, 3.0], [2.0, 0.0]], group=2, scaled=False) == [[1.0, 1.5], [-1.0, -1.5]]


def test_a_turn_pays_for_the_divergence_of_its_own_tokens():
    divergence = torch.tensor([[0.5, -0.25, 0.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0, 0.0]])
    assert charged([[1.0, 2.0], [3.0]], [[1, 4], [2]], divergence, 2.0) == [[0.5, 0.0], [-3.0]]


def test_groups_do_not_see_each_other_and_a_turn_that_only_one_response_has_says_nothing():
    found = turn_advantages([[1.0, 9.0], [10.0], [7.0], [7.0]], group=2)
    assert found == [[0.0, 0.0], [0.0], [0.0], [0.0]]


@given(st.lists(SCORES, min_size=2, max_size=6))
def test_with_one_turn_it_is_grpos_own_advantage(scores):
    found = [own[0] for own in turn_advantages([[score] for score in scores], group=len(scores))]
    mean, deviation = statistics.fmean(scores), statistics.stdev(scores)
    assert found == pytest.approx([(score - mean) / (deviation + EPSILON) for score in scores], abs=1e-6)


@given(st.lists(st.lists(SCORES, min_size=3, max_size=3), min_size=2, max_size=5), SCORES)
def test_a_level_that_all_responses_share_does_not_count(scores, level):
    raised = [[score + level for score in own] for own in scores]
    for one, other in zip(turn_advantages(scores, len(scores)), turn_advantages(raised, len(scores)), strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_every_token_of_a_turn_gets_its_turns_advantage():
    # Columns 0-1 are the first turn, 2-3 the other side's words, 4 the second turn; the second row has one turn.
    spread = spread_over_tokens([[0.5, -1.0], [2.0]], [[1, 4], [2]], 6)
    assert torch.equal(spread, torch.tensor([[0.5, 0.5, -1, -1, -1, 0], [2, 2, 2, 0, 0, 0]]))
