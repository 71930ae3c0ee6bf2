"""The reward of an alignment that trains a Refiner: Eq. 5 of each candidate, by a frozen Measurer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.corpus.session import Episode
from apportion.decompose.influence.scorer import LogprobScorer, TooLongError
from apportion.foundation.errors import InputError
from apportion.llm_client.session import LLMSession
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.stackelberg.dialogues import words_said
from apportion.rlhf.stackelberg.instances.instance import Instance, read_instances, with_intents
from apportion.rlhf.stackelberg.log_likelihood_gain import impacts, length_penalty, measured_after, word_count
from apportion.rlhf.stackelberg.settings import MeasurerSettings, RewardSettings

if TYPE_CHECKING:
    from apportion.foundation.settings import Settings
    from apportion.rlhf.training.job import Job


_TOO_LONG = "Take a measurer that reads more, or leave the turn out."


@dataclass(frozen=True)
class StackelbergReward:
    """Scores replies to the prompts of `apportion.rlhf.stackelberg.dialogues`.

    Parameters
    ----------
    instances : mapping of str to Instance
        By name: the session of a context.
    measurer : Measurer
        Stands for every follower; frozen.
    settings : RewardSettings
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
        """R(u) of every reply (B of them); equal words of one turn are measured once, and a turn's all at once.

        Raises
        ------
        InputError, UnitError
            The measurer cannot answer, or what the follower reads is too long for it.
        """
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
        return words_said(reply, self.instances[name].said, self.settings.stages)

    def of(self, instance: Instance, candidates: Sequence[str]) -> list[float]:
        """R(u) of n ``candidates`` to one turn; raises as `__call__`."""
        impact = self.settings.impact
        try:
            measured = measured_after(self.measurer, instance, candidates)
        except TooLongError as error:
            raise TooLongError(
                f"turn {instance.name!r}: {error}. Raise measurer.context_tokens, take a measurer that reads more, or "
                "leave the turn out.",
                error.prompt,
                error.reply,
            ) from None
        rewards = impacts(measured, len(instance.desired), impact.form, impact.side).tolist()
        if impact.penalised:
            pairs = zip(rewards, candidates, strict=True)
            free, longest = impact.free_words, impact.longest_words
            return [reward + length_penalty(word_count(words), free, longest) for reward, words in pairs]
        return list(rewards)


def counted(instance: Instance, k: int) -> Instance:
    """The turn with its first K answers of each kind alone.

    Raises
    ------
    InputError
        It has fewer.
    """
    if len(instance.desired) < k or len(instance.undesired) < k:
        raise InputError(
            f"turn {instance.name!r} has {len(instance.desired)} desired and {len(instance.undesired)} undesired "
            f"answers, and k = {k}. Lower k, or let the model name {k} of each: `train refiner-data` with that many."
        )
    return replace(instance, desired=instance.desired[:k], undesired=instance.undesired[:k])


def reward_with(instances: Sequence[Instance], measurer: LogprobScorer, settings: RewardSettings) -> StackelbergReward:
    """The reward of ``instances``, which all have intents; raises InputError as `counted`."""
    return StackelbergReward({one.name: counted(one, settings.k) for one in instances}, measurer, settings)


def measurer_of(settings: MeasurerSettings, cache: Path | None = None) -> LogprobScorer:
    """The Measurer: loaded, or asked at its server, whose answers are kept in ``cache``.

    Raises
    ------
    InputError
        There is none of that name, or the server cannot be asked: no key, no consent, a file that cannot be read.
    """
    if settings.server is None:
        from apportion.decompose.influence.local_scorer import load_measurer

        return load_measurer(
            settings.model, device=settings.device, dtype=settings.dtype, context_tokens=settings.context_tokens
        )
    from apportion.decompose.influence.served_scorer import ServedMeasurer, ServerPromptFormat

    called = "measurer.server"
    asker = LLMSession(settings.server, cache=cache, budget_usd=settings.budget_usd, called=called, too_long=_TOO_LONG)
    asker.check()
    return ServedMeasurer(
        asker.complete, ServerPromptFormat(settings.server, settings.endpoint, subject="a follower's answer")
    )


def of_job(job: Job, settings: Settings | None) -> StackelbergReward:
    """The reward of an alignment, by its settings.

    Raises
    ------
    InputError
        The turns or the measurer cannot be read.
    """
    assert isinstance(settings, RewardSettings)
    instances = with_intents(read_instances(settings.instances), str(settings.instances))
    return reward_with(instances, measurer_of(settings.measurer, job.asking.cache), settings)
