import math

import pytest
from pydantic import ValidationError

from apportion.rlhf.policy_settings import LoraSettings, Placement, Window
from apportion.rlhf.ppo.objective import KLControl
from apportion.rlhf.settings import PAPER, AlarmSettings, AlignSettings


def test_the_papers_settings():
    assert (PAPER.batch_size, PAPER.clip, PAPER.learning_rate) == (24, 0.2, 1.4e-5)
    assert (PAPER.lora.r, PAPER.lora.alpha, PAPER.lora.dropout) == (24, 48, 0.05)
    assert PAPER.lora.targets == ("q_proj", "v_proj") and PAPER.score_norm
    # Roughly 100,000 pairs (section 5.1), each answered once.
    assert 100_000 <= PAPER.steps * PAPER.batch_size < 100_000 + PAPER.batch_size


def test_the_two_readings_of_gamma_differ_in_the_discount_and_the_weight_of_the_divergence_alone():
    other = AlignSettings(preset="paper-kl")
    assert (PAPER.gamma, PAPER.divergence_weight) == (0.05, 0.2)
    assert (other.gamma, other.divergence_weight) == (1.0, 0.05)
    same = {"preset", "gamma", "beta"}
    assert PAPER.model_dump(exclude=same) == other.model_dump(exclude=same)
    assert PAPER.kl_controller == other.kl_controller == "adaptive"


def test_savoir_s_settings_are_two_stages():
    grpo, sft = AlignSettings(preset="savoir"), AlignSettings(preset="savoir-sft")
    assert (grpo.algorithm, grpo.lr, grpo.warmup, grpo.beta, grpo.temperature) == (
        "grpo",
        5e-7,
        500,
        0.05,
        0.7,
    )
    # 64 episodes an iteration, 8 an update, 2,000 updates.
    assert (grpo.batch_size, grpo.mini_batch_size) == (64, 8) and grpo.steps * grpo.ppo_epochs * 64 // 8 == 2000
    assert (sft.algorithm, sft.epochs, sft.lr, sft.batch_size, sft.lr_schedule) == ("sft", 3, 2e-5, 32, "cosine")
    assert sft.window.tokens == grpo.window.tokens == 2048
    assert (
        not grpo.unread and not sft.unread and grpo.scale_rewards and not AlignSettings(algorithm="grpo").scale_rewards
    )
    stand_in = AlignSettings(preset="savoir", policy="tiny")
    assert (stand_in.lr, stand_in.warmup, stand_in.batch_size) == (None, None, 64)


def test_what_was_not_asked_for_leaves_keys_as_they_were_and_what_was_enters_them():
    assert AlignSettings().chosen == AlignSettings(algorithm="grpo", scale_rewards=True).chosen == {}
    assert AlignSettings(algorithm="grpo").chosen == {"scale_rewards": False}
    assert AlignSettings(algorithm="sft", epochs=2, warmup=3).chosen == {"epochs": 2, "warmup": 3}
    assert AlignSettings(algorithm="dpo", preference_margin=0.5).chosen == {"preference_margin": 0.5}
    assert AlignSettings(refresh_fit=5).chosen == {"refresh_fit": 5}
    assert AlignSettings(algorithm="kto", refresh_fit=5).unread == ("refresh_fit",)
    assert AlignSettings(epochs=2).unread == ("epochs",)
    several = {"reward_ensemble": ("a", "b"), "penalties": {"length": 0.5}}
    assert AlignSettings(**several, reward_join="min").chosen == {
        "reward_ensemble": ["min", "a", "b"],
        "penalties": {"sameness": 0.0, "length": 0.5, "missing_end": 0.0},
    }
    assert AlignSettings(**several, sd_penalty=1).joined == "lower bound of a and b, every seed"
    taught = AlignSettings(algorithm="sft", **several)
    assert taught.chosen == {} and taught.unread == ("penalties", "reward_ensemble")


def test_the_learning_rate_suits_the_policy_unless_it_is_set():
    assert AlignSettings(policy="some/model").learning_rate == 1.4e-5
    assert AlignSettings().learning_rate > 1e-3
    assert AlignSettings(lr=0.5).learning_rate == 0.5


def test_the_divergence_s_weight_suits_the_policy_unless_it_is_set():
    assert AlignSettings(policy="some/model").divergence_weight == 0.05
    assert AlignSettings().divergence_weight == 0.3
    assert AlignSettings(beta=0).divergence_weight == 0
    assert KLControl(AlignSettings()).coefficient == 0.3


def test_a_length_alarm_that_would_ring_at_once_is_refused():
    with pytest.raises(ValidationError, match="give a factor above 1, or 0"):
        AlarmSettings(length_factor=0.5)
    assert AlarmSettings(length_factor=0).length_factor == 0


