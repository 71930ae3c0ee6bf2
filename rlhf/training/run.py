"""What every algorithm is given beside what it learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.distributed import Processes
from apportion.foundation.progress import Progress, silent
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.metrics import Metrics

if TYPE_CHECKING:
    from apportion.corpus.session import Episode
    from apportion.rlhf.policy.contexts import DialogueContext
    from apportion.rlhf.policy.loading import Policy
    from apportion.rlhf.sampling.partner import Partner
    from apportion.rlhf.training.reward import Reward

Watcher = Callable[[int, Mapping[str, float]], None]
"""``watcher(step, metrics)`` after every step, from 1."""


@dataclass(frozen=True)
class Run:
    """Settings, seed, and where a run's metrics, progress and checkpoints go.

    ``checkpoints`` is a folder of this run alone; None keeps nothing. ``processes`` are those that share it.
    """

    settings: AlignSettings
    seed: int
    metrics: Metrics = field(default_factory=Metrics)
    progress: Progress = silent
    checkpoints: Path | None = None
    watch: tuple[Watcher, ...] = ()
    processes: Processes = field(default_factory=Processes)


@dataclass(frozen=True)
class TrainingData:
    """What a trainer learns from.

    Parameters
    ----------
    policy : Policy
        The policy at the start; its model receives the adapters.
    contexts : sequence of DialogueContext
        What is answered; each once before any comes again.
    reward : Reward
        Scores the replies.
    partner : Partner or None
        The other side of responses of several turns; None where a response is one turn.
    episodes : sequence of Episode
        The sessions outside the test split, with what people said.
    """

    policy: Policy
    contexts: Sequence[DialogueContext]
    reward: Reward
    partner: Partner | None = None
    episodes: Sequence[Episode] = ()
