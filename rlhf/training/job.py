"""What is to be aligned: the one thing that an alignment is asked for by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from corpus.session import Episode
from rlhf.settings import AlignSettings


@dataclass(frozen=True)
class Job:
    """One alignment: from dialogues and a reward model to a policy in a folder.

    Parameters
    ----------
    episodes : sequence of Episode
        Every session of the corpus, seen through one rating; one without a score as `corpus.targets` sees it.
    splits : pa.Table
        ``session_id`` and ``split`` (schema SPLITS).
    reward_model : Path or None
        The folder of a saved reward model; None where nothing is scored, which only ``sft`` can do without.
    settings : AlignSettings
        Policy, algorithm and LoRA.
    seed : int
        Of everything random; with the same number of torch threads the same seed gives the same bytes.
    out : Path
        Receives adapters, tokenizer, card and, for ``tiny``, the base model.
    checkpoints : Path or None
        A folder of this job alone, for what a killed run needs to go on to the same bytes; None keeps nothing.
    called : str
        What the caller calls this job: its errors begin with that.
    """

    episodes: Sequence[Episode]
    splits: pa.Table
    reward_model: Path | None
    settings: AlignSettings
    seed: int
    out: Path
    checkpoints: Path | None = None
    called: str = ""