def test_the_preset_is_the_paper_and_explicit_keys_go_before_it():
    assert AlignSettings(preset="paper") == PAPER
    changed = AlignSettings.model_validate(
        {"preset": "paper", "policy": "tiny", "batch_size": 12, "mini_batch_size": 12, "lora": {"r": 8}}
    )
    assert (changed.policy, changed.batch_size, changed.lora.r) == ("tiny", 12, 8)
    assert (changed.clip, changed.lora.alpha, changed.temperature) == (0.2, 48, 1.0)
    assert AlignSettings(preset="paper", lora=LoraSettings(r=2)).lora == LoraSettings(r=2)
    with pytest.raises(ValidationError, match="Input should be 'paper', 'paper-kl', 'savoir' or 'savoir-sft'"):
        AlignSettings.model_validate({"preset": "papers"})
    # Written out and read again, as for another algorithm, it is the same.
    again = AlignSettings.model_validate(
        {**changed.model_dump(exclude_unset=True), "algorithm": "grpo", "num_generations": 4}
    )
    assert again == changed.model_copy(update={"algorithm": "grpo", "num_generations": 4})


def test_a_stand_in_for_llama_takes_its_own_learning_rate_unless_one_is_given():
    tiny = AlignSettings(preset="paper", policy="tiny")
    assert (tiny.lr, tiny.learning_rate, tiny.batch_size) == (None, AlignSettings().learning_rate, 24)
    assert AlignSettings(preset="paper", policy="tiny", lr=1.4e-5).learning_rate == 1.4e-5
    assert [name for name, _, _ in tiny.departures()] == ["policy"]


def test_what_a_preset_brings_and_the_algorithm_does_not_read_is_not_told_but_what_is_given_is():
    assert AlignSettings(preset="paper", algorithm="sft").unread == ()
    given = AlignSettings(preset="paper", algorithm="grpo", gamma=0.9, num_generations=4, lora={"dropout": 0.1})
    assert given.unread == ("gamma", "lora.dropout")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"batch_size": 4, "mini_batch_size": 8}, "mini_batch_size 8 is larger than batch_size 4"),
        ({"mini_batch_size": 8, "micro_batch_size": 9}, "micro_batch_size 9 is larger than mini_batch_size 8"),
        ({"batch_size": 8, "mini_batch_size": 8, "processes": 9}, "processes 9 is more than batch_size 8"),
        (
            {"algorithm": "grpo", "num_generations": 7},
            "batch_size 24 holds no whole number of groups of 7; change num_generations",
        ),
        (
            {"algorithm": "raft", "micro_batch_size": 4},
            "raft: a forward pass of 4 replies holds no whole number of groups of 8; change micro_batch_size",
        ),
        ({"algorithm": "rloo", "mini_batch_size": 9}, "rloo: batch_size 24 is no multiple of mini_batch_size 9"),
        ({"refresh_fit": 5, "processes": 2}, "refresh_fit = 5 does not go with processes = 2; take one of them out"),
        ({"refresh_fit": 5, "reward_ensemble": ["a"]}, "refresh_fit = 5 does not go with reward_ensemble; take one"),
        (
            {"algorithm": "grpo", "mini_batch_size": 12, "micro_batch_size": 5},
            "grpo: mini_batch_size 12 is no multiple of micro_batch_size 5",
        ),
        (
            {"algorithm": "dpo", "processes": 2},
            "dpo: batch_size 24 / num_generations 8 is no multiple of processes 2; change one",
        ),
        ({"algorithm": "kto", "micro_batch_size": 1}, "kto: a forward pass of 1 turn .*; raise micro_batch_size"),
        ({"algorithm": "kto", "mini_batch_size": 1}, "kto: a forward pass of 1 turn .*; raise mini_batch_size"),
        ({"algorithm": "grpo", "processes": 5}, "grpo: mini_batch_size 24 is no multiple of processes 5; change one"),
        (
            {"algorithm": "sft", "processes": 4, "batch_size": 12, "mini_batch_size": 12, "micro_batch_size": 2},
            "sft: each process' part of batch_size, 3 is no multiple of micro_batch_size 2; change one",
        ),
        ({"algorithm": "rloo", "max_turns": 2}, "rloo answers one turn, max_turns is 2; take ppo or grpo"),
        ({"algorithm": "sft", "max_turns": 2}, "sft answers one turn"),
        ({"algorithm": "grpo", "lora": {"targets": ["lm_head"]}}, "grpo: TRL trains no adapter on lm_head"),
        (
            {"algorithm": "dpo", "generation": "vllm"},
            "generation = 'vllm' is for ppo, grpo, rloo and raft, not for dpo",
        ),
        ({"algorithm": "grpo", "generation": "vllm"}, "needs device = 'cuda' and a named policy, not tiny"),
        (
            {"algorithm": "grpo", "generation": "vllm", "device": "cuda", "policy": "a/b", "max_turns": 2},
            "samples single turns; max_turns is 2",
        ),
    ],
)
def test_settings_that_do_not_suit_the_algorithm_are_refused(values, told):
    with pytest.raises(ValidationError, match=told):
        AlignSettings.model_validate(values)


