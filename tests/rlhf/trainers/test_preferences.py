import math
import statistics
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest
import torch
from trl import DPOConfig

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.trainers import preferences
from apportion.rlhf.trainers.preferences import were_good
from apportion.rlhf.trainers.running import preference_arguments, unpaired_arguments, updates_a_step
from apportion.rlhf.trainers.supervised import recorded_replies
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.reward import best_and_worst
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.test_alignment import by_length, run
from tests.rlhf.toy import (
    ANSWERS,
    SMALL,
    Scored,
    chats,
    contexts,
    episode,
    no_history,
    small_policy,
    token_contexts,
    train,
)

DPO = {"algorithm": "dpo", "num_generations": 4, "batch_size": 8, "mini_batch_size": 8, "lr": 0.01}


def settings(**changes):
    return SMALL.model_copy(update={**DPO, **changes})


@pytest.mark.parametrize(
    ("scores", "margin", "places"),
    [([1, 3, 0], 0, (1, 2)), ([1, 3, 0], 3, (1, 2)), ([1, 3, 0], 3.1, (1, 1)), ([2, 2], 0, (0, 0)), ([5], 0, (0, 0))],
)
def test_the_best_and_the_worst_are_a_pair_where_they_differ_enough(scores, margin, places):
    assert best_and_worst(scores, margin) == places


def test_a_pair_is_what_was_said_to_one_context_and_the_better_one_is_chosen(monkeypatch):
    made, histories = [], []
    monkeypatch.setattr(preferences, "run_trainer", lambda run, make: made.append(make(Path(mkdtemp()))))

    def reward(asked, read, replies):
        histories.extend(read)
        return by_length(asked, read, replies)

    policy = small_policy()
    asked = contexts(policy)
    train(TrainingData(policy, asked, reward), Run(settings(), 0))
    trainer = made[0]
    trainer.places = [0] * 4 + [3] * 4
    pairs = trainer._sample()
    assert histories == [asked[place].history for place in trainer.places]
    assert [tuple(pair["prompt_ids"]) for pair in pairs] == [asked[0].prompt, asked[3].prompt]

    def said(ids):
        return len(policy.tokenizer.decode(ids, skip_special_tokens=True).strip())

    scores = trainer.reward.scores
    for pair, group in zip(pairs, (scores[:4], scores[4:]), strict=True):
        assert (said(pair["chosen_ids"]), said(pair["rejected_ids"])) == (max(group), min(group))
    assert trainer.observed["pairs"] == 1.0 and trainer.observed["kl"] == 0.0


def test_what_is_preferred_is_said_more_often():
    measured, policy = Metrics(), small_policy()

    def reward(contexts, histories, replies):
        return [float(any(letter in reply for letter in "aeiou")) for reply in replies]

    chosen = settings(steps=12, batch_size=32, mini_batch_size=32, max_new_tokens=1)
    train(TrainingData(policy, token_contexts(policy), reward), Run(chosen, 0, measured))
    rewards = [measured.at(step)["reward"] for step in range(1, 13)]
    # Before the first update nothing is more likely than it was.
    assert measured.at(1)["margin"] == 0.0 and measured.at(1)["loss"] == pytest.approx(math.log(2))
    assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.15, rewards


def test_replies_that_differ_too_little_teach_nothing():
    measured, policy = Metrics(), small_policy()
    given = settings(preference_margin=1e9)
    model = train(TrainingData(policy, contexts(policy), by_length), Run(given, 0, measured))
    assert measured.at(2)["pairs"] == measured.at(2)["loss"] == 0.0
    assert not any(weight.any() for name, weight in model.named_parameters() if "lora_B" in name)


def test_a_step_is_one_update_from_a_pair_of_each_context(tmp_path):
    chosen = settings(batch_size=24, mini_batch_size=24, micro_batch_size=6, steps=5, beta=0.2)
    found = preference_arguments(Run(chosen, 7), tmp_path)
    assert isinstance(found, DPOConfig) and updates_a_step(chosen) == 1 and found.max_steps == 5
    # Six pairs, three at once: six replies.
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps, found.beta) == (3, 2, 0.2)


