"""Claim on USS: which form of a return decomposition's reward model predicts scores better, and which orders turns.

Run: python benchmarks/direct_models.py ../shared/data/uss/SGD.txt.gz [--kept FOLDER [--predict SEED]] [--method NAME]

A distilled model learns the turn rewards that IRCR, RUDDER, RRD or GELI have made of the scores (Eq. 5); a direct one
is the network that was trained on the objective itself, as LLM-GELI's Table 4 has it. The folds, the settings and the
Mean are those of benchmarks/session_scores.py: each session is predicted by what the other four folds taught. Both
forms come of the same training of the objective, so that they differ by the projection and the distillation alone.
Below them stand methods that are no objective; `mix` has the sources that need no language model here. RRD is told at
K = 32 and 160 where dialogues are longer than that, and then with all turns taken, too. Losses, and the within-session
Spearman with people's turn labels, are averaged over seeds; every difference is paired, bootstrap over all sessions.
Turn labels enter that correlation alone, but for ``--method people``: a model that people's labels of the other folds'
turns taught, as far as one can come with these inputs.

With a folder nothing is read or predicted twice; --predict fills it with one seed's predictions and tells nothing, so
that several processes can share the work.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import NAME, import_corpus
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData, learned
from apportion.decompose.method import CorpusMethod, ObjectiveMethod, SessionMethod
from apportion.decompose.method_settings import RRDSettings
from apportion.decompose.methods import METHODS
from apportion.decompose.projection import project
from apportion.decompose.reactions.extract import read_session
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet, align
from apportion.evaluation.references.turn_labels import TurnLabels, read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.session import LLMSession
from apportion.reward_model.learning.dataset import read_turns, turn_values
from apportion.reward_model.learning.distillation import train_reward_model
from apportion.reward_model.network.embed import embed_session
from apportion.reward_model.settings import RewardModelSettings
from benchmarks.measure import tell
from benchmarks.reaction import FOLDS, folds_of
from benchmarks.session_scores import losses, splits_of

OBJECTIVES = ("ircr", "rudder", "rrd", "rrd-ls")
OTHERS = ("reaction", "reactions-en", "mix", "sentiment", "uniform")
KS = (32, 160)
FORMS = ("distilled", "direct")
PEOPLE = "people"
"""No method: people's own turn labels in the place of judgements, which says how far these inputs can go."""


@dataclass(frozen=True, eq=False)
class Material:
    """What every fold reads: the episodes, the turns' embeddings, the replies as read, what judges one session."""

    sessions: Sequence[Session]
    kept: Path | None
    labels: TurnLabels | None = None

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        return tuple(episode for session in self.sessions for episode in session.episodes(NAME))

    @cached_property
    def embeddings(self) -> pa.Table:
        return self._read("embeddings", lambda session: embed_session(session, NAME, RewardModelSettings()))

    @cached_property
    def reactions(self) -> pa.Table:
        return self._read("reactions", lambda session: read_session(session, NAME, DecomposeSettings().reaction))

    @cached_property
    def judged(self) -> dict[str, pa.Table]:
        settings = DecomposeSettings()
        asker = LLMSession(settings.llm)
        return {
            method: pa.concat_tables(
                [judge_session(method, session, NAME, None, settings, asker).judgements for session in self.sessions]
            )
            for method in OTHERS
            if isinstance(METHODS[method], SessionMethod)
        }

    @cached_property
    def by_people(self) -> pa.Table:
        """The mean label of each turn as its judgement; none where nobody labelled it."""
        held = TestSet.of(self.episodes)
        assert self.labels is not None
        means, _ = self.labels.means(held.turns)
        windows = read_turns(held.episodes, self.embeddings, RewardModelSettings()).history_windows
        table = turn_values(windows, "raw_reward", means.tolist(), PEOPLE, 0)
        judged = pc.if_else(pc.is_nan(table["raw_reward"]), None, table["raw_reward"])
        return table.set_column(table.schema.get_field_index("raw_reward"), "raw_reward", judged)

    def _read(self, name: str, of_session: Callable[[Session], pa.Table]) -> pa.Table:
        path = None if self.kept is None else self.kept / f"{name}-{len(self.sessions)}.parquet"
        if path is not None and path.is_file():
            return pq.read_table(path)
        table = pa.concat_tables([of_session(session) for session in self.sessions])
        if path is not None:
            pq.write_table(table, path)
        return table


