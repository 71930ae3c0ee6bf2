"""What a real language model's judgements of real dialogues agree with, beside `reaction`, on the same 60 sessions.

Run: python benchmarks/language_model_rows.py ../shared/data [--corpus SGD] [--kept FOLDER]

Replies are recorded ones (`benchmarks/judged/`: request key and values, no text of a dialogue; the first line says
whose they are), to the prompts `default`, which shows the session's score, and `blind`, which does not. The 60 sessions
of each corpus are drawn by a hash of their ids; whoever answered saw no label. `reaction` is taught by the scores of
the other four of five folds of the whole corpus, as in `benchmarks/reaction.py`. Within-session Spearman with the mean
human turn rating over the sessions with at least 4 labelled turns whose labels differ; 95 % intervals by session. A mix
is the mean of both after each was standardised within its dialogue: nothing about it was chosen. `llm-student` is
taught by the judgements of those of the 60 that are in the other four folds. ``--kept`` keeps what is read of the
replies, which takes minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import conture, uss
from apportion.corpus.session import EpisodeKey, Session
from apportion.decompose.ensembling.student import student_source
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.reply import parse_reply
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatRequest
from benchmarks.measure import tell
from benchmarks.reaction import FOLDS, folds_of, out_of_fold, peers
from benchmarks.replies import place_of, read_replies

JUDGED = Path(__file__).resolve().parent / "judged"
CORPORA = {
    "SGD": (uss.import_corpus, "uss/SGD.txt.gz", uss.NAME),
    "ReDial": (uss.import_corpus, "uss/ReDial.txt.gz", uss.NAME),
    "ConTurE": (conture.import_corpus, "conture/data.json.gz", "overall"),
}
PROMPTS = ("default", "blind")
COUNT = 60


def chosen(session_ids: Sequence[str]) -> list[str]:
    """The ids of the sessions that are judged, by a hash, so that nobody has chosen them."""
    ranked = sorted(session_ids, key=lambda session_id: hashlib.sha256(f"rows{session_id}".encode()).digest())
    return sorted(ranked[:COUNT])


def request(session: Session, name: str, prompt: str) -> tuple[ChatRequest, tuple[int, ...]]:
    """What is asked about a session in the words of a prompt, and for which turns."""
    plain = DecomposeSettings()
    llm = plain.llm.model_copy(update={"model": "claude", "prompt": prompt})
    settings = plain.model_copy(update={"llm": llm})
    ((asked, meta),) = session_requests(METHODS["llm"], session, name, None, settings)
    return asked, meta.turns


def judged(session: Session, name: str, prompt: str, replies: RecordedReplies) -> Floats:
    """The recorded value of each target turn, null as the mean of its dialogue [shape=(T,)]."""
    asked, turns = request(session, name, prompt)
    reply = replies.find(asked)
    if reply is None:
        raise SystemExit(f"session {session.session_id}, {prompt}: no recorded reply. Its prompt has changed.")
    values = np.array([np.nan if a.value is None else a.value for a in parse_reply(reply.text, turns, -5, 5)])
    return np.where(np.isfinite(values), values, np.nanmean(values) if np.isfinite(values).any() else 0.0)


def mixed(one: Floats, other: Floats, sizes: Sequence[int]) -> Floats:
    """The mean of two sources, each standardised within its dialogue (a constant one is 0)."""
    at = np.cumsum(sizes)[:-1]
    return sum((np.concatenate([_standard(part) for part in np.split(values, at)]) for values in (one, other)), 0.0) / 2


def _standard(values: Floats) -> Floats:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def by_student(
    reactions: Reactions, values: Mapping[EpisodeKey, Floats], teachers: Callable[[frozenset[str]], Collection[str]]
) -> Floats:
    """Every turn's value by a student of judgements in other folds [shape=(N,)].

    ``teachers`` gives those of the other folds' sessions whose judgements, in ``values``, teach.
    """
    folds = folds_of([episode.session_id for episode in reactions.episodes])
    found: dict[EpisodeKey, Floats] = {}
    for fold in range(FOLDS):
        training = frozenset(session_id for session_id, other in folds.items() if other != fold)
        names = set(teachers(training))
        own = {key: of for key, of in values.items() if key[0] in names}
        source, _ = student_source("llm-student", reactions, own, training)
        found |= {key: of for key, of in source.values.items() if folds[key[0]] == fold}
    return np.nan_to_num(np.concatenate([found[episode.key] for episode in reactions.episodes]), nan=0.0)


def sources(
    corpus: Corpus, name: str, replies: RecordedReplies, kept: Path | None = None
) -> tuple[TestSet, Mapping[str, Floats]]:
    """The judged sessions, and the value of each of their target turns by every source."""
    sessions, settings = {session.session_id: session for session in corpus.iter_sessions()}, ReactionSettings()
    table = read_replies(sessions.values(), name, kept)
    reactions = arrange(table, [episode for session in sessions.values() for episode in session.episodes(name)])
    wanted = set(chosen(list(sessions)))
    held = TestSet.of([episode for episode in reactions.episodes if episode.session_id in wanted])
    ends = np.cumsum([len(episode.target_turns) for episode in reactions.episodes])
    places = {
        episode.session_id: slice(end - len(episode.target_turns), end)
        for episode, end in zip(reactions.episodes, ends, strict=True)
    }
    local = {"reaction": out_of_fold(reactions, settings), **peers(reactions)}

    def of_judged(values: Floats) -> Floats:
        return np.concatenate([values[places[episode.session_id]] for episode in held.episodes])

    found = {source: of_judged(values) for source, values in local.items()}
    for prompt in PROMPTS:
        own = [judged(sessions[episode.session_id], name, prompt, replies) for episode in held.episodes]
        found[f"llm, {prompt}"] = np.concatenate(own)
        by_key = {episode.key: values for episode, values in zip(held.episodes, own, strict=True)}
        found[f"llm-student, {prompt}"] = of_judged(by_student(reactions, by_key, lambda training: training))
        found[f"llm, {prompt} + reaction"] = mixed(found[f"llm, {prompt}"], found["reaction"], [len(o) for o in own])
    return held, found


def main(data: Path, only: str | None, kept: Path | None) -> None:
    """Print the rows of each corpus."""
    for corpus_name, (read, file, rating) in CORPORA.items():
        if only not in (None, corpus_name):
            continue
        corpus = Corpus.of(data, read(data / file, {}).tables)
        replies = RecordedReplies(JUDGED / f"{corpus_name}.jsonl")
        held, found = sources(corpus, rating, replies, place_of(corpus_name, kept))
        how = EvaluationSettings()
        labels = read_labels(corpus.turn_labels, held, how)

        def agreement(values: Floats, held: TestSet = held, labels=labels, how=how) -> BootstrapResult:  # type: ignore[no-untyped-def]
            return within_session(held, values[None], labels, how)

        ours = agreement(found["llm, blind"])
        for source, values in found.items():
            told, less = (
                estimate(one, 0.95) for one in (agreement(values), paired_difference(agreement(values), ours))
            )
            tell(
                f"{corpus_name}: within-session Spearman, {source}", told.value, "rho", interval=[told.low, told.high],
                sessions=told.sessions, more_than_blind_by=[less.value, less.low, less.high], recorded="llm" in source,
            )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", choices=tuple(CORPORA))
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    main(given.data, given.corpus, given.kept)
