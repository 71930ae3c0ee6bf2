"""The reward of a speech (Eq. 5): how far it moves its follower, by a frozen Measurer; as an alignment calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apportion.corpus.session import Episode
from apportion.decompose.influence.scorer import LogprobResult, LogprobScorer, Prompt, TooLongError, shift_of
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.llm_client.session import LLMSession
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy_settings import Placement
from apportion.rlhf.stackelberg.dialogues import utterance_of
from apportion.rlhf.stackelberg.instances.instance import Instance, read_instances, with_intents
from apportion.rlhf.stackelberg.questions import OPEN, speech_chat
from apportion.rlhf.stackelberg.settings import (
    FREE_WORDS,
    LONGEST_WORDS,
    PENALTY,
    Form,
    MeasurerSettings,
    RewardSettings,
    Side,
)

if TYPE_CHECKING:
    from apportion.foundation.settings import Settings
    from apportion.rlhf.training.job import Job


RELEASED_LIMIT = 50.0
"""Of the released reward, either way."""


def answer_logprobs(measurer: LogprobScorer, instance: Instance, candidates: Sequence[str]) -> LogprobResult:
    """log P_F of the instance's 2K answers after each of n ``candidates`` [shape=(n, 2K)] (Eq. 6).

    Each answer is what the follower says next in its own prompt, with its true role (Figure 9): the desired ones first.
    """
    prompts = [Prompt(speech_chat(instance.after(candidate)), begun=OPEN) for candidate in candidates]
    return measurer.measure(prompts, [*instance.desired, *instance.undesired])


def log_likelihood_gains(measured: LogprobResult, desired: int, form: Form = "printed", side: Side = "both") -> Floats:
    """R(u) [shape=(n,)] of what was measured, before any penalty.

    ``measured``: ``sums`` [shape=(n, 2K)], the first ``desired`` columns for desired answers. ``form``: ``printed``:
    nats, summed over an answer's tokens (Eq. 6); ``released``: nats a token, its sum held to +-50. ``side``: ``both``
    (Eq. 5), or the ablations of section 4.3: ``positive`` raises desired answers alone, ``negative`` lowers undesired
    ones alone.
    """
    kept = {"both": slice(None), "positive": slice(None, desired), "negative": slice(desired, None)}[side]
    part = LogprobResult(measured.sums[:, kept], measured.tokens[:, kept])
    shifts = shift_of(part, 0 if side == "negative" else desired, per_token=form == "released")
    return np.clip(shifts, -RELEASED_LIMIT, RELEASED_LIMIT) if form == "released" else shifts


def length_penalty(words: int, free: int = FREE_WORDS, longest: int = LONGEST_WORDS) -> float:
    """What the released code adds to the reward of a speech of so many words: from 0 to -10 between 100 and 200.

    >>> length_penalty(100), length_penalty(150), length_penalty(400)
    (0.0, -5.0, -10.0)
    """
    over = (words - free) / (longest - free)
    return -PENALTY * min(1.0, over) if over > 0 else 0.0


_TOO_LONG = "Take a measurer that reads more, or leave the turn out."


@dataclass(frozen=True)
class StackelbergReward:
    """Scores replies to the prompts of `apportion.rlhf.stackelberg.dialogues`.

    ``instances``: by name: the session of a context.
    """

    instances: Mapping[str, Instance]
    measurer: LogprobScorer
    settings: RewardSettings

    def history(self, episode: Episode, position: int) -> str:
        """Nothing: the instance says what was there before."""
        return ""

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """R(u) of every reply (B of them); equal words of one turn are measured once, and a turn's all at once."""
        names = [context.session_id for context in contexts]
        said = [self.words(name, reply) for name, reply in zip(names, replies, strict=True)]
        scores: dict[tuple[str, str], float] = {}
        for name in dict.fromkeys(names):
            candidates = list(dict.fromkeys(words for other, words in zip(names, said, strict=True) if other == name))
            for words, score in zip(candidates, self.of(self.instances[name], candidates), strict=True):
                scores[name, words] = score
        return [scores[name, words] for name, words in zip(names, said, strict=True)]

    def words(self, name: str, reply: str) -> str:
        """What is said in the turn ``name`` by a policy's reply."""
        return utterance_of(reply, self.instances[name].said, self.settings.stages)

    def of(self, instance: Instance, candidates: Sequence[str]) -> list[float]:
        """R(u) of n ``candidates`` to one turn; raises as `__call__`."""
        impact = self.settings.impact
        try:
            measured = answer_logprobs(self.measurer, instance, candidates)
        except TooLongError as error:
            raise TooLongError(
                f"turn {instance.name!r}: {error}. Raise measurer.context_tokens, take a measurer that reads more, or "
                "leave the turn out.",
                error.prompt,
                error.reply,
            ) from None
        rewards = log_likelihood_gains(measured, len(instance.desired), impact.form, impact.side).tolist()
        if impact.penalised:
            pairs = zip(rewards, candidates, strict=True)
            free, longest = impact.free_words, impact.longest_words
            return [reward + length_penalty(len(words.split()), free, longest) for reward, words in pairs]
        return list(rewards)


def counted(instance: Instance, k: int) -> Instance:
    """The turn with its first K answers of each kind alone."""
    if len(instance.desired) < k or len(instance.undesired) < k:
        raise InputError(
            f"turn {instance.name!r} has {len(instance.desired)} desired and {len(instance.undesired)} undesired "
            f"answers, and k = {k}. Lower k, or let the model name {k} of each: `train refiner-data` with that many."
        )
    return replace(instance, desired=instance.desired[:k], undesired=instance.undesired[:k])


def refiner_reward(
    instances: Sequence[Instance], measurer: LogprobScorer, settings: RewardSettings
) -> StackelbergReward:
    """The reward of ``instances``, which all have intents; raises InputError as `counted`."""
    return StackelbergReward({one.name: counted(one, settings.k) for one in instances}, measurer, settings)


def load_scorer(settings: MeasurerSettings, cache: Path | str | None = None) -> LogprobScorer:
    """The Measurer: loaded, or asked at its server, whose answers are kept in ``cache``."""
    if settings.server is None:
        from apportion.decompose.influence.local_scorer import load_measurer

        placement = Placement(device=settings.device, dtype=settings.dtype)
        return load_measurer(settings.model, **dict(placement), context_tokens=settings.context_tokens)
    from apportion.decompose.influence.served_scorer import ServedMeasurer, ServerPromptFormat

    called = "measurer.server"
    asker = LLMSession(settings.server, cache=cache, budget_usd=settings.budget_usd, called=called, too_long=_TOO_LONG)
    asker.check()
    return ServedMeasurer(
        asker.complete, ServerPromptFormat(settings.server, settings.endpoint, subject="a follower's answer")
    )


def of_job(job: Job, settings: Settings | None) -> StackelbergReward:
    """The reward of an alignment, by its settings. Raises InputError: the turns or the measurer cannot be read."""
    assert isinstance(settings, RewardSettings)
    instances = with_intents(read_instances(settings.instances), str(settings.instances))
    return refiner_reward(instances, load_scorer(settings.measurer, job.asking.cache), settings)