def kept_predictions(
    title: str,
    method: str,
    settings: DecomposeSettings,
    seed: int,
    material: Material,
    held: TestSet,
) -> Predicted:
    """`predictions`, made once where there is a folder to keep them in."""
    if material.kept is None:
        return predictions(method, settings, seed, material, held)
    path = material.kept / f"{title}-seed{seed}-{len(held.session_ids)}.npz"
    if not path.is_file():
        made = predictions(method, settings, seed, material, held)
        scratch = path.with_suffix(".unfinished.npz")
        np.savez(scratch, offsets=made.offsets, **made.values)  # type: ignore[arg-type]
        scratch.rename(path)
    with np.load(path) as arrays:
        return Predicted({form: arrays[form] for form in FORMS if form in arrays}, arrays["offsets"])


@dataclass(frozen=True, eq=False)
class Predicted:
    """Out-of-fold turn rewards [shape=(N,)] of each form, and the training mean of each episode's fold [shape=(E,)]."""

    values: dict[str, Floats]
    offsets: Floats


def predictions(method: str, settings: DecomposeSettings, seed: int, material: Material, held: TestSet) -> Predicted:
    """Both forms where the method is an objective, the distilled one alone where it is not."""
    session_ids = [episode.session_id for episode in held.episodes]
    folds = folds_of(session_ids)
    fold_of = np.array([folds[session_id] for session_id in session_ids])
    forms = FORMS if method in OBJECTIVES else FORMS[:1]
    values, offsets = {form: np.zeros(held.turns) for form in forms}, np.zeros(len(held.episodes))
    for fold in range(FOLDS):
        tested = fold_of == fold
        scores, offset = of_fold(method, settings, seed, material, splits_of(session_ids, fold))
        for form in forms:
            found = align(scores[form], held, "reward")[method][0]
            values[form][np.repeat(tested, held.lengths)] = found[np.repeat(tested, held.lengths)]
        offsets[tested] = offset
    return Predicted(values, offsets)


def of_fold(
    method: str, settings: DecomposeSettings, seed: int, material: Material, splits: pa.Table
) -> tuple[dict[str, pa.Table], float]:
    """The scores that each form's model gives all turns, by the training sessions of ``splits``, and their mean."""
    model, scores = RewardModelSettings(), {}
    episodes = SplitEpisodes(material.episodes, splits)
    data = TrainingData(
        episodes, material.embeddings, reactions=material.reactions, judgements=material.judged["sentiment"]
    )
    how = TrainingConfig(settings, model, seed)
    declared = METHODS["uniform" if method == PEOPLE else method]
    if method == PEOPLE:
        judged = material.by_people
    elif isinstance(declared, ObjectiveMethod):
        found = learned(declared, data, how, _quiet)
        judged = turn_values(found.history_windows, "raw_reward", found.rewards(scores_known=True), method, seed)
        direct = found.rewards(scores_known=False)
        scores["direct"] = turn_values(found.history_windows, "reward", direct, method, seed)
    elif isinstance(declared, CorpusMethod):
        judged = fit_decomposer(method, data, how, _quiet).judgements
    else:
        judged = material.judged[method]
    rewards, projection = project(judged, episodes, "relative", declared)
    with tempfile.TemporaryDirectory() as folder:
        scores["distilled"], _ = train_reward_model(
            rewards, episodes, material.embeddings, model, seed, projection.score_offset,
            Path(folder), _quiet,
        )  # fmt: skip
    return scores, projection.score_offset


Variant = tuple[str, str, DecomposeSettings]
"""A row: its title, method and settings."""


