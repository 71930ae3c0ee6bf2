"""Claims on corpora with people's turn labels: what another corpus's scores teach orders turns here, too; and how far
a linear model of the same inputs could come, were it taught the labels themselves (the supervised ceiling).

Run: python benchmarks/travel.py ../shared/data --kept /tmp/reactions

Within-session Spearman with the mean human turn rating, sessions with at least 4 labelled turns whose labels differ.
``own`` and ``ceiling`` are judged by five folds over sessions (`benchmarks.reaction.folds_of`), a model of other
corpora by all of theirs: it has seen no score and no label of this one. ``own + prior`` is the sum of both, each
standardised within the dialogue; whether such a mixture helps is for left-out scores to decide. Turn labels enter the
ceiling and the evaluation alone. ``--kept`` names a folder for what is read of the replies: reading takes minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from apportion.corpus.corpus import Corpus
from apportion.decompose.ensembling.component import standardised
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.model import CUE_SHARE, EMBEDDING_SHARE, fit, learn
from apportion.decompose.reactions.pretrained import TrainingProvenance
from apportion.decompose.reactions.transfer import PooledCorpora, PriorProvenance, learn_prior
from apportion.decompose.settings import ReactionSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import TurnLabels, read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from benchmarks.language_model_rows import CORPORA
from benchmarks.measure import tell
from benchmarks.reaction import FOLDS, folds_of
from benchmarks.replies import place_of, read_replies

SETTINGS, HOW = ReactionSettings(), EvaluationSettings()


@dataclass(frozen=True, eq=False)
class Judged:
    """One corpus: its reactions, and what people said of its turns."""

    name: str
    reactions: Reactions
    held: TestSet
    labels: TurnLabels

    @classmethod
    def read(cls, name: str, data: Path, kept: Path | None) -> Judged:
        importer, file, rating = CORPORA[name]
        return cls.of(name, Corpus.of(data, importer(data / file, {}).tables), rating, kept)

    @classmethod
    def of(cls, name: str, corpus: Corpus, rating: str, kept: Path | None) -> Judged:
        sessions = list(corpus.iter_sessions())
        table = read_replies(sessions, rating, place_of(name, kept))
        reactions = arrange(table, [episode for session in sessions for episode in session.episodes(rating)])
        held = TestSet.of(reactions.episodes)
        labels = read_labels(corpus.turn_labels, held, HOW)
        assert isinstance(labels, TurnLabels), f"{name}: {labels}"
        return cls(name, reactions, held, labels)

    @property
    def folds(self) -> np.ndarray:
        """The fold of each turn [shape=(N,)]."""
        folds = folds_of([episode.session_id for episode in self.reactions.episodes])
        return np.repeat([folds[e.session_id] for e in self.reactions.episodes], self._lengths)

    @property
    def _lengths(self) -> list[int]:
        return [len(episode.target_turns) for episode in self.reactions.episodes]

    def pool(self) -> PooledCorpora:
        about = TrainingProvenance(
            corpus=self.name, sessions=len(self.reactions.episodes), turns=len(self.reactions.cues)
        )
        return PooledCorpora(self.reactions, about)

    def own(self) -> Floats:
        """By what the scores of the other folds' sessions taught."""
        folds = folds_of([episode.session_id for episode in self.reactions.episodes])
        values = np.zeros(len(self.reactions.cues))
        for fold in range(FOLDS):
            taught = frozenset(session_id for session_id, other in folds.items() if other != fold)
            values = np.where(
                self.folds == fold, learn(self.reactions, taught, SETTINGS).values(self.reactions), values
            )
        return values

    def ceiling(self) -> Floats:
        """By a ridge that was taught the mean labels of the other folds' turns, each less its dialogue's mean."""
        means, _ = self.labels.means(len(self.reactions.cues))
        session = np.repeat(np.arange(len(self._lengths)), self._lengths)
        known = np.isfinite(means)
        of_session = np.bincount(session[known], means[known], len(self._lengths)) / np.maximum(
            1, np.bincount(session[known], minlength=len(self._lengths))
        )
        target = means - of_session[session]
        width = self.reactions.embeddings.shape[1]
        features = np.concatenate([self.reactions.embeddings, self.reactions.cues], axis=1)
        sd = features.std(axis=0)
        share = np.where(np.arange(features.shape[1]) < width, EMBEDDING_SHARE / np.sqrt(width), CUE_SHARE)
        features = np.where(sd > 1e-9, (features - features.mean(axis=0)) / np.where(sd > 1e-9, sd, 1.0), 0.0) * share
        values = np.zeros(len(features))
        for fold in range(FOLDS):
            taught = known & (self.folds != fold)
            model = fit(features[taught], target[taught])
            values = np.where(self.folds == fold, model.values(features), values)
        return values

    def together(self, one: Floats, other: Floats) -> Floats:
        """Both, standardised within each dialogue, one to one."""
        cuts = np.cumsum(self._lengths)[:-1]
        parts = zip(np.split(one, cuts), np.split(other, cuts), strict=True)
        return np.concatenate([standardised(a) + standardised(b) for a, b in parts])

    def agreement(self, values: Floats) -> BootstrapResult:
        return within_session(self.held, values[None], self.labels, HOW)


def show(corpus: Judged, name: str, sampled: BootstrapResult, own: BootstrapResult, **more: object) -> None:
    found, gain = estimate(sampled, 0.95), estimate(paired_difference(sampled, own), 0.95)
    tell(
        f"within-session Spearman, {name}", found.value, "rho", corpus=corpus.name, interval=[found.low, found.high],
        sessions=found.sessions, less_own=[gain.value, gain.low, gain.high], **more,
    )  # fmt: skip


def main(data: Path, kept: Path | None, names: Sequence[str], folder: Path | None) -> None:
    corpora = [Judged.read(name, data, kept) for name in names]
    if folder is not None:
        corpus = Corpus.open(folder)
        (rating,) = corpus.rating_names()
        corpora = [Judged.of(f"{folder.parent.name}-{folder.name}", corpus, rating, kept)]
    for corpus in corpora:
        values = corpus.own()
        own = corpus.agreement(values)
        show(corpus, "own scores", own, own)
        show(corpus, "ceiling: taught the turn labels", corpus.agreement(corpus.ceiling()), own)
        others = [other for other in corpora if other is not corpus]
        groups = [[other] for other in others] + ([others] if len(others) > 1 else [])
        for group in groups:
            prior = learn_prior([other.pool() for other in group], SETTINGS, PriorProvenance("benchmark", "unknown"))
            foretold = prior.values(corpus.reactions)
            taught = " + ".join(other.name for other in group)
            show(corpus, f"prior of {taught}", corpus.agreement(foretold), own, late=prior.card.late)
            both = corpus.agreement(corpus.together(values, foretold))
            show(corpus, f"own + prior of {taught}, one to one", both, own)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with uss/ and conture/")
    parser.add_argument("--kept", type=Path, help="a folder for what is read of the replies")
    parser.add_argument("--corpus", action="append", choices=tuple(CORPORA), help="only these; repeatable")
    parser.add_argument("--alone", type=Path, metavar="FOLDER", help="only this corpus folder, of one rating")
    given = parser.parse_args()
    main(given.data, given.kept, () if given.alone else given.corpus or tuple(CORPORA), given.alone)