@pytest.mark.parametrize(
    "values",
    [{"lr": math.inf}, {"temperature": 1e-40}, {"value_clip": math.inf}, {"tiny": {"warmup_lr": math.inf}}],
    ids=str,
)
def test_numbers_with_which_no_step_can_be_computed_are_refused(values):
    with pytest.raises(ValidationError, match=r"should be a finite number|greater than or equal to 0.001"):
        AlignSettings.model_validate(values)


def test_what_several_processes_share_need_not_hold_whole_groups():
    shared = {"algorithm": "grpo", "batch_size": 12, "mini_batch_size": 6, "num_generations": 4, "processes": 3}
    assert AlignSettings.model_validate(shared).at_once == 2
    assert AlignSettings.model_validate({**shared, "micro_batch_size": 1}).at_once == 1
    # A learned turn more than the minibatch holds: sft reads one at a time.
    assert AlignSettings(algorithm="sft", batch_size=12, mini_batch_size=2, processes=3).at_once == 1
    assert AlignSettings(processes=2, accelerate="fsdp").at_once == 12


def test_what_the_algorithm_does_not_read_is_told():
    assert AlignSettings(algorithm="sft", clip=0.1, value_lr=1.0, lr=0.1).unread == ("clip", "value_lr")
    assert AlignSettings(clip=0.1, value_lr=1.0).unread == ()


def test_window_and_placement_are_those_of_the_settings():
    assert (AlignSettings().window, AlignSettings().placement) == (Window(), Placement())
    settings = AlignSettings(max_context_tokens=100, temperature=1.5, device="cuda")
    assert settings.window == Window(max_context_tokens=100, temperature=1.5) and settings.window.tokens == 132
    assert settings.placement == Placement(device="cuda")
    with pytest.raises(ValueError, match="context_turns"):
        Window(context_turns=0)


@pytest.mark.parametrize(
    ("given", "card", "placed"),
    [
        ({"policy": "a/b"}, False, ("cpu", "float32")),
        ({"policy": "a/b"}, True, ("cuda", "bfloat16")),
        ({"policy": "a/b", "device": "cpu"}, True, ("cpu", "float32")),
        ({"policy": "a/b", "dtype": "float32"}, True, ("cuda", "float32")),
        ({"policy": "a/b", "device": "cuda"}, False, ("cuda", "float32")),
        ({}, True, ("cpu", "float32")),
        ({"device": "cuda"}, True, ("cuda", "float32")),
    ],
)
def test_auto_is_what_is_here_before_a_key_is_made(monkeypatch, given, card, placed):
    monkeypatch.setattr("apportion.rlhf.policy_settings.has_card", lambda: card)
    monkeypatch.setattr("apportion.rlhf.policy_settings._has_bfloat16", lambda: card)
    settings = AlignSettings(**given)
    device, dtype = placed
    named = AlignSettings(**{**given, "device": device, "dtype": dtype})
    assert (settings.placement, settings.placed) == (named.placement, named)
    assert settings.in_key() == named.in_key() and settings.shown() == named.shown()
    assert (settings.placed.device, settings.in_key()["dtype"]) == placed


def test_a_card_is_looked_for_in_torch_only_where_a_driver_has_one(monkeypatch):
    from apportion.rlhf.policy_settings import has_card

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    for files, seen in (((), False), (("nvidia0",), True)):
        monkeypatch.setattr("pathlib.Path.glob", lambda self, name, files=files: iter(files))
        assert has_card() is seen


@pytest.mark.parametrize("beside", [{"processes": 2}, {"algorithm": "grpo", "environment": "sotopia"}])
def test_gold_is_asked_by_one_process_of_a_corpus_and_by_nobody_else(beside):
    assert not AlignSettings.model_validate(beside).asks_gold
    with pytest.raises(ValueError, match="stop = 'gold' does not go with "):
        AlignSettings.model_validate({**beside, "stop": "gold"})
    assert AlignSettings().asks_gold and not AlignSettings(algorithm="sft").asks_gold
