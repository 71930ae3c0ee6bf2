"""Whether a chat template can write a dialogue of two sides."""

from __future__ import annotations

from typing import Any

from corpus.errors import InputError

PROBE = (("user", "apple"), ("assistant", "birch"), ("user", "cedar"))


def check_roles(name: str, tokenizer: Any) -> None:
    """Raise InputError where the template of the policy ``name`` refuses or drops what one side says."""
    chat = [{"role": role, "content": word} for role, word in PROBE]
    try:
        text = str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # A template is a program: it stops with whatever its author raises.
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"align.policy = {name!r}: its chat template refuses a dialogue of user and assistant ({said}). Choose the "
            "model's chat or instruct variant, or correct its chat_template."
        ) from error
    lost = dict.fromkeys(role for role, word in PROBE if word not in text)
    if lost:
        raise InputError(
            f"align.policy = {name!r}: its chat template leaves out what the {' and the '.join(lost)} says, so a "
            "dialogue cannot be put to it. Choose the model's chat or instruct variant, or correct its chat_template."
        )
