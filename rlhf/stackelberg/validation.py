"""What a Refiner's speeches are worth on turns that it has not learned from, after each epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean, pstdev
from typing import Any

from apportion.rlhf.policy.contexts import DialogueContext, render, speaker_messages
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.sampling.seeded_sampling import drawn_replies
from apportion.rlhf.stackelberg.dialogues import Stages, prompt_episodes, words_said
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.log_likelihood_gain import word_count
from apportion.rlhf.stackelberg.reward import StackelbergReward

AT_ONCE = 8
"""Replies that are sampled together."""


@dataclass(frozen=True)
class TestSet:
    """One epoch on held-out turns; ``epoch`` 0 is the Refiner before any learning.

    ``reward`` and ``deviation`` are the mean and the standard deviation over all replies, ``within`` the mean over
    turns of the deviation among a turn's own replies (0 where each has one); ``words`` the mean length;
    ``unrefined`` the mean reward of what was said in the corpus.
    """

    epoch: int
    turns: int
    reward: float
    deviation: float
    within: float
    words: float
    unrefined: float

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


def split(instances: Sequence[Instance], share: float, seed: int) -> tuple[list[Instance], list[Instance]]:
    """Turns to learn from, and turns held out: whole sessions, at least one of each where any share is wanted."""
    sessions = sorted({session_of(one) for one in instances})
    count = min(len(sessions) - 1, max(1, round(share * len(sessions)))) if share else 0
    held = set(Random(f"{seed}/held out").sample(sessions, count)) if count > 0 else set()
    return (
        [one for one in instances if session_of(one) not in held],
        [one for one in instances if session_of(one) in held],
    )


def session_of(instance: Instance) -> str:
    """The session that a turn is of, with its game."""
    return instance.name.rpartition("#")[0]


def speeches(
    policy: Policy,
    instances: Sequence[Instance],
    window: Window,
    stages: Stages,
    seed: Any,
    samples: int = 1,
) -> list[list[str]]:
    """What a Refiner says in each turn, so often; drawn by ``seed`` and the prompt alone.

    A turn whose prompt is longer than the window stands as it was said in the corpus.
    """
    episodes = prompt_episodes(instances, stages)
    contexts = []
    for episode in episodes:
        messages = speaker_messages(episode.turns, episode)
        contexts.append(
            DialogueContext(episode.session_id, 1, messages, render(messages, policy.tokenizer, reply_follows=True), "")
        )
    said: list[list[str]] = [[] for _ in instances]
    asked = [
        (place, sample)
        for place, context in enumerate(contexts)
        for sample in range(samples)
        if len(context.prompt) <= window.max_context_tokens
    ]
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        replies = drawn_replies(policy, policy.model, [contexts[place] for place, _ in part], window, [seed, part])
        for (place, _), reply in zip(part, replies, strict=True):
            said[place].append(words_said(reply, instances[place].said, stages))
    return [words or [one.said] * samples for words, one in zip(said, instances, strict=True)]


def measured(
    epoch: int, policy: Policy, instances: Sequence[Instance], window: Window, reward: StackelbergReward, samples: int
) -> TestSet:
    """One epoch's row; every epoch draws by the same numbers."""
    said = speeches(policy, instances, window, reward.settings.stages, "held out", samples)
    scores = [reward.of(reward.instances[one.name], words) for one, words in zip(instances, said, strict=True)]
    unrefined = [reward.of(reward.instances[one.name], [one.said])[0] for one in instances]
    every = [score for row in scores for score in row]
    return TestSet(
        epoch,
        len(instances),
        fmean(every),
        pstdev(every),
        fmean(map(pstdev, scores)),
        fmean(word_count(words) for row in said for words in row),
        math.fsum(unrefined) / len(unrefined),
    )
