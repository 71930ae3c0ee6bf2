"""What of an alignment can be known to fail before its first step, looked at before anything else is done or paid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apportion.corpus.session import Episode
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import of_targets
from apportion.rlhf.policy.loading import (
    Policy,
    cannot_load,
    check_device,
    check_embeddings,
    check_whole,
    check_window,
    load_tokenizer,
    place_of,
    read_config,
)
from apportion.rlhf.settings import AlignSettings

TINY_LAYERS = ("down_proj", "gate_proj", "k_proj", "lm_head", "o_proj", "q_proj", "up_proj", "v_proj")
"""The linear layers of the LLaMA that `tiny` is."""


def check_alignment(settings: AlignSettings, episodes: Sequence[Episode] | None = None) -> Policy | None:
    """Raise InputError where an alignment with ``settings`` cannot be carried out on this machine.

    A named policy's configuration and tokenizer are read, and the model is built without its weights (on torch's meta
    device). ``episodes`` are those of the whole corpus; None where they are not known. Returns: The named policy,
    without weights; None for `tiny`.

    Raises InputError: a device or number format that is not there; processes that cannot be started; targets whom
    nobody rates, or none where no session has a score; of a policy: unknown name, gated, no network, no safetensors in
    its folder, not a causal language model, no tokenizer or one with more tokens than the model has embeddings, no chat
    template or one that does not suit, no end mark, a window longer than the model reads, or no layer of the names in
    ``settings.lora.targets``.
    """
    check_device(settings.placement)
    if settings.processes > 1:
        from apportion.rlhf.launch.launcher import check_launch

        check_launch(settings)
    if episodes is not None:
        _check_targets(settings, episodes)
    if settings.policy == "tiny":
        from apportion.rlhf.policy.lora import check_layers

        check_layers(TINY_LAYERS, settings.lora)
        return None
    return _check_policy(settings)


def step_told(policy: Policy, settings: AlignSettings) -> str:
    """What a step takes on this machine (`apportion.rlhf.step_time`), in a line; ``policy`` is used up.

    Raises InputError: ``device`` is auto, there is no card, and on the CPU the training would not end.
    """
    from apportion.rlhf.step_time import step_time

    try:
        taken = step_time(policy, settings)
    except Exception as error:  # A model of a kind that is not cut short like this can be trained all the same.
        return f"align: how long a step takes here cannot be said ({type(error).__name__}: {str(error)[:200]})"
    taken.check()
    return f"align: {taken}"


def _check_targets(settings: AlignSettings, episodes: Sequence[Episode]) -> None:
    if not episodes and not settings.targets:
        raise InputError(
            "targets: no session has a score, so nothing says in whose place the policy answers. Set targets to "
            '["second"] for who speaks second in each session, to ["first"], or to names.'
        )
    of_targets(episodes, settings.targets)


def _check_policy(settings: AlignSettings) -> Policy:
    from apportion.rlhf.policy.lora import adaptable_layers, check_layers

    name = settings.policy
    check_whole(name)
    config = read_config(name)
    check_window(name, config, settings.window)
    folder = Path(place_of(name))
    if folder.is_dir() and not any(folder.glob("*.safetensors")):
        raise InputError(cannot_load(name, ValueError("no safetensors")))
    tokenizer = load_tokenizer(name)
    model = _without_weights(name, config)
    check_embeddings(name, model, tokenizer)
    check_layers(adaptable_layers(model), settings.lora)
    policy = Policy.of(name, model, tokenizer)
    _check_turns(policy, settings)
    return policy


def _without_weights(name: str, config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]
    except Exception as error:  # Models fail in many ways to be built.
        raise InputError(cannot_load(name, error)) from error
    try:
        # Which tokens end a turn is often said there alone.
        model.generation_config = GenerationConfig.from_pretrained(place_of(name))
    except (OSError, ValueError):
        return model  # No such file: the configuration says it.
    return model


def _check_turns(policy: Policy, settings: AlignSettings) -> None:
    """What only some algorithms ask of a chat template."""
    from apportion.rlhf.policy.contexts import ContextTurn, answer_tokens
    from apportion.rlhf.sampling.multi_turn import partner_turn_tokens

    if settings.response_turns > 1:
        partner_turn_tokens(policy, "c")
    if settings.trainer.from_record:
        answer_tokens(policy, (ContextTurn("user", "a"),), ContextTurn("assistant", "b"))
