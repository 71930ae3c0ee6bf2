"""Instances as the dialogues that an alignment answers: the Refiner's prompt, or that of who speaks itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from apportion.corpus.session import Episode, Session, Turn
from apportion.corpus.targets import unrated_episode
from apportion.rlhf.policy.contexts import DialogueContext, render, speaker_messages
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.prompts import ASSISTANT, USER
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import (
    CLOSE,
    OPEN,
    Chat,
    refine_chat,
    refined_words,
    speech_chat,
    spoken_words,
)

Stages = Literal["two", "one"]
"""``two``: a Refiner rewrites u_base (Eq. 3); ``one``: the policy itself speaks (appendix D.1)."""


def prompt_episode(name: str, chat: Chat, reply: str = "") -> Episode:
    """A dialogue of one prompt that ``ASSISTANT`` answers, with ``reply`` or not yet."""
    told = "\n\n".join(message.content for message in chat)
    turns = (Turn(0, USER, told), Turn(1, ASSISTANT, reply))
    return unrated_episode(Session(name, turns), ASSISTANT)


def prompt_context(policy: Policy, name: str, chat: Chat) -> DialogueContext:
    """The same as a policy reads it."""
    episode = prompt_episode(name, chat)
    messages = speaker_messages(episode.turns, episode)
    return DialogueContext(name, 1, messages, render(messages, policy.tokenizer, reply_follows=True), "")


def policy_prompt(leader_sees: str, base: str, stages: Stages) -> Chat:
    """What the policy reads before it speaks in the leader's place: nothing that the leader does not know."""
    return refine_chat(leader_sees, base) if stages == "two" else speech_chat(leader_sees)


def prompt_episodes(instances: Sequence[Instance], stages: Stages) -> tuple[Episode, ...]:
    """What is answered: one dialogue a turn, called as the turn is."""
    return tuple(prompt_episode(one.name, policy_prompt(one.leader_sees, one.said, stages)) for one in instances)


def warmup_episodes(instances: Sequence[Instance], stages: Stages) -> tuple[Episode, ...]:
    """The same with what the leader said as the answer: what the policy ``tiny`` first learns to say."""
    return tuple(
        prompt_episode(one.name, policy_prompt(one.leader_sees, one.said, stages), _answer(one.said, stages))
        for one in instances
    )


def utterance_of(reply: str, base: str, stages: Stages) -> str:
    """u_t: the words of a policy's reply (`apportion.rlhf.stackelberg.questions`)."""
    return refined_words(reply, base) if stages == "two" else spoken_words(reply)


def _answer(said: str, stages: Stages) -> str:
    return f"Response: {said}" if stages == "two" else f"{OPEN}{said}{CLOSE}"