KTO = {"algorithm": "kto", "batch_size": 12, "mini_batch_size": 12, "micro_batch_size": 6, "lr": 0.02}


def recorded(score=by_length, **thumbs):
    """The twelve turns of four chats, of which "at nine" is said in seven; ``thumbs`` by words."""
    policy = small_policy()
    data = TrainingData(policy, contexts(policy), Scored(score), None, chats(4))
    said = recorded_replies(policy, data.contexts, data.episodes, SMALL.max_new_tokens)
    judged = {(one.context.session_id, one.turns[-1]): thumbs[one.text] for one in said if one.text in thumbs}
    return replace(data, thumbs=judged), said


@pytest.mark.parametrize(
    ("changes", "thumbs", "good"),
    [
        ({}, {}, {"with pleasure on track four", "yes of course"}),
        ({}, {"no": True, "yes of course": False}, {"with pleasure on track four", "no"}),
        ({"score_norm": False}, {}, set(ANSWERS)),
        ({"score_norm": False}, {"at nine": False}, set(ANSWERS) - {"at nine"}),
    ],
)
def test_a_turn_is_good_by_people_and_where_they_are_silent_by_its_reward(changes, thumbs, good):
    data, said = recorded(**thumbs)
    liked = were_good(said, data, Run(settings(**KTO, **changes), 0))
    assert {one.text for one, fine in zip(said, liked, strict=True) if fine} == good


def test_of_turns_in_a_row_the_last_judgement_counts():
    policy = small_policy()
    told = [episode("s", [("ann", "is it late"), ("bot", "no"), ("bot", "yes"), ("bot", "at nine"), ("ann", "good")])]
    asked = make_contexts(told, policy.tokenizer, no_history, context_turns=3, max_context_tokens=64).contexts
    (said,) = recorded_replies(policy, asked, told, 20)
    assert said.turns == (1, 2, 3) and said.text == "no yes at nine"
    assert said.judged({("s", 1): True, ("s", 2): False, ("t", 3): True}) is False and said.judged({}) is None


def log_ratios(policy, model, said):
    """How much likelier each turn is than at the start, in nats."""

    def likelihood(one):
        ids = torch.tensor([[*one.context.prompt, *one.tokens]])
        logp = model(ids).logits[0, :-1].log_softmax(dim=-1)
        places = range(len(one.context.prompt) - 1, ids.shape[1] - 1)
        return sum(float(logp[place, ids[0, place + 1]]) for place in places)

    with torch.no_grad():
        now = [likelihood(one) for one in said]
        with model.disable_adapter():
            return [after - likelihood(one) for one, after in zip(said, now, strict=True)]


def test_good_turns_become_likelier_and_bad_ones_less_so():
    measured = Metrics()
    data, said = recorded(**{"at nine": True, "no": False, "yes of course": False})
    model = train(data, Run(settings(**KTO, steps=6, beta=0.1), 0, measured))
    model.eval()
    moved = {True: [], False: []}
    for one, nats in zip(said, log_ratios(data.policy, model, said), strict=True):
        moved[one.text in ("at nine", "with pleasure on track four")].append(nats)
    assert len(moved[True]) == 8 and statistics.fmean(moved[True]) > 0.1 and statistics.fmean(moved[False]) < -0.1
    # Nothing is likelier before the first update; then each of 8 good turns and of 4 bad ones, at 8 / 4, costs half.
    first = measured.at(1)
    assert first["margin"] == 0.0 and first["loss"] == pytest.approx((8 + 4 * 2) / 2 / 12)
    assert first["judged"] == pytest.approx(11 / 12) and measured.at(6)["margin"] > 0.1


