"""What a backend would say itself (Eq. 2, Figure 7): u_base asked for, where a corpus' own words are a script's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.instances.intents import ATTEMPTS
from apportion.rlhf.stackelberg.questions import CLOSE, OPEN, speech_chat, spoken_words

TOKENS_A_SPEECH = 130
"""About what 100 words take."""
MOST_WORDS = 100
"""Figure 7."""
_AGAIN = f"Answer again, with at most {MOST_WORDS} words between {OPEN} and {CLOSE}."


@dataclass(frozen=True)
class BaseQuestions:
    """How one model is asked for what it would say."""

    settings: LLMSettings
    tokens_a_request: int = TOKENS_A_SPEECH

    def requests(self, instance: Instance) -> list[ChatRequest]:
        """What is asked about one turn: one request; raises InputError where the prompt cannot be used."""
        subject = f"base utterance of {instance.leader!r}, turn {instance.name}"
        return [ChatRequest(**self.settings.asking, messages=speech_chat(instance.leader_sees), subject=subject)]

    def ask(self, instance: Instance, complete: Complete) -> Instance:
        """The turn with the model's words in place of what was said; raises as `ask_until_usable`.

        What was answered was said to other words, and is left out.
        """
        (request,) = self.requests(instance)
        said = ask_until_usable(complete, request, read_speech, ATTEMPTS, _AGAIN)
        model = self.settings.model
        return replace(instance, said=said, answered="", backends=(model, instance.backends[1]))


def read_speech(reply: ChatReply) -> str:
    """The words of a reply, on one line.

    Raises
    ------
    ReplyMistakeError
        There are none, they are too many, or the reply was cut off or declined.
    """
    check_finished(reply, "say less")
    words = spoken_words(reply.text)
    if not words:
        raise ReplyMistakeError("the reply says nothing")
    count = len(words.split())
    if count > MOST_WORDS:
        raise ReplyMistakeError(f"the reply has {count} words; at most {MOST_WORDS} are said")
    return words
