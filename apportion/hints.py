"""The options that help where a package below can only say what is wrong: it does not know who has called it."""

from __future__ import annotations

from foundation.errors import ApportionError
from llm_client.errors import ConsentError, InBatchError

HINTS: dict[type[ApportionError], str] = {
    ConsentError: "--preview 3 shows what would be sent; --send-to HOST agrees to it.",
    InBatchError: "the same command with --batch collects the batch; --forget-batch ID gives it up.",
}


def hint_for(error: ApportionError) -> str:
    """A line with the options that help, with its line break before it; nothing where none does."""
    return next((f"\nhint: {text}" for kind, text in HINTS.items() if isinstance(error, kind)), "")
