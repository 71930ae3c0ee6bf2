import math
from dataclasses import replace

import pytest
import torch

from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.alignment import epoch_steps
from apportion.rlhf.policy.contexts import make_contexts
from apportion.rlhf.trainers.supervised import IGNORED, supervised_examples, train_supervised
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.reward import NoReward
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.test_alignment import run
from tests.rlhf.toy import SMALL, chats, contexts, episode, no_history, small_policy

SFT = SMALL.model_copy(update={"algorithm": "sft", "batch_size": 4, "mini_batch_size": 4, "lr": 0.02})


def made(policy, lines, max_new_tokens=20):
    told = [episode("s", lines)]
    found = make_contexts(told, policy.tokenizer, no_history, context_turns=3, max_context_tokens=64)
    return found.contexts, supervised_examples(policy, found.contexts, told, max_new_tokens)


def test_only_the_targets_words_and_their_end_mark_are_learned():
    policy = small_policy()
    lines = [
        ("ann", "is it late"),
        ("bot", "no"),
        ("bot", "it is <|end|> not"),
        ("ann", "good"),
        ("bot", "yes of course"),
    ]
    found, examples = made(policy, lines)
    assert [context.turn for context in found] == [1, 4] and len(examples) == 2
    said = []
    for context, example in zip(found, examples, strict=True):
        start = len(context.prompt)
        assert example["input_ids"][:start] == list(context.prompt) and example["labels"][:start] == [IGNORED] * start
        assert example["labels"][start:] == example["input_ids"][start:]
        assert example["labels"][-1] in policy.eos_ids and policy.eos_ids[0] not in example["labels"][start:-1]
        said.append(policy.tokenizer.decode(example["labels"][start:-1]).strip())
    assert said == ["no it is < |end|> not", "yes of course"]


def test_a_long_turn_is_cut_without_an_end_mark_and_a_turn_without_words_gives_nothing():
    policy = small_policy()
    found, examples = made(
        policy, [("ann", "hi"), ("bot", "with pleasure on track four"), ("ann", "and"), ("bot", " ")], 3
    )
    assert len(found) == 2 and len(examples) == 1
    labels = [label for label in examples[0]["labels"] if label != IGNORED]
    assert len(labels) == 3 and labels[-1] not in policy.eos_ids


def test_a_template_without_end_marks_gets_one_and_what_follows_an_end_mark_is_left_out():
    policy = small_policy()
    for end in ("", "{{ eos_token }}\n"):
        policy.tokenizer.chat_template = (
            "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}" + end + "{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}"
        )
        _, (example,) = made(policy, [("ann", "hi"), ("bot", "no")])
        said = [label for label in example["labels"] if label != IGNORED]
        assert said[-1] == policy.eos_ids[0] and policy.tokenizer.decode(said[:-1]) == "no"


def test_a_template_that_rewrites_answered_prompts_is_refused():
    policy = small_policy()
    policy.tokenizer.chat_template = (
        "{% if not add_generation_prompt %}[closed]{% endif %}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    )
    with pytest.raises(InputError, match="writes a prompt differently once it is answered"):
        made(policy, [("ann", "hi"), ("bot", "no")])


def test_the_loss_is_of_the_targets_tokens_alone_and_falls():
    policy = small_policy()
    examples = supervised_examples(policy, contexts(policy), chats(4), SFT.max_new_tokens)
    settings = SFT.model_copy(update={"steps": 12, "batch_size": len(examples), "mini_batch_size": len(examples) // 2})
    settings = settings.model_copy(update={"lora": SFT.lora.model_copy(update={"dropout": 0.0})})
    with torch.no_grad():
        losses, entropies = [], []
        for example in examples:
            ids = torch.tensor([example["input_ids"]])
            logp = torch.log_softmax(policy.model(ids).logits[0, :-1], dim=-1)
            kept = [place for place, label in enumerate(example["labels"]) if label != IGNORED]
            losses += [-float(logp[place - 1, ids[0, place]]) for place in kept]
            entropies += [-float((logp[place - 1].exp() * logp[place - 1]).sum()) for place in kept]
    told = Run(settings, 0)
    train_supervised(TrainingData(policy, contexts(policy), NoReward(), None, chats(4)), told)
    first, last = told.metrics.at(1)["loss"], told.metrics.at(12)["loss"]
    # Two micro-batches a step: tokens weigh alike all the same.
    assert first == pytest.approx(math.fsum(losses) / len(losses), rel=1e-4)
    assert told.metrics.at(1)["entropy"] == pytest.approx(math.fsum(entropies) / len(entropies), rel=1e-2)
    assert last < 0.8 * first


def test_nothing_said_is_nothing_to_learn():
    policy = small_policy()
    silent = [episode("s", [("ann", "hi"), ("bot", " ")])]
    found = make_contexts(silent, policy.tokenizer, no_history, context_turns=3, max_context_tokens=64)
    with pytest.raises(UnitError, match=r"nothing for sft to learn. Add sessions"):
        train_supervised(TrainingData(policy, found.contexts, NoReward(), None, silent), Run(SFT, 0))


def test_a_run_learns_from_all_sessions_but_the_test_ones(tmp_path):
    history, samples = run(tmp_path, algorithm="sft", steps=2, lr=0.01)
    metrics = {row["metric"] for row in history.to_pylist() if row["metric"] != "warmup_loss"}
    assert metrics == {"loss", "entropy", "token_accuracy"} and len(samples) == 2
    card = (tmp_path / "README.md").read_text()
    assert "lora, sft, tiny" in card and "taught by example" in card and "| loss, nats a token |" in card
    assert "Contexts: 9 contexts" in card and "sessions outside the `test` split" in card
    with pytest.raises(UnitError, match=r"0 contexts.* outside the test sessions"):
        run(tmp_path / "b", algorithm="sft", max_context_tokens=4)


def test_epochs_are_as_many_steps_as_the_turns_with_words_fill():
    chats_of = chats(3)
    policy = small_policy()
    asked = contexts(policy, 3)
    sft = SMALL.model_copy(update={"algorithm": "sft", "epochs": 3, "batch_size": 4})
    # Nine turns, three passes of 27: seven batches of four.
    assert len(asked) == 9 and epoch_steps(sft, asked, chats_of).steps == 7
    silent = [
        replace(one, turns=tuple(replace(t, text=" ") if t.turn == 1 else t for t in one.turns)) for one in chats_of
    ]
    assert epoch_steps(sft, asked, silent).steps == 5
    assert epoch_steps(sft.model_copy(update={"epochs": None}), asked, chats_of) == sft.model_copy(
        update={"epochs": None}
    )
    ppo = SMALL.model_copy(update={"epochs": 3})
    assert epoch_steps(ppo, asked, chats_of) == ppo


def test_a_run_of_epochs_measures_and_tells_all_of_its_steps(tmp_path):
    history, _ = run(tmp_path, algorithm="sft", epochs=2, batch_size=4, mini_batch_size=4)
    steps = {row["step"] for row in history.to_pylist() if row["metric"] == "loss"}
    assert steps == set(range(1, max(steps) + 1)) and len(steps) > SMALL.steps
    assert f"last step ({max(steps)})" in (tmp_path / "README.md").read_text()
