"""What was said in reply, as the tokens that a policy would have written."""

from __future__ import annotations

from collections.abc import Sequence

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.policy.loading import Policy


def answer_tokens(policy: Policy, messages: Sequence[ContextTurn], reply: ContextTurn) -> tuple[int, ...]:
    """Token ids of ``reply`` after ``messages``, up to and with its end mark.

    Raises
    ------
    InputError
        A chat template that writes prompts differently once they are answered.
    """
    prompt = render(messages, policy.tokenizer, reply_follows=True)
    whole = render((*messages, reply), policy.tokenizer, reply_follows=False)
    if whole[: len(prompt)] != prompt:
        raise InputError(
            f"policy {policy.name!r}: its chat template writes a prompt differently once it is answered, so "
            "what was said cannot be learned from. Choose another model, or another algorithm."
        )
    tokens = whole[len(prompt) :]
    end = next((place for place, token in enumerate(tokens) if token in policy.eos_ids), None)
    # Templates go on behind the end mark (a line break, say), or have none.
    return (*tokens, policy.eos_ids[0]) if end is None else tokens[: end + 1]
