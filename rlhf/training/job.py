"""What is to be aligned, and where its metrics, progress and checkpoints go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.foundation.progress import Progress, silent
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.metrics import Metrics

if TYPE_CHECKING:
    from peft import PeftModel

    from apportion.foundation.distributed import Processes
    from apportion.llm_client.session import LLMSession
    from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class Asking:
    """How what asks a language model is lent it: where replies are kept or come from, and what they may cost.

    ``cache`` (or a server's ledger), ``recorded``, ``record`` and ``prices`` are files as
    `apportion.llm_client.session.LLMSession` takes them, ``budget_usd`` the US dollars that everything ever paid into
    ``cache`` may not pass. Without a cache a killed training cannot go on to the same policy, since a server may say
    something else the next time.
    """

    cache: Path | str | None = None
    recorded: Path | None = None
    record: Path | None = None
    prices: Path | None = None
    budget_usd: float | None = None

    def session(self, settings: LLMSettings, called: str, too_long: str = "") -> LLMSession:
        """Lends the model of ``settings``; ``called`` and ``too_long`` as `LLMSession` takes them."""
        from apportion.llm_client.session import LLMSession

        return LLMSession(settings, **vars(self), called=called, too_long=too_long)


@dataclass(frozen=True)
class GoldModels:
    """Two reward models that learned from sessions of the ``policy`` split, a half each, and of no other.

    ``choice``: the folder of the one that stops the training and chooses the checkpoint (A); ``report``: that of the
    one that no choice sees (B). ``told``: what they learned from and how, for a reader.
    """

    choice: Path
    report: Path
    told: str


@dataclass(frozen=True)
class Member:
    """The folder of one reward model among several, and ``mean`` and ``sd`` of what it pays recorded turns."""

    folder: Path
    mean: float
    sd: float


@dataclass(frozen=True)
class Job:
    """One alignment: from dialogues and a reward model to a policy in a folder.

    ``episodes``: Every session of the corpus, seen through one rating; one without a score as
    `apportion.corpus.targets` sees it. ``splits``: ``session_id`` and ``split`` (schema SPLITS). ``reward_model``: The
    folder of a saved reward model; None where nothing is scored, which only ``sft`` can do without. ``settings``:
    Policy, algorithm and LoRA. ``seed``: Of everything random; with the same number of torch threads the same seed
    gives the same bytes. ``out``: Receives adapters, tokenizer, card and, for ``tiny``, the base model.
    ``checkpoints``: A folder of this job alone, for what a killed run needs to go on to the same bytes; None keeps
    nothing. ``called``: What the caller calls this job: its errors begin with that. ``prompts``: What the policy
    answers in place of its split's sessions (`apportion.rlhf.policy.prompts`); none of them, and it answers in those.
    ``asking``: For a partner, or a reward, that asks a language model. ``gold``: What says whether the policy has
    gained; or why nothing does, in words (empty: nobody asked for it). ``thumbs``: Whether people judged a turn of the
    ``policy`` split good, by session and turn. ``ensemble``: The reward models that score together, for
    ``settings.reward_ensemble``; ``reward_model`` is not opened then.
    """

    episodes: Sequence[Episode]
    splits: pa.Table
    reward_model: Path | None
    settings: AlignSettings
    seed: int
    out: Path
    checkpoints: Path | None = None
    called: str = ""
    prompts: Sequence[Episode] = ()
    asking: Asking = Asking()
    gold: GoldModels | str = ""
    thumbs: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    ensemble: tuple[Member, ...] = ()


Watcher = Callable[[int, Mapping[str, float]], None]
"""``watcher(step, metrics)`` after every step, from 1."""


class Gold(Protocol):
    """Measures the policy by a reward that it does not learn from, between two steps of any loop."""

    def measured(self, step: int, model: PeftModel, metrics: Metrics) -> Mapping[str, float]:
        """Metrics after ``step``, none where it is not measured then; ``metrics`` hold those of the steps before."""

    def fell(self, metrics: Metrics) -> bool:
        """Whether gold has fallen for so long that the training ends."""


def _alone() -> Processes:
    from apportion.foundation.distributed import Processes

    return Processes()


@dataclass(frozen=True)
class Run:
    """Settings, seed, and where a run's metrics, progress and checkpoints go.

    ``checkpoints`` is a folder of this run alone; None keeps nothing. ``processes`` are those that share it. ``gold``
    is asked after every step; None where nothing is known.
    """

    settings: AlignSettings
    seed: int
    metrics: Metrics = field(default_factory=Metrics)
    progress: Progress = silent
    checkpoints: Path | None = None
    watch: tuple[Watcher, ...] = ()
    processes: Processes = field(default_factory=_alone)
    gold: Gold | None = None
