"""The reward of a reply: a trained reward model behind one call, scores checked and normalised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from apportion.corpus.session import Episode
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.settings import Settings
from apportion.reward_model.model import RewardModel
from apportion.rlhf.plugins import CREDIT, OUTCOME
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy_settings import Device, OutcomeWeight
from apportion.rlhf.training.ensemble import Ensemble, asked
from apportion.rlhf.training.role_baseline import less_baselines

if TYPE_CHECKING:
    from apportion.rlhf.settings import AlignSettings
    from apportion.rlhf.training.endings import StopReason
    from apportion.rlhf.training.job import Job


class Reward(Protocol):
    """Scores replies in their dialogues."""

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """One score a reply (B of them).

        ``contexts`` are what is answered, ``histories`` what was said before each reply, as texts that the scorer was
        trained on; in a response of several turns that is more than the context.
        """


class SessionReward(Reward, Protocol):
    """A reward that also writes the histories that it reads."""

    def history(self, episode: Episode, position: int) -> str:
        """What is read before the turn at ``position``."""


class ModelReward:
    """The advantage of a saved reward model (`apportion.reward_model.model.TurnScores`), read as in training.

    What the state foretells is taken off, since no reply can change it; and ``sd_penalty`` times the sd, so that a
    reply on which the model's heads disagree is worth less. It reads on ``device``: where the policy is.

    Raises InputError: A penalty on the sd of a model of one head.
    """

    def __init__(self, folder: Path, device: Device = "cpu", sd_penalty: float = 0.0) -> None:
        self.model = RewardModel.from_pretrained(folder)
        self._sd_penalty = sd_penalty
        if sd_penalty and self.model.config.members == 1:
            raise InputError(
                f"align.sd_penalty = {sd_penalty:g}: the reward model {folder} has one head, so its scores have no sd. "
                "Set sd_penalty to 0, or train the model again with train_reward.heads = 5."
            )
        if device != "cpu":
            self.model.place(device)

    def history(self, episode: Episode, position: int) -> str:
        """The history that the model reads for the turn at ``position``."""
        return self.model.window(episode, position)[0]

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """One score a reply (B of them), in the units of the turn rewards that the model learned."""
        scores = self.model.score_windows(*asked(contexts, histories, replies))
        paid: list[float] = (scores.advantage - self._sd_penalty * scores.sd).tolist()
        return paid


class NoReward:
    """Nobody scores: for ``sft`` where there is no reward model. Every score is NaN, every history empty."""

    def history(self, episode: Episode, position: int) -> str:
        """Nothing, which nobody reads."""
        return ""

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """NaN for every reply (B of them)."""
        return [math.nan] * len(replies)


class OutcomeReward(NoReward):
    """What the rules of an environment say that an episode was worth, at the policy's last turn; 0 before it.

    It reads no words: `turn_scores` asks `at_ends`. ``turns``: A reward that pays every turn beside it, in its own
    unit; ``weight``: what the outcome is multiplied by.
    """

    def __init__(self, turns: SessionReward | None = None, weight: float = 1.0) -> None:
        self.turns, self.weight = turns or NoReward(), weight
        self.alone = turns is None

    def history(self, episode: Episode, position: int) -> str:
        """What the reward of turns reads."""
        return self.turns.history(episode, position)

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """What the reward of turns pays (B of them)."""
        return self.turns(contexts, histories, replies)

    def at_ends(self, endings: Sequence[StopReason]) -> list[float]:
        """One score a turn (N), episode by episode.

        Raises UnitError: the rules do not say what an episode that they have ended was worth.
        """
        for ending in endings:
            if ending.over and ending.value is None:
                raise UnitError(
                    "reward = 'outcome': an episode has ended, and its rules say nothing of what is watched. Choose "
                    "tasks that they can check (environment_settings.task_set = 'checkable'), or another outcome."
                )
        return [score for ending in endings for score in (*[0.0] * (ending.turns - 1), self.weight * ending.score)]


class CreditReward(OutcomeReward):
    """What each turn has brought (`apportion.rlhf.sampling.live_credit`), and the weighted outcome at the last one."""

    def at_ends(self, endings: Sequence[StopReason]) -> list[float]:
        """As `OutcomeReward.at_ends`."""
        credits = [credit for ending in endings for credit in ending.credit]
        return [credit + whole for credit, whole in zip(credits, super().at_ends(endings), strict=True)]


def of_episodes(job: Job, settings: Settings | None) -> SessionReward:
    """The outcome as the reward of an alignment."""
    return OutcomeReward()


def of_turns(job: Job, settings: OutcomeWeight) -> SessionReward:
    """The credit of turns as the reward of an alignment."""
    return CreditReward(weight=settings.outcome)


def of_job(job: Job, settings: OutcomeWeight) -> SessionReward:
    """The reward model of an alignment, or several, placed where its policy is; with the outcome where that counts."""
    turns = _of_models(job)
    return OutcomeReward(turns, settings.outcome) if settings.outcome else turns


def _of_models(job: Job) -> SessionReward:
    if job.settings.trainer.needs_reward and job.settings.reward_ensemble:
        return Ensemble(job)
    if job.reward_model is None:
        return NoReward()
    return ModelReward(job.reward_model, job.settings.placement.device, job.settings.sd_penalty)


def load_reward(job: Job) -> SessionReward:
    """What scores the replies of an alignment, by the name in its settings; for ``sft`` the reward model or nobody."""
    settings = job.settings
    named = settings.reward_by
    reward: SessionReward = named.make(job, named.checked(settings.reward_settings))
    return reward


def turn_scores(
    reward: Reward,
    contexts: Sequence[DialogueContext],
    histories: Sequence[str],
    replies: Sequence[str],
    endings: Sequence[StopReason] = (),
) -> list[float]:
    """One score a reply (N of them): by what it says, by how the episode ended (``endings``), or by both."""
    if not isinstance(reward, OutcomeReward):
        return reward(contexts, histories, replies)
    outcome = reward.at_ends(endings)
    if reward.alone:
        return outcome
    return [score + whole for score, whole in zip(reward(contexts, histories, replies), outcome, strict=True)]


def finite_scores(
    reward: Reward,
    contexts: Sequence[DialogueContext],
    histories: Sequence[str],
    replies: Sequence[str],
    where: str,
    endings: Sequence[StopReason] = (),
) -> list[float]:
    """One score a reply (N of them).

    ``contexts`` are what the replies answer, ``where`` the step in words, ``endings`` those of episodes that the
    replies are the turns of.
    """
    scores = turn_scores(reward, contexts, histories, replies, endings)
    for context, score, reply in zip(contexts, scores, replies, strict=True):
        if not math.isfinite(score):
            raise UnitError(
                f"{where}: the reward model gave {score} for the reply {reply[:80]!r} to session "
                f"{context.session_id!r}, turn {context.turn}; it must be a finite number. Train the reward model "
                "again, with a lower learning rate."
            )
    return scores


def at_the_end(last: Sequence[bool], settings: AlignSettings) -> Sequence[bool]:
    """Which turns are paid at all: of ``last`` turns alone what episodes came to; empty where every turn is."""
    return last if settings.reward == OUTCOME else ()


def normalized_scores(
    scores: Sequence[float],
    norm: ScoreNorm,
    settings: AlignSettings,
    lost: Sequence[float] = (),
    paid: Sequence[bool] = (),
    endings: Sequence[StopReason] = (),
) -> Sequence[float]:
    """Scores as they are learned from: normalised by ``norm``, which takes them in, and clipped, as set.

    ``lost``: what each reply loses (`apportion.rlhf.training.penalties`), in ``norm``'s deviations, so that it is the
    same price whatever the scores are in; it is taken off last, since no clip may hide it. Empty where nothing is.
    ``paid``: which scores are a reward (`at_the_end`); the others stay 0, so that a turn more costs nothing.
    ``endings``: of the episodes, whose roles' baselines (`apportion.rlhf.training.role_baseline`) are taken off first.
    """
    if endings and settings.role_baseline is not None:
        scores = less_baselines(scores, endings, norm.roles, settings.role_baseline)
    if paid:
        at_ends = [score for score, one in zip(scores, paid, strict=True) if one]
        # The norm takes them in where there is something to lose, too.
        given = iter(normalized_scores(at_ends, norm, settings, [0.0] * len(at_ends) if lost else ()))
        unit = 1.0 if settings.score_norm else norm.deviation
        less = lost or [0.0] * len(scores)
        return [(next(given) if one else 0.0) - unit * off for one, off in zip(paid, less, strict=True)]
    if settings.score_norm or lost:
        norm.update(scores)
    unit = 1.0 if settings.score_norm else norm.deviation
    if settings.score_norm:
        # A turn more neither costs nor brings the mean where credits add up to an outcome.
        scores = norm(scores, centered=settings.reward != CREDIT)
    limit = settings.reward_clip
    if limit is not None:
        scores = [min(max(score, -limit), limit) for score in scores]
    return [score - unit * less for score, less in zip(scores, lost, strict=True)] if lost else scores


def best_and_worst(scores: Sequence[float], margin: float) -> tuple[int, int]:
    """Places of the highest and of the lowest of ``scores``; the highest's twice where they differ by less.

    A reply that is preferred to itself teaches nothing: its likelihood is raised as much as it is lowered.

    >>> best_and_worst([1.0, 3.0, 0.5], 1.0), best_and_worst([1.0, 1.5], 1.0)
    ((1, 2), (1, 1))
    """
    best = max(range(len(scores)), key=lambda place: scores[place])
    worst = min(range(len(scores)), key=lambda place: scores[place])
    apart = scores[best] - scores[worst]
    return best, worst if apart > 0 and apart >= margin else best


class ScoreNorm:
    """Mean and deviation of all scores seen so far, updated a batch at a time (Chan et al., 1979); roles' baselines."""

    def __init__(
        self, count: int = 0, mean: float = 0.0, squares: float = 0.0, roles: Mapping[str, float] | None = None
    ) -> None:
        self.roles = dict(roles or {})
        self.count = count
        self.mean = mean
        self._squares = squares

    @property
    def deviation(self) -> float:
        """Standard deviation of the scores seen, 0 before there are any."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0

    @property
    def moments(self) -> tuple[int, float, float, dict[str, float]]:
        """Count, mean, sum of squared differences from it, baselines: the arguments that make an equal `ScoreNorm`."""
        return self.count, self.mean, self._squares, self.roles

    def update(self, scores: Sequence[float]) -> None:
        """Take in a batch of scores."""
        size = len(scores)
        mean = math.fsum(scores) / size
        squares = math.fsum((score - mean) ** 2 for score in scores)
        gap, total = mean - self.mean, self.count + size
        self._squares += squares + gap * gap * self.count * size / total
        self.mean += gap * size / total
        self.count = total

    def __call__(self, scores: Sequence[float], centered: bool = True) -> list[float]:
        """Scores in deviations from the running mean; all 0 while every score seen was the same.

        Where they are not ``centered``, from 0: divided by the root of their mean square.
        """
        if not centered:
            size = math.hypot(self.deviation, self.mean)
            return [score / size if size else 0.0 for score in scores]
        scale = self.deviation
        # Below this a difference is rounding, not a preference.
        if scale <= 1e-8 * max(1.0, abs(self.mean)):
            return [0.0] * len(scores)
        return [(score - self.mean) / scale for score in scores]
