"""One reward model on one corpus, from their folders to a table; it goes on where a stop left it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from corpus.corpus import Corpus
from corpus.schema import REWARDS
from corpus.tablefile import write_table
from foundation.files import place_file
from foundation.progress import Progress
from reward_model.corpus_scores import CorpusScores, method_and_seed, score_corpus
from reward_model.model import RewardModel
from reward_model.score_journal import identity_of, open_journal


@dataclass(frozen=True)
class Scored:
    """The scores of a corpus, and the method and the seed of the model that gave them."""

    scores: CorpusScores
    method: str
    seed: int


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
) -> Iterator[Scored]:
    """Score ``corpus``; the block writes the table (`write_scores`), and until it has ended what was scored is kept.

    Parameters
    ----------
    model, corpus : Path
        Their folders; the model's name says its method and seed.
    out : Path
        The table that is to be written. Beside it stands the journal of what was scored before a stop.
    progress : callable
        ``progress(done, total, session_id)`` before the first session and after each.
    rating, target : str, optional
        Only episodes of this rating; this speaker's turns, whoever was rated.
    limit : int, optional
        Only the first sessions.
    threads : int
        How many torch computes with in this process; another number changes bits.
    called : callable
        What the caller calls ``rating`` and ``target``, for errors.

    Raises
    ------
    InputError
        A model or a corpus that cannot be read, a rating or target that is not in it, or a table that another process
        is writing.
    """
    opened = Corpus.open(corpus)
    torch.set_num_threads(threads)
    loaded = RewardModel.from_pretrained(model)
    method, seed = method_and_seed(model.resolve().name)
    sessions = opened.session_ids()[:limit]
    identity = identity_of(model, loaded.config, opened.root, (rating, target, method, str(seed)), threads)
    with open_journal(out, identity) as journal:
        progress(0, len(sessions), "")
        scores = score_corpus(loaded, opened, sessions, rating, target, (method, seed), progress, journal, called)
        yield Scored(scores, method, seed)


def write_scores(scores: CorpusScores, out: Path) -> None:
    """Write the table as Parquet or JSON Lines by its name's end, whole or not at all; raises OSError."""
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as folder:
        scratch = Path(folder) / out.name
        write_table(scores.table, scratch, REWARDS)
        place_file(scratch, out)
