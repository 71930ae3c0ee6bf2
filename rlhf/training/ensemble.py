"""Several reward models behind one call: what only one of them is fond of is not paid for by all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion.corpus.session import Episode
from apportion.foundation.errors import InputError
from apportion.reward_model.history_windows import Pair, reply_text
from apportion.reward_model.model import RewardModel
from apportion.reward_model.state_baseline import turns_before
from apportion.rlhf.policy.contexts import DialogueContext

if TYPE_CHECKING:
    from apportion.rlhf.training.job import Job


class Ensemble:
    """The reward models of ``job.ensemble`` as one reward (Coste et al., 2024, section 4).

    Each one's advantages count in standard deviations of what it pays recorded turns, from their mean. The scale of
    the rewards it learned would not do: what it foretells varies less than that, by as much as it has not learned, and
    the least of several would be that of the one that varies most. What is read alike is read once.

    Raises InputError: fewer than two models.
    """

    def __init__(self, job: Job) -> None:
        self._members, self._settings = job.ensemble, job.settings
        if len(job.ensemble) < 2:
            names = ", ".join(self._settings.reward_ensemble)
            raise InputError(
                f"align.reward_ensemble = {names}: that is {len(job.ensemble)} reward models, and two are needed. Name "
                "another method, or give the run more seeds."
            )
        self._models = [RewardModel.from_pretrained(member.folder) for member in self._members]
        self._reads = [
            next(place for place, other in enumerate(self._models) if _alike(one, other)) for one in self._models
        ]
        device = self._settings.placement.device
        for place in set(self._reads) if device != "cpu" else ():
            self._models[place].place(device)

    def history(self, episode: Episode, position: int) -> str:
        """The history that the models, which are of one run, read for the turn at ``position``."""
        return self._models[0].window(episode, position)[0]

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """One score a reply (B of them): the least of the models', or their mean less ``sd_penalty`` times their sd."""
        pairs, places = asked(contexts, histories, replies)
        read = {place: self._models[place].embedded(pairs) for place in set(self._reads)}
        scores = np.empty((len(self._models), len(pairs)))
        for row, (model, member) in enumerate(zip(self._models, self._members, strict=True)):
            embeddings = read[self._reads[row]]
            paid = model.scores(embeddings, model.contexts_of(embeddings, pairs), places).advantage
            scores[row] = (paid - member.mean) / member.sd
        if self._settings.reward_join == "min":
            return [float(score) for score in scores.min(axis=0)]
        lower = scores.mean(axis=0) - self._settings.sd_penalty * scores.std(axis=0, ddof=1)
        return [float(score) for score in lower]


def asked(
    contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
) -> tuple[list[Pair], list[int]]:
    """What a reward model is asked of B replies: (history, reply) texts, and the target's turns before each."""
    pairs = [(history, reply_text(reply)) for history, reply in zip(histories, replies, strict=True)]
    places = (
        turns_before(pair) if context.place is None else context.place
        for context, pair in zip(contexts, pairs, strict=True)
    )
    return pairs, list(places)


def _alike(one: RewardModel, other: RewardModel) -> bool:
    return one is other or one.reads_as(other)
