"""Claim on USS: a text-only reward model taught by reaction-aware rewards predicts session scores better than Mean.

Run: python benchmarks/session_scores.py ../shared/data/uss/ReDial.txt.gz

Five folds over sessions, as benchmarks/reaction.py has them: a fold's scores are predicted by what the other four
taught (one eighth of them stops the training). The reward model reads (s_t, a_t) alone; its sum and the mean of its
training scores are the prediction. Paired with the Mean of the same training sessions, bootstrap over all sessions;
`rudder` and `uniform` are the peers of the same run. Sessions share what taught their models, so that the interval
speaks of other sessions, not of other trainings. Turn labels are not read at all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import NAME, import_corpus
from apportion.corpus.schema import SPLITS
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.method import CorpusMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.projection import project
from apportion.decompose.reactions.extract import read_session
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    estimate,
    paired_difference,
    ratio,
    resample,
)
from apportion.evaluation.figures.calibration import calibration
from apportion.evaluation.figures.global_loss import episode_sums
from apportion.evaluation.references.test_set import TestSet, align
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.session import LLMSession
from apportion.reward_model.learning.distillation import train_reward_model
from apportion.reward_model.network.embed import embed_session
from apportion.reward_model.settings import RewardModelSettings
from benchmarks.measure import tell
from benchmarks.reaction import FOLDS, folds_of

METHOD_NAMES = ("reaction", "rudder", "uniform")
VALIDATION = 8
"""One of so many sessions of the other folds stops the training."""


@dataclass(frozen=True, eq=False)
class Material:
    """What every fold reads: the episodes, the turns' embeddings, the replies as read, uniform judgements."""

    episodes: tuple[Episode, ...]
    embeddings: pa.Table
    reactions: pa.Table
    uniform: pa.Table

    @classmethod
    def of(cls, sessions: Sequence[Session], embeddings: pa.Table, reactions: pa.Table) -> Material:
        settings = DecomposeSettings()
        judged = [
            judge_session("uniform", s, NAME, None, settings, LLMSession(settings.llm)).judgements for s in sessions
        ]
        episodes = tuple(episode for session in sessions for episode in session.episodes(NAME))
        return cls(episodes, embeddings, reactions, pa.concat_tables(judged))


def splits_of(session_ids: Sequence[str], fold: int) -> pa.Table:
    """``fold`` is tested; the others train and, one in eight, validate."""
    rows = []
    taught = 0
    for session_id, other in sorted(folds_of(list(session_ids)).items()):
        split = "test"
        if other != fold:
            taught += 1
            split = "train" if taught % VALIDATION else "validation"
        rows.append({"session_id": session_id, "split": split})
    return pa.Table.from_pylist(rows, schema=SPLITS.arrow)


def predictions(method: str, seed: int, material: Material, held: TestSet) -> tuple[Floats, Floats]:
    """Out-of-fold turn rewards of a reward model taught by ``method``, and the training mean of each episode's fold.

    Returns
    -------
    values : float64 [shape=(N,)]
    offsets : float64 [shape=(E,)]
    """
    folds = folds_of([episode.session_id for episode in held.episodes])
    fold_of = np.array([folds[episode.session_id] for episode in held.episodes])
    values, offsets = np.zeros(held.turns), np.zeros(len(held.episodes))
    settings, model = DecomposeSettings(), RewardModelSettings()
    for fold in range(FOLDS):
        splits = splits_of([episode.session_id for episode in held.episodes], fold)
        episodes = SplitEpisodes(material.episodes, splits)
        judged = material.uniform
        if isinstance(METHODS[method], CorpusMethod):
            data = TrainingData(episodes, material.embeddings, reactions=material.reactions)
            judged = fit_decomposer(method, data, TrainingConfig(settings, model, seed), _quiet).judgements
        rewards, projection = project(judged, episodes, "relative", METHODS[method])
        with tempfile.TemporaryDirectory() as folder:
            scores, _ = train_reward_model(
                rewards, episodes, material.embeddings, model, seed, projection.score_offset,
                Path(folder), _quiet,
            )  # fmt: skip
        found = align(scores, held, "reward")[method][0]
        tested = fold_of == fold
        values[np.repeat(tested, held.lengths)] = found[np.repeat(tested, held.lengths)]
        offsets[tested] = projection.score_offset
    return values, offsets


def losses(held: TestSet, values: Floats, offsets: Floats, how: EvaluationSettings) -> BootstrapResult:
    """Eq. 6 with an offset of each episode [shape=(K, N), (E,)]."""
    errors: Floats = np.square(held.scores - offsets - held.totals(values))
    return resample(episode_sums(held, errors), ratio, how)


def compare(source: str, material: Material, seeds: int) -> None:
    """Print the losses, paired with Mean's."""
    held, how = TestSet.of(material.episodes), EvaluationSettings()
    for method in METHOD_NAMES:
        started = time.process_time()
        rows, offsets = zip(*(predictions(method, seed, material, held) for seed in range(seeds)), strict=True)
        ours = losses(held, np.stack(rows), offsets[0], how)
        mean = losses(held, np.zeros((1, held.turns)), offsets[0], how)
        gain = estimate(paired_difference(mean, ours), 0.95)
        # Each fold's offset belongs to its prediction; what is left to add is 0.
        spread = np.stack(rows) + np.repeat(offsets[0] / held.lengths, held.lengths)
        told = calibration(held, spread, 0.0, how)
        slope = estimate(told.slope, 0.95) if isinstance(told.slope, BootstrapResult) else None
        tell(
            f"global loss of the reward model taught by {method}, five folds", ours.value, "squared units of the score",
            mean=mean.value, below_mean=[gain.value, gain.low, gain.high], sessions=gain.sessions, seeds=seeds,
            slope=[slope.value, slope.low, slope.high] if slope else None, source=source,
            cpu_s=round(time.process_time() - started),
        )  # fmt: skip


def _quiet(done: int, total: int, text: str) -> None:
    """Fifteen trainings need no progress of their own."""


def main(source: Path, seeds: int) -> None:
    corpus = Corpus.of(source.parent, import_corpus(source, {}).tables)
    sessions, settings = list(corpus.iter_sessions()), DecomposeSettings().reaction
    embeddings = pa.concat_tables([embed_session(session, NAME, RewardModelSettings()) for session in sessions])
    reactions = pa.concat_tables([read_session(session, NAME, settings) for session in sessions])
    compare(source.name, Material.of(sessions, embeddings, reactions), seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    main(arguments.source, arguments.seeds)