def variants(longest: int, only: Sequence[str] = ()) -> list[Variant]:
    """The rows of these methods, of all where none is named. K says nothing where no dialogue has more turns."""
    told = [k for k in KS if k < longest]
    rows = [(name, name, DecomposeSettings()) for name in (*OBJECTIVES, *OTHERS) if name != "rrd" or not told]
    drawn = [(f"rrd, K = {k}", "rrd", DecomposeSettings(rrd=RRDSettings(k=k))) for k in told]
    whole = [("rrd, all turns", "rrd", DecomposeSettings(rrd=RRDSettings(k=longest)))] if told else []
    ceiling = [(PEOPLE, PEOPLE, DecomposeSettings())] if PEOPLE in only else []
    return [*ceiling, *(row for row in (*drawn, *rows, *whole) if not only or row[1] in only)]


def compare(
    source: str, material: Material, labels: TurnLabels, held: TestSet, seeds: Sequence[int], rows: Sequence[Variant]
) -> None:
    """Print losses and agreement of every form, with their paired differences."""
    how = EvaluationSettings()
    tell("target turns of the longest dialogue", int(held.lengths.max()), "turns", source=source)
    for title, method, settings in rows:
        started = time.process_time()
        found = [kept_predictions(title, method, settings, seed, material, held) for seed in seeds]
        offsets = found[0].offsets
        mean = losses(held, np.zeros((1, held.turns)), offsets, how)
        loss, agreement = {}, {}
        for form in found[0].values:
            stacked = np.stack([each.values[form] for each in found])
            loss[form] = losses(held, stacked, offsets, how)
            agreement[form] = within_session(held, stacked, labels, how)
        forms = {form: _form(loss[form], agreement[form], mean) for form in loss}
        differences = {}
        if "direct" in loss:
            differences = {
                "direct_less_distilled_loss": _told(paired_difference(loss["direct"], loss["distilled"])),
                "direct_less_distilled_rho": _told(paired_difference(agreement["direct"], agreement["distilled"])),
            }
        tell(
            f"{title}: global loss by five folds, {', '.join(forms)}", forms["distilled"]["loss"][0],
            "squared units of the score", mean=mean.value, seeds=len(seeds), sessions=len(held.session_ids), **forms,
            **differences, source=source, cpu_s=round(time.process_time() - started),
        )  # fmt: skip
        sys.stdout.flush()


def _form(loss: BootstrapResult, agreement: BootstrapResult, mean: BootstrapResult) -> dict[str, list[float | None]]:
    return {
        "loss": _told(loss),
        "below_mean": _told(paired_difference(mean, loss)),
        "rho": _told(agreement),
        "loss_of_seeds": [round(float(value), 4) for value in loss.values],
        "rho_of_seeds": [round(float(value), 3) for value in agreement.values],
    }


def _told(sampled: BootstrapResult) -> list[float | None]:
    told = estimate(sampled, 0.95)
    return [None if value is None else round(value, 5) for value in (told.value, told.low, told.high)]


def _quiet(done: int, total: int, text: str) -> None:
    """A hundred trainings need no progress of their own."""


def main(given: argparse.Namespace) -> None:
    corpus = Corpus.of(given.source.parent, import_corpus(given.source, {}).tables)
    sessions = list(corpus.iter_sessions())[: given.limit]
    held = TestSet.of([episode for session in sessions for episode in session.episodes(NAME)])
    labels = read_labels(corpus.turn_labels, held, EvaluationSettings())
    assert isinstance(labels, TurnLabels), labels
    material = Material(sessions, given.kept, labels)
    rows = variants(int(held.lengths.max()), given.method)
    if given.predict is not None:
        for title, method, settings in rows:
            kept_predictions(title, method, settings, given.predict, material, held)
        return
    compare(given.source.name, material, labels, held, range(given.seeds), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="only so many sessions, to try it")
    parser.add_argument("--kept", type=Path, help="an existing folder for what was read and predicted of this corpus")
    parser.add_argument(
        "--method", action="append", default=[], choices=(*OBJECTIVES, *OTHERS, PEOPLE), help="only this one"
    )
    parser.add_argument("--predict", type=int, metavar="SEED", help="only make this seed's predictions, for --kept")
    arguments = parser.parse_args()
    if arguments.predict is not None and arguments.kept is None:
        parser.error("--predict needs --kept FOLDER")
    main(arguments)
