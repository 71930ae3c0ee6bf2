"""What a model that reasons writes before its answer, and servers leave in its reply: no part of the answer."""

from __future__ import annotations

import re

_BEGINS_WITH_JSON = ("{", "[", "```")
_MOST_PIECES = 8
_OPENED = re.compile(r"<(think|thinking)>")
_CLOSED = re.compile(r"</(?:think|thinking)>")
_FINAL = re.compile(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
"""Where the answer begins in gpt-oss's own form (harmony)."""
_HARMONY_ENDS = ("<|return|>", "<|end|>", "<|call|>")
_BARE_HARMONY = re.compile(r"\Aanalysis.*?assistantfinal(?=\s*[\[{`])", re.DOTALL)
"""The same where the server has left out the special tokens and not what stood between them."""


def answer_of(text: str) -> str:
    """``text`` without byte order mark and without the reasoning at its head; empty where there is nothing else.

    What begins as JSON is taken as it stands, whatever it quotes. Reasoning ends at the first mark that ends it, so
    what follows has to be the answer and nothing but it; a chat template may have opened it in the question, and then
    only its end is in the reply.

    >>> answer_of("<think>Is it 3? Yes.</think> 3")
    '3'
    >>> answer_of("<|channel|>analysis<|message|>3?<|end|><|start|>assistant<|channel|>final<|message|>3<|return|>")
    '3'
    """
    text = text.strip().removeprefix("\ufeff").strip()
    for _ in range(_MOST_PIECES):
        rest = None if text.startswith(_BEGINS_WITH_JSON) else _after_reasoning(text)
        if rest is None:
            break
        text = rest.strip()
    return text


def _after_reasoning(text: str) -> str | None:
    """What follows the first piece of reasoning; None where there is none."""
    if text.startswith("<|"):
        final = _FINAL.search(text)
        if final is not None:
            rest = text[final.end() :].rstrip()
            return next((rest.removesuffix(end) for end in _HARMONY_ENDS if rest.endswith(end)), rest)
        return "" if text.startswith("<|channel|>analysis") else None
    opened, closed = _OPENED.match(text), _CLOSED.search(text)
    if closed is not None:
        return text[closed.end() :]
    if opened is not None:
        # Never closed: an answer only where nothing stands before it.
        rest = text[opened.end() :].lstrip()
        return rest if rest.startswith(_BEGINS_WITH_JSON) else ""
    bare = _BARE_HARMONY.match(text)
    return None if bare is None else text[bare.end() :]
