"""One reward model on one corpus, from their folders to a table; it goes on where a stop left it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import write_table
from apportion.corpus.schema import REWARDS
from apportion.foundation.files import place_file
from apportion.foundation.progress import Progress
from apportion.reward_model.checkpoint import read_config
from apportion.reward_model.config import RewardModelConfig
from apportion.reward_model.corpus_scores import CorpusScores, method_and_seed, score_corpus
from apportion.reward_model.model import RewardModel
from apportion.reward_model.score_journal import SessionScores, identity_of, note_path, open_journal, read_score_note


@dataclass(frozen=True)
class ScoringResult:
    """The scores of a corpus, the method and the seed of the model that gave them, and what they depend on."""

    scores: CorpusScores
    method: str
    seed: int
    identity: str


@contextmanager
def scored(
    model: Path,
    corpus: Path,
    out: Path,
    progress: Progress,
    *,
    rating: str | None = None,
    target: str | None = None,
    limit: int | None = None,
    threads: int = 1,
    called: Callable[[str], str] = str,
) -> Iterator[ScoringResult]:
    """Score ``corpus``; the block writes the table (`write_scores`), and until it has ended what was scored is kept.

    ``model``, ``corpus``: their folders; the model's name says its method and seed. ``out``: the table that is to be
    written. Beside it stands the journal of what was scored before a stop. ``progress``: ``progress(done, total,
    session_id)`` before the first session and after each. ``rating``, ``target``: only episodes of this rating; this
    speaker's turns, whoever was rated. ``threads``: how many torch computes with in this process; another number
    changes bits. ``called``: what the caller calls ``rating`` and ``target``, for errors. Raises InputError: a model or
    a corpus that cannot be read, a rating or target that is not in it, or a table that another process is writing.
    """
    opened = Corpus.open(corpus)
    torch.set_num_threads(threads)
    loaded = RewardModel.from_pretrained(model)
    method, seed = method_and_seed(model.resolve().name)
    sessions = opened.session_ids()[:limit]
    identity = _identity(model, loaded.config, corpus, rating, target, threads)
    with open_journal(out, identity, SessionScores.from_json) as journal:
        progress(0, len(sessions), "")
        scores = score_corpus(loaded, opened, sessions, rating, target, (method, seed), progress, journal, called)
        yield ScoringResult(scores, method, seed, _limited(identity, limit))


def finished(
    model: Path,
    corpus: Path,
    out: Path,
    *,
    rating: str | None = None,
    target: str | None = None,
    limit: int | None = None,
    threads: int = 1,
) -> dict[str, Any] | None:
    """What was told of the table ``out`` when it was finished, if `scored` would make the same one; else None.

    Raises InputError: a model that cannot be read.
    """
    if not note_path(out).is_file():
        return None
    identity = _identity(model, read_config(model), corpus, rating, target, threads)
    return read_score_note(out, _limited(identity, limit))


def _identity(
    model: Path, config: RewardModelConfig, corpus: Path, rating: str | None, target: str | None, threads: int
) -> str:
    method, seed = method_and_seed(model.resolve().name)
    return identity_of(model, config, corpus, (rating, target, method, str(seed)), threads)


def _limited(identity: str, limit: int | None) -> str:
    """A table depends on how many sessions were scored; the journal of each of them does not."""
    return f"{identity} {limit or 'all'}"


def write_scores(scores: CorpusScores, out: Path) -> None:
    """Write the table as Parquet or JSON Lines by its name's end, whole or not at all; raises OSError."""
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as folder:
        scratch = Path(folder) / out.name
        write_table(scores.table, scratch, REWARDS)
        place_file(scratch, out)
