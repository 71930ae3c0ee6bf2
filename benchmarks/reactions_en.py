"""Claim on USS: `reactions-en`, which saw no score and no label of a corpus, orders a session's turns.

Run: python benchmarks/reactions_en.py ../shared/data [--corpus SGD] [--esconv FailedESConv.json] [--kept FOLDER]

Within-session Spearman with the mean human turn rating over the sessions with at least 4 labelled turns whose labels
differ, as in benchmarks/reaction.py, on all sessions and by halves: turn labels of half A of SGD and ReDial were looked
at while the student was chosen, no other. Beside it VADER on the reply (mean of its utterances). FailedESConv
(CC BY-NC) is not in ../shared; name it where you have it. ``--kept`` keeps what is read of the replies, which takes
minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import esconv
from apportion.decompose.methods import REACTIONS_EN
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.pretrained import read_prior
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from benchmarks.language_model_rows import CORPORA
from benchmarks.measure import tell
from benchmarks.replies import place_of, read_replies

FAILED = "FailedESConv"


def in_half_a(session_id: str) -> bool:
    return hashlib.sha256(f"half{session_id}".encode()).digest()[0] % 2 == 0


def values(reactions: Reactions) -> Floats:
    """The worth of each turn; one without a reply has the mean of its dialogue's, as in the stage `rewards`."""
    worth = np.where(reactions.replied, read_prior(REACTIONS_EN).values(reactions), np.nan)
    ends = np.cumsum([len(episode.target_turns) for episode in reactions.episodes])
    for own in np.split(np.arange(len(worth)), ends[:-1]):
        known = worth[own][np.isfinite(worth[own])]
        worth[own] = np.where(np.isfinite(worth[own]), worth[own], known.mean() if known.size else 0.0)
    return worth


def show(name: str, corpus: Corpus, rating: str, kept: Path | None) -> None:
    sessions, how = list(corpus.iter_sessions()), EvaluationSettings()
    reactions = arrange(
        read_replies(sessions, rating, kept), [episode for session in sessions for episode in session.episodes(rating)]
    )
    sources = {"reactions-en": values(reactions), "VADER": reactions.cues[:, CUES.index("compound")]}
    turns = np.cumsum([0, *(len(episode.target_turns) for episode in reactions.episodes)])
    for part, wanted in (("all", None), ("half A", True), ("half B", False)):
        chosen = [i for i, e in enumerate(reactions.episodes) if wanted in (None, in_half_a(e.session_id))]
        held = TestSet.of([reactions.episodes[i] for i in chosen])
        labels = read_labels(corpus.turn_labels, held, how)
        rows = np.concatenate([np.arange(turns[i], turns[i + 1]) for i in chosen])

        def agreement(of: str, held: TestSet = held, rows=rows, labels=labels) -> BootstrapResult:  # type: ignore[no-untyped-def]
            return within_session(held, sources[of][rows][None], labels, how)

        found, vader = estimate(agreement("reactions-en"), 0.95), estimate(agreement("VADER"), 0.95)
        more = estimate(paired_difference(agreement("reactions-en"), agreement("VADER")), 0.95)
        tell(
            f"{name}, {part}: within-session Spearman, reactions-en", found.value, "rho", sessions=found.sessions,
            interval=[found.low, found.high], vader=vader.value, more_than_vader=[more.value, more.low, more.high],
        )  # fmt: skip


def main(data: Path, only: str | None, failed: Path | None, kept: Path | None) -> None:
    for name, (imports, file, rating) in CORPORA.items():
        if only in (None, name):
            show(name, Corpus.of(data, imports(data / file, {}).tables), rating, place_of(name, kept))
    if failed is not None:
        show(
            FAILED, Corpus.of(failed.parent, esconv.import_corpus(failed, {}).tables), "empathy", place_of(FAILED, kept)
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", choices=(*CORPORA, "none"))
    parser.add_argument("--esconv", type=Path)
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    main(given.data, given.corpus, given.esconv, given.kept)
