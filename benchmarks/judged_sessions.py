"""How many sessions a language model has to judge for its student: agreement with people over sessions asked.

Run: python benchmarks/judged_sessions.py ../shared/data [--corpus SGD] [--prompt blind] [--seeds 3] [--kept FOLDER]

Five folds over all sessions of a corpus, as in `benchmarks/reaction.py`: a fold's turns are judged by what the other
four taught. Of their recorded sessions (`benchmarks/judged/`, 60 a corpus, drawn by a hash) `choose_sessions` takes 5,
10, 20, 30, 40 and, as "all", what there is of the 60 in the four folds (44 to 52); their recorded judgements teach
`llm-student`. Beside it: `reaction`, and both, each standardised within its dialogue, one to one. The mean over seeds
of the choice; 95 % intervals by session, of the first seed. The choice and the student see no turn label. ``--kept``
keeps what is read of the replies, which takes minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import EpisodeKey
from apportion.decompose.ensembling.active_selection import choose_sessions
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.settings import ReactionSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.cache.recorded import RecordedReplies
from benchmarks.language_model_rows import CORPORA, JUDGED, PROMPTS, by_student, chosen, judged, mixed
from benchmarks.measure import tell
from benchmarks.reaction import out_of_fold
from benchmarks.replies import place_of, read_replies

ASKED: tuple[int | None, ...] = (5, 10, 20, 30, 40, None)


def students(
    reactions: Reactions, values: Mapping[EpisodeKey, Floats], recorded: Sequence[str], asked: int | None, seed: int
) -> tuple[Floats, float]:
    """Every turn's value by a student of judgements in other folds [shape=(N,)], and how many taught it on average."""
    count, taught = len(recorded) if asked is None else asked, []

    def teachers(training: frozenset[str]) -> tuple[str, ...]:
        names = choose_sessions(reactions, training, count, seed, ReactionSettings(), recorded)
        taught.append(len(names))
        return names

    values_of = by_student(reactions, values, teachers)
    return values_of, float(np.mean(taught))


def main(data: Path, only: str | None, prompt: str, seeds: int, kept: Path | None) -> None:
    """Print the curve of each corpus."""
    for corpus_name, (load, file, rating) in CORPORA.items():
        if only in (None, corpus_name):
            place = place_of(corpus_name, kept)
            _curve(corpus_name, Corpus.of(data, load(data / file, {}).tables), rating, prompt, seeds, place)


def _curve(corpus_name: str, corpus: Corpus, rating: str, prompt: str, seeds: int, kept: Path | None) -> None:
    sessions = {session.session_id: session for session in corpus.iter_sessions()}
    table = read_replies(sessions.values(), rating, kept)
    reactions = arrange(table, [episode for session in sessions.values() for episode in session.episodes(rating)])
    replies = RecordedReplies(JUDGED / f"{corpus_name}.jsonl")
    recorded = chosen(list(sessions))
    episodes = {episode.session_id: episode for episode in reactions.episodes}
    values = {episodes[name].key: judged(sessions[name], rating, prompt, replies) for name in recorded}
    held, how = TestSet.of(reactions.episodes), EvaluationSettings()
    labels = read_labels(corpus.turn_labels, held, how)
    sizes = [len(episode.target_turns) for episode in held.episodes]

    def agreement(of_turns: Floats) -> BootstrapResult:
        return within_session(held, of_turns[None], labels, how)

    def told(name: str, of_turns: Sequence[Floats], ours: BootstrapResult, asked: float) -> None:
        sampled = [agreement(one) for one in of_turns]
        found, more = estimate(sampled[0], 0.95), estimate(paired_difference(sampled[0], ours), 0.95)
        mean = float(np.mean([estimate(one, 0.95).value for one in sampled]))
        tell(
            f"{corpus_name}: within-session Spearman, {name}", mean, "rho", asked=asked, prompt=prompt,
            first_seed=[found.value, found.low, found.high], sessions=found.sessions,
            more_than_reaction_by=[more.value, more.low, more.high], seeds=len(sampled), recorded=True,
        )  # fmt: skip

    own = out_of_fold(reactions, ReactionSettings())
    ours = agreement(own)
    told("reaction", [own], ours, 0)
    for asked in ASKED:
        drawn = range(1 if asked is None else seeds)
        made = [students(reactions, values, recorded, asked, seed) for seed in drawn]
        count = float(np.mean([taught for _, taught in made]))
        told("llm-student", [of for of, _ in made], ours, count)
        told("llm-student and reaction, one to one", [mixed(of, own, sizes) for of, _ in made], ours, count)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--corpus", choices=tuple(CORPORA))
    parser.add_argument("--prompt", choices=PROMPTS, default="blind")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    main(given.data, given.corpus, given.prompt, given.seeds, given.kept)