def test_turns_of_one_kind_alone_teach_nothing():
    for better, count in ((True, 12), (False, 0)):
        data, _ = recorded(**dict.fromkeys(ANSWERS, better))
        with pytest.raises(
            UnitError, match=f"of 12 turns {count} are good. Add sessions, or labels of turns by people"
        ):
            train(data, Run(settings(**KTO), 0))
    policy = small_policy()
    with pytest.raises(UnitError, match=r"nothing for kto to learn\. Add sessions"):
        train(TrainingData(policy, (), Scored(by_length), None, ()), Run(settings(**KTO), 0))


def test_kto_learns_from_the_policys_sessions_and_answers_no_prompts(tmp_path):
    changes = {**KTO, "batch_size": 4, "mini_batch_size": 4, "micro_batch_size": None, "prompts": Path("p.jsonl")}
    history, samples = run(tmp_path, **changes)
    metrics = {row["metric"] for row in history.to_pylist() if row["metric"] != "warmup_loss"}
    assert metrics == {"loss", "entropy", "judged", "margin"} and len(samples) == 2
    card = (tmp_path / "README.md").read_text()
    assert "trained with KTO on what" in card and "sessions of the `policy` split" in card
    assert "| loss" not in card


def test_what_is_rare_weighs_more(tmp_path):
    found = unpaired_arguments(Run(settings(**KTO, beta=0.2, steps=5), 7), tmp_path, 3, 12)
    assert (found.desirable_weight, found.undesirable_weight, found.beta, found.max_steps) == (4.0, 1.0, 0.2, 5)
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps) == (6, 2)


def test_of_given_pairs_only_what_their_masks_say_counts():
    rows = [
        {"prompt_ids": [1, 2], "chosen_ids": [3, 4, 5, 6], "rejected_ids": [7, 8]}
        | {"chosen_mask": [1, 0, 0, 1], "rejected_mask": [1, 1]},
        {"prompt_ids": [1], "chosen_ids": [3], "rejected_ids": [7, 8, 9]}
        | {"chosen_mask": [1], "rejected_mask": [1, 0, 1]},
    ]
    made = preferences._Masked(pad_token_id=0)(rows)
    assert made["input_ids"].tolist()[0] == [1, 2, 3, 4, 5, 6]
    assert made["completion_mask"].tolist() == [
        [0, 0, 1, 0, 0, 1],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
    ]


PAIR = {
    "prompt_ids": [40, 41, 42],
    "chosen_ids": [50, 51, 52, 53],
    "rejected_ids": [60, 61, 62],
    "chosen_mask": [1, 0, 0, 1],
    "rejected_mask": [1, 0, 1],
}


def learned_from_pair(steps):
    """How much likelier what was chosen is than what was not before and after so many steps; and their losses."""
    policy = small_policy()
    model = attach_adapter(policy.model, SMALL.lora.model_copy(update={"dropout": 0.0}))
    torch.manual_seed(0)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=1.0)

    def likely(side):
        ids = torch.tensor([[*PAIR["prompt_ids"], *PAIR[f"{side}_ids"]]])
        with torch.no_grad():
            logs = model(ids).logits[0, :-1].log_softmax(-1)
        of_token = logs.gather(1, ids[0, 1:, None])[:, 0][len(PAIR["prompt_ids"]) - 1 :]
        return float((of_token * torch.tensor(PAIR[f"{side}_mask"])).sum())

    before = likely("chosen") - likely("rejected")
    done = Run(settings(steps=steps, batch_size=2, mini_batch_size=2, num_generations=2, lr_schedule="constant"), 0)
    preferences.train_on_pairs(policy, [PAIR], done, model)
    return before, likely("chosen") - likely("rejected"), [done.metrics.at(n)["loss"] for n in range(1, steps + 1)]


def test_the_loss_of_a_pair_goes_by_the_sum_over_its_turns_from_what_the_adapters_were():
    before, after, (first,) = learned_from_pair(1)
    assert first == pytest.approx(math.log(2), abs=1e-6) and after > before + 0.1
    *_, (_, second) = learned_from_pair(2)
    beta = settings().divergence_weight
    assert second == pytest.approx(math.log1p(math.exp(-beta * (after - before))), rel=1e-4)
