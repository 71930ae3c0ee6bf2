"""The prompts of the paper's Figures 6 to 9, and what of a reply is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import answer_of
from apportion.llm_client.request import ChatMessage

PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.stackelberg_prompts",
    setting="stackelberg",
    header=("title",),
    blanks=frozenset({"situation", "leader", "follower", "count", "base"}),
    needed=("situation",),
    form="A prompt is a header (title), then [system] and [user]; see docs/explanations/stackelberg.md",
)
INTENTS, INTENT, SPEECH, REFINE = "intents", "intent", "speech", "refine"
OPEN, CLOSE = "<response>", "</response>"
"""Around what a speaker says (Figures 7 and 9)."""
_REFINED = "Response:"
"""What stands before refined words (Figure 8)."""

Chat = tuple[ChatMessage, ChatMessage]


def asked(prompt: str, blanks: Mapping[str, str]) -> Chat:
    """A prompt with its blanks filled in; raises InputError where it cannot be used."""
    return PROMPTS.messages(prompt, {**dict.fromkeys(PROMPTS.blanks, ""), **blanks})


def speech_chat(situation: str) -> Chat:
    """Figure 7, by which somebody is asked for its words; Figure 9 is the same with the follower's situation."""
    return asked(SPEECH, {"situation": situation})


def refine_chat(situation: str, base: str) -> Chat:
    """Figure 8: what the Refiner reads; ``situation`` is the leader's, ``base`` what it is about to say."""
    return asked(REFINE, {"situation": situation, "base": data_json(base)})


def refined_words(reply: str, base: str) -> str:
    """The words of a Refiner's reply, on one line: what stands behind its last ``Response:``, else all of it.

    A reply without any words says what was to be said, ``base``.

    >>> refined_words("Analysis: they doubt me.\\nResponse: Trust me, Bob.", "Trust me.")
    'Trust me, Bob.'
    """
    words = answer_of(reply).rpartition(_REFINED)[2].replace(OPEN, " ").replace(CLOSE, " ")
    return " ".join(words.split()) or base


def spoken_words(reply: str) -> str:
    """The words of a reply to `speech_chat`, on one line: what stands between the tags, else all of it.

    >>> spoken_words("<response>I am no wolf.</response>")
    'I am no wolf.'
    """
    answer = answer_of(reply)
    inside = answer.partition(OPEN)[2] if OPEN in answer else answer
    return " ".join(inside.partition(CLOSE)[0].split())
