"""The reward ``lspo``: how probably a trained strategy speaks of what a reply says, where it is said.

LSPO's third step (Xu et al., 2025) tunes the model towards its strategy by preferences: `align.algorithm = "dpo"` with
this reward prefers, of a context's sampled replies, the one whose cluster the strategy of `lspo@FILE` plays most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode
from apportion.environments.deduction.latent_strategies import LSPO, LatentSpeaker
from apportion.environments.environment import Observation
from apportion.environments.registry import open_session
from apportion.environments.restored_episode import RestoredEpisode
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Settings
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.rlhf.policy.contexts import DialogueContext

if TYPE_CHECKING:
    from apportion.rlhf.training.job import Job


class LatentSettings(Settings):
    """What `reward = "lspo"` takes."""

    corpus: Path = Field(description="the folder of the simulated games that are answered, with their log")
    strategies: Path = Field(description="the file that `train player lspo` wrote")


@dataclass(frozen=True)
class LatentReward:
    """Scores replies in simulated games; ``view`` is what the speaker of a session's turn knew."""

    speaker: LatentSpeaker
    view: Callable[[str, int], Observation]

    def history(self, episode: Episode, position: int) -> str:
        """Nothing: the game says what was there before."""
        return ""

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """The strategy's chance of each reply's cluster (B of them), 0 where nobody may speak.

        Raises InputError: a session is none of these games, or of another game or cast than the strategy.
        """
        pairs = zip(contexts, replies, strict=True)
        return [self.speaker.chance(self.view(one.session_id, one.turn), reply) for one, reply in pairs]


def of_job(job: Job | None, settings: Settings | None) -> LatentReward:
    """The reward of an alignment, by its settings. Raises InputError: its corpus or its file cannot be read."""
    assert isinstance(settings, LatentSettings)
    corpus, speaker = Corpus.open(settings.corpus), LSPO.of(str(settings.strategies))
    assert isinstance(speaker, LatentSpeaker)

    @cache
    def restored(session: str) -> RestoredEpisode:
        opened = open_session(corpus.session(session), settings.corpus, _nobody)
        if not isinstance(opened, RestoredEpisode):
            raise InputError(f"session {session}: no game of {settings.corpus} with its log; simulate it")
        return opened

    def view(session: str, turn: int) -> Observation:
        game = restored(session)
        return Observation(game.before_turn(turn), game.places[turn].agent)

    return LatentReward(speaker, view)


def _nobody(request: ChatRequest) -> ChatReply:
    raise InputError(f"{request.subject}: a reward asks no language model")
