"""Claim on USS: reaction-aware decomposition, from session scores alone, orders a session's turns better than VADER.

Run: python -m benchmarks.reaction ../shared/data/uss/SGD.txt.gz

Five folds over sessions: a fold's turns are judged by what the scores of the other four taught. Within-session Spearman
with the mean human turn rating over the sessions with at least 4 labelled turns whose labels differ; a constant
prediction counts as 0. Peers of the same run: VADER on the rater's next reply (its utterances joined, as the method
`sentiment` does, and the mean over them) and the position of the turn. Turn labels enter the evaluation alone.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import NAME, import_corpus
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions, arrange, read_session
from apportion.decompose.reactions.model import learn
from apportion.decompose.session_methods.sentiment import load_classifier
from apportion.decompose.settings import ReactionSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from benchmarks.measure import tell

FOLDS = 5


def folds_of(session_ids: list[str]) -> dict[str, int]:
    """A fold for every session, by a hash of its id."""
    ranked = sorted(session_ids, key=lambda session_id: hashlib.sha256(f"fold{session_id}".encode()).digest())
    return {session_id: place % FOLDS for place, session_id in enumerate(ranked)}


def out_of_fold(reactions: Reactions, settings: ReactionSettings) -> Floats:
    """Every turn's value by a model that saw no score of its session's fold [shape=(N,)]."""
    folds = folds_of([episode.session_id for episode in reactions.episodes])
    fold_of_turn = np.repeat(
        [folds[episode.session_id] for episode in reactions.episodes],
        [len(episode.target_turns) for episode in reactions.episodes],
    )
    values = np.zeros(len(fold_of_turn))
    for fold in range(FOLDS):
        taught = frozenset(session_id for session_id, other in folds.items() if other != fold)
        model = learn(reactions, taught, settings)
        print(f"fold {fold}: late = {model.late:g}, losses {np.round(model.losses, 5).tolist()}", file=sys.stderr)
        values[fold_of_turn == fold] = model.values(reactions)[fold_of_turn == fold]
    return values


def peers(reactions: Reactions) -> dict[str, Floats]:
    vader = load_classifier("vader")
    replies = [e.reply_text(position) for e in reactions.episodes for position in e.target_positions]
    return {
        "VADER, reply joined": np.array(vader(replies)),
        "VADER, mean of utterances": reactions.cues[:, CUES.index("compound")],
        "position": np.concatenate([np.arange(len(e.target_turns), dtype=np.float64) for e in reactions.episodes]),
    }


def main(source: Path) -> None:
    corpus = Corpus.of(source.parent, import_corpus(source, {}).tables)
    sessions, settings = list(corpus.iter_sessions()), ReactionSettings()
    started = time.perf_counter()
    table = pa.concat_tables([read_session(session, NAME, settings) for session in sessions])
    read_s = time.perf_counter() - started
    reactions = arrange(table, [episode for session in sessions for episode in session.episodes(NAME)])
    started = time.perf_counter()
    values = out_of_fold(reactions, settings)
    fit_s = time.perf_counter() - started
    held, how = TestSet.of(reactions.episodes), EvaluationSettings()
    labels = read_labels(corpus.turn_labels, held, how)

    def agreement(of_turns: Floats) -> BootstrapResult:
        return within_session(held, of_turns[None], labels, how)

    ours = agreement(values)
    shown = {"reaction": ours, **{name: agreement(of_turns) for name, of_turns in peers(reactions).items()}}
    for name, sampled in shown.items():
        found, gain = estimate(sampled, 0.95), estimate(paired_difference(ours, sampled), 0.95)
        tell(
            f"within-session Spearman, {name}", found.value, "rho", interval=[found.low, found.high],
            sessions=found.sessions, ours_less_this=[gain.value, gain.low, gain.high], source=source.name,
        )  # fmt: skip
    tell("reading the reactions", read_s, "s", sessions=len(sessions), source=source.name)
    tell("five fits", fit_s, "s", source=source.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    main(parser.parse_args().source)
