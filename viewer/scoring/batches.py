"""Requests that wait are read together: one thread, one forward pass over the turns of them all."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from apportion.corpus.languages.identifier import spoken_in
from apportion.corpus.session import Episode
from apportion.reward_model.model import RewardModel, TurnScores
from apportion.viewer.scoring.metrics import Metrics
from apportion.viewer.scoring.refusals import RefusedError

TURNS_AT_ONCE = 512
"""Scored turns of requests that are read together; a larger request is read by itself."""
RETRY_S = 1
COLUMNS = ("turn", "reward", "sd", "advantage", "unlike_training")


@dataclass(frozen=True, eq=False)
class ScoredDialogue:
    """T scored turns of one dialogue: their numbers, and what `RewardModel.score_episodes` says of them.

    ``unlike``: why each turn is unlike what taught the model; None of a model that cannot tell. ``shortened``: whether
    it is longer than the model reads at once, so that later turns were scored with less history. ``silent``: whether
    its last turn has no words.
    """

    turns: tuple[int, ...]
    scores: TurnScores
    unlike: list[tuple[str, ...]] | None
    shortened: bool
    silent: bool

    def rows(self) -> list[dict[str, Any]]:
        """A row a turn."""
        columns = [self.turns, *(column.tolist() for column in self.scores), self.unlike or [None] * len(self.turns)]
        return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass
class _Job:
    episodes: Sequence[Episode]
    scores: Future[list[ScoredDialogue]] = field(default_factory=Future)

    @property
    def turns(self) -> int:
        return sum(len(episode.target_positions) for episode in self.episodes)


class Batches:
    """A queue of at most ``most`` requests, and the thread that scores them with ``model``; begun by `start`."""

    def __init__(self, model: RewardModel, most: int, metrics: Metrics) -> None:
        self._model, self._most, self._metrics = model, most, metrics
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="scores", daemon=True)

    def start(self) -> None:
        """Begin to score."""
        self._thread.start()

    def end(self) -> None:
        """Score what waits, and take no more."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._jobs)

    def submit(self, episodes: Sequence[Episode]) -> Future[list[ScoredDialogue]]:
        """What will be said of the dialogues; raises RefusedError (503): the queue is full, or the server is ending."""
        with self._changed:
            if self._ended:
                raise RefusedError(503, "the server is ending. Ask the one that comes after it.")
            if len(self._jobs) >= self._most:
                raise RefusedError(503, f"{self._most:,} requests wait already. Ask again after Retry-After seconds.")
            job = _Job(episodes)
            self._jobs.append(job)
            self._changed.notify()
        return job.scores

    def _work(self) -> None:
        while jobs := self._next():
            for job, outcome in zip(jobs, self._outcomes(jobs), strict=True):
                if isinstance(outcome, BaseException):
                    job.scores.set_exception(outcome)
                else:
                    job.scores.set_result(outcome)

    def _next(self) -> list[_Job]:
        """The oldest requests that go together, those whose clients have gone left out; none where all is over."""
        with self._changed:
            jobs: list[_Job] = []
            while not jobs:
                self._changed.wait_for(lambda: self._jobs or self._ended)
                if not self._jobs:
                    return []
                turns = 0
                while self._jobs and (not jobs or turns + self._jobs[0].turns <= TURNS_AT_ONCE):
                    job = self._jobs.popleft()
                    if job.scores.set_running_or_notify_cancel():
                        jobs.append(job)
                        turns += job.turns
            return jobs

    def _outcomes(self, jobs: Sequence[_Job]) -> list[list[ScoredDialogue] | BaseException]:
        try:
            scored = iter(score_dialogues(self._model, [episode for job in jobs for episode in job.episodes]))
            together = [[next(scored) for _ in job.episodes] for job in jobs]
        except Exception as error:  # One request of many may be at fault, and the others are not to pay for it.
            return [error] if len(jobs) == 1 else [self._outcomes([job])[0] for job in jobs]
        self._metrics.scored(sum(job.turns for job in jobs))
        return [_finite(dialogues) for dialogues in together]


def score_dialogues(model: RewardModel, episodes: Iterable[Episode]) -> list[ScoredDialogue]:
    """What ``model`` says of every dialogue, in their order; those without a scored turn have none."""
    called = [replace(_in_its_language(model, one), session_id=str(i)) for i, one in enumerate(episodes)]
    windows, scores, reasons = model.score_episodes(called)
    spans = dict(zip((key[0] for key in windows.keys), pairwise(windows.offsets), strict=True))
    found = []
    for one in called:
        part = slice(*spans.get(one.session_id, (0, 0)))
        of_dialogue = TurnScores(*(column[part] for column in scores))
        unlike = None if model.domain is None else reasons[part]
        silent = bool(one.turns) and not one.turns[-1].text.strip()
        found.append(ScoredDialogue(windows.turns[part], of_dialogue, unlike, model.shortens(one), silent))
    return found


def _in_its_language(model: RewardModel, episode: Episode) -> Episode:
    """With its language, by its words where nobody says it and the model minds."""
    if model.domain is None or episode.language is not None:
        return episode
    return replace(episode, language=spoken_in([turn.text for turn in episode.turns]))


def _finite(dialogues: list[ScoredDialogue]) -> list[ScoredDialogue] | BaseException:
    if all(np.isfinite(column).all() for dialogue in dialogues for column in dialogue.scores):
        return dialogues
    return RefusedError(
        500, "the model gave a reward that is no finite number: its weights are damaged. Train it again."
    )
