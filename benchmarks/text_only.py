"""Claim: a reward model that foretells reactions agrees with people more than one that mix's rewards teach.

Run: python -m benchmarks.text_only SGD ReDial ConTurE [--backbone smollm2] [--only TEACHER ...]

What reads the dialogue up to the turn alone, each turn judged by what four folds of five taught (the fold after it
stops the training). Within-session Spearman with people's mean label, as in `benchmarks.sources`. Teachers: `before`
(the rewards of `mix` projected onto the scores, by one head), `rewards` (the same by the ensemble: a run's default),
`mix`, `predicted reaction`, `reactions-en`, `reaction`, `score` (equal shares), `people` (their labels of the other
folds: the ceiling, the one row that reads any), and `llm` where replies are recorded (60 sessions). A row has the raw
reward and what a policy is paid (`advantage`), the mean correlation of both with the place and with `state only` (a
ridge from the dialogue before the turn to the predicted reaction's teacher), and paired gains over the first teacher of
--only and over the controls: VADER of the turn, place, length, state only. --kept keeps what was read. --settings
'{"freeze_backbone": false}' trains the reader. No peer does this.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import torch

from apportion.corpus.annotators import mean_labels
from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import SPLITS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.predicted_reaction import reaction_worth
from apportion.decompose.corpus_methods.stacked import sources_of
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.stacking import mixed, weigh
from apportion.decompose.methods import METHODS
from apportion.decompose.projection import project
from apportion.decompose.prompt_building.prompt import tells_quality
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.session_methods.sentiment import judge as sentiment
from apportion.decompose.session_methods.sentiment import load_classifier
from apportion.decompose.settings import DecomposeSettings
from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings
from apportion.reward_model.learning.distillation import Lesson, train_reward_model
from apportion.reward_model.network.embed import embed_session, embedding_matrix
from apportion.reward_model.settings import RewardModelSettings
from benchmarks.measure import tell
from benchmarks.sources import CORPORA, FOLDS, JUDGED, folds_of, judgements, read_replies, recorded

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
TEACHERS = ("before", "rewards", "mix", "predicted reaction", "reactions-en", "reaction", "score", "people", "llm")


class Study:
    """One corpus, its folds, and what was read of it."""

    def __init__(self, name: str, kept: Path, settings: RewardModelSettings, most: int | None = None) -> None:
        importer, path, self.rating = CORPORA[name]
        source = SHARED / "data" / path
        corpus = Corpus.of(source.parent, importer(source, {}).tables)
        self.name, self.settings = name, settings
        sessions = {session.session_id: session for session in corpus.iter_sessions()}
        drawn = set(sorted(sessions, key=lambda name: crc32(name.encode()))[:most])
        self.sessions = {name: session for name, session in sessions.items() if name in drawn}
        episodes = [e for session in self.sessions.values() for e in session.episodes(self.rating)]
        table = read_replies(self.sessions.values(), self.rating, kept / f"{name}.feather")
        self.reactions = arrange(table, episodes)
        self.episodes = self.reactions.episodes
        self.folds = folds_of([episode.session_id for episode in self.episodes])
        self.fold_of = np.repeat([self.folds[e.session_id] for e in self.episodes], np.diff(self.reactions.offsets))
        self.place = np.concatenate([np.arange(len(e.target_turns), dtype=float) for e in self.episodes])
        self.said = mean_labels(corpus.turn_labels)
        self.held, self.how = TestSet.of(self.episodes), EvaluationSettings()
        self.labels = read_labels(corpus.turn_labels, self.held, self.how)
        self.embeddings = self._embedded(kept / f"{name}-{settings.backbone}-{settings.scoring}.feather")
        decompose = DecomposeSettings()
        with LLMSession(LLMSettings()) as asker:
            vader = {e.session_id: [j.value for j in sentiment(e, None, decompose, asker)] for e in self.episodes}
        self.llm = recorded(JUDGED / f"{name}.jsonl", self.sessions, self.rating, "blind")
        self.config = TrainingConfig(decompose, settings, 0)
        judged = judgements("sentiment", self.episodes, vader)
        self.data = TrainingData(SplitEpisodes(self.episodes, SPLITS.arrow.empty_table()), self.embeddings, None, table)
        self.judged = judged

    def _embedded(self, kept: Path) -> pa.Table:
        if kept.is_file():
            table = feather.read_table(kept)
            return table.filter(pc.is_in(table["session_id"], pa.array(list(self.sessions))))
        began = time.process_time()
        table = pa.concat_tables(
            [embed_session(s, self.rating, self.settings).embeddings for s in self.sessions.values()]
        )
        tell(
            f"{self.name}: reading a turn, {self.settings.backbone}",
            (time.process_time() - began) / len(table),
            "CPU s",
        )
        feather.write_feather(table, str(kept))
        return table

    def taught(self, fold: int) -> TrainingData:
        """The corpus with ``fold`` held out and the next one to stop the training."""
        homes = {fold: "test", (fold + 1) % FOLDS: "validation"}
        rows = [{"session_id": s, "split": homes.get(of, "train")} for s, of in self.folds.items()]
        splits = SplitEpisodes(self.episodes, pa.Table.from_pylist(rows, schema=SPLITS.arrow))
        return TrainingData(splits, self.embeddings, None, self.data.reactions, self.judged)

    def lesson(self, teacher: str, fold: int) -> Lesson:
        """What ``teacher`` says of the turns, by what the other folds taught it."""
        data = self.taught(fold)
        if teacher in ("before", "rewards"):
            mix = judgements("mix", self.episodes, self._values("mix", data))
            rewards, projection = project(mix, data.episodes, "relative", METHODS["mix"])
            return Lesson(rewards, data.episodes, self.embeddings, projection.score_offset)
        if teacher == "predicted reaction":
            return Lesson(reaction_worth("predicted-reaction", data, self.config), data.episodes, self.embeddings, None)
        values = self._values(teacher, data)
        table = judgements(teacher, self.episodes, values)
        table = table.set_column(table.schema.get_field_index("reward"), "reward", table["raw_reward"])
        return Lesson(table, data.episodes, self.embeddings, None)

    def _values(self, teacher: str, data: TrainingData) -> Mapping[str, list[float | None]]:
        training = data.episodes.of("train")
        if teacher == "people":
            return {e.session_id: [self.said.get((e.session_id, t)) for t in e.target_turns] for e in self.episodes}
        if teacher == "score":
            return {e.session_id: [e.score / len(e.target_turns)] * len(e.target_turns) for e in self.episodes}
        if teacher == "llm":
            return self.llm
        names = self.config.settings.stacking.components if teacher == "mix" else (teacher,)
        sources = sources_of(names, data, self.config)
        if teacher == "mix":
            weighing = weigh(sources, training, of_quality=tells_quality(self.rating), episodes=self.episodes)
            weights_of = cache(weighing.of)
            return {e.session_id: mixed(sources, weights_of, e).tolist() for e in self.episodes}
        found = {e.session_id: sources[0].values[e.key] for e in self.episodes}
        return {s: [None if np.isnan(v) else float(v) for v in of] for s, of in found.items()}

    def agreement(self, values: Floats) -> BootstrapResult:
        return within_session(self.held, values[None], self.labels, self.how)

    def within(self, one: Floats, other: Floats) -> float:
        """Mean correlation of ranks within sessions of four turns or more."""
        from scipy.stats import spearmanr

        pairs = zip(self.reactions.offsets, self.reactions.offsets[1:], strict=False)
        found = [
            spearmanr(one[a:b], other[a:b])[0]
            for a, b in pairs
            if b - a >= 4 and np.ptp(one[a:b]) and np.ptp(other[a:b])
        ]
        return float(np.mean(found))

    def targets(self, teacher: str, fold: int) -> Floats:
        """The lesson's rewards [shape=(N,)], NaN where there is none."""
        values = {(r["session_id"], r["turn"]): r["reward"] for r in self.lesson(teacher, fold).rewards.to_pylist()}
        keys = [(e.session_id, turn) for e in self.episodes for turn in e.target_turns]
        return np.array([np.nan if values.get(key) is None else values[key] for key in keys], dtype=float)

    def order_of(self, table: pa.Table) -> list[int]:
        """Where the N turns stand in a table of embeddings."""
        rows = table.select(["session_id", "turn"]).to_pylist()
        order = {(row["session_id"], row["turn"]): i for i, row in enumerate(rows)}
        return [order[e.session_id, turn] for e in self.episodes for turn in e.target_turns]

    def ridge(self, teacher: str, columns: Floats) -> Floats:
        """What a ridge from ``columns`` [shape=(N, d)] to the teacher says of each held-out fold."""
        values = np.zeros(len(columns))
        for fold in range(FOLDS):
            target, test = self.targets(teacher, fold), self.fold_of == fold
            learnt = ~test & np.isfinite(target)
            mean, sd = columns[learnt].mean(axis=0), columns[learnt].std(axis=0)
            rows, away = (
                (columns[learnt] - mean) / np.where(sd > 1e-9, sd, np.inf),
                target[learnt] - target[learnt].mean(),
            )
            both = [rows[self.fold_of[learnt] == (fold + 1) % FOLDS], rows[self.fold_of[learnt] != (fold + 1) % FOLDS]]
            ends = [away[self.fold_of[learnt] == (fold + 1) % FOLDS], away[self.fold_of[learnt] != (fold + 1) % FOLDS]]
            gram, along = both[1].T @ both[1], both[1].T @ ends[1]
            unit = np.trace(gram) / len(gram) * np.eye(len(gram))
            weights = [np.linalg.solve(gram + penalty * unit, along) for penalty in (0.3, 1.0, 3.0, 10.0, 100.0)]
            best = min(weights, key=lambda w: float(np.square(ends[0] - both[0] @ w).mean()))
            values[test] = (columns[test] - mean) / np.where(sd > 1e-9, sd, np.inf) @ best
        return values

    def trained(self, teacher: str, settings: RewardModelSettings, embeddings: pa.Table | None) -> dict[str, Floats]:
        """Reward, sd and advantage of every turn by the model of the folds without it, and other figures."""
        found = {name: np.zeros(len(self.fold_of)) for name in ("reward", "sd", "advantage")}
        losses, metrics, began = [], [], time.process_time()
        for fold in range(FOLDS):
            lesson = self.lesson(teacher, fold)
            lesson = Lesson(lesson.rewards, lesson.episodes, embeddings, lesson.score_offset)
            with tempfile.TemporaryDirectory() as out:
                made = train_reward_model(lesson, settings, 0, Path(out), lambda *told: None)
                metrics.append(Path(out, "README.md").read_text())
            rows = {(r["session_id"], r["turn"]): r for r in made.scores.to_pylist()}
            for i, key in enumerate((e.session_id, t) for e in self.episodes for t in e.target_turns):
                if self.fold_of[i] == fold:
                    for name, column in found.items():
                        column[i] = rows[key][name]
            mean = np.mean([e.score for e in lesson.episodes.of("train")])
            for place, e in enumerate(self.episodes):
                if self.folds[e.session_id] == fold:
                    of = slice(self.reactions.offsets[place], self.reactions.offsets[place + 1])
                    losses.append(
                        (mean - e.score) ** 2 - (made.score_offset + found["reward"][of].sum() - e.score) ** 2
                    )
        found["below mean"] = np.array(losses)
        found["of 100"] = np.array([
            [float(line.split("|")[2]) for line in text.splitlines() if line.startswith("| of 100 replies")]
            for text in metrics
        ])  # fmt: skip
        found["cpu"] = np.array([(time.process_time() - began) / FOLDS])
        return found

    def tell(self, row: str, found: Mapping[str, Floats], others: Mapping[str, Floats], state: Floats | None) -> None:
        """The figures of one row, and its gains over ``others``."""
        for kind in ("reward", "advantage"):
            if kind not in found:
                continue
            sampled = self.agreement(found[kind])
            figure = estimate(sampled, 0.95)
            more: dict[str, object] = {"place": round(self.within(found[kind], self.place), 3)}
            if state is not None:
                more["state"] = round(self.within(found[kind], state), 3)
            for name, values in others.items():
                if "," not in name or name.endswith(kind):
                    less = estimate(paired_difference(sampled, self.agreement(values)), 0.95)
                    more[f"over {name}"] = [round(v, 4) for v in (less.value, less.low, less.high)]
            tell(f"{self.name}: {row}, {kind}", figure.value, "rho", interval=[figure.low, figure.high], **more)
        if "below mean" in found:
            gains, variance = found["below mean"], np.var([e.score for e in self.episodes])
            half = 1.96 * gains.std() / len(gains) ** 0.5
            tell(
                f"{self.name}: {row}, loss below Mean", float(gains.mean() / variance), "of the variance",
                interval=[(gains.mean() - half) / variance, (gains.mean() + half) / variance],
                of_100=found["of 100"].mean(axis=0).round(1).tolist() if found["of 100"].size else None,
                cpu_s_of_a_training=round(float(found["cpu"][0]), 1),
            )  # fmt: skip


def controls_of(study: Study, contexts: Floats) -> dict[str, Floats]:
    """What knows nothing of a reply's worth, or nothing of the reply."""
    texts = [e.turns[p].text for e in study.episodes for p in e.target_positions]
    states = np.concatenate(
        [contexts[:, :384], contexts[:, 768:], study.place[:, None], np.log1p(study.place)[:, None]], axis=1
    )
    return {
        "VADER of the turn": np.array(load_classifier("vader")(texts)),
        "place": study.place,
        "length": np.array([float(len(text.split())) for text in texts]),
        "state only": study.ridge("predicted reaction", states),
    }


def main(given: argparse.Namespace, name: str) -> None:
    """The table of one corpus."""
    torch.set_num_threads(1)
    settings = RewardModelSettings.model_validate({"backbone": given.backbone, **json.loads(given.settings)})
    pooled = Study(name, given.kept, RewardModelSettings(), given.sessions)
    read = given.backbone != "minilm" and settings.freeze_backbone
    study = Study(name, given.kept, settings, given.sessions) if read else pooled
    contexts = embedding_matrix(pooled.embeddings).astype(float)[pooled.order_of(pooled.embeddings)]
    controls = controls_of(study, contexts)
    for control, values in controls.items():
        study.tell(control, {"reward": values}, {}, None)
    first: dict[str, Floats] = {}
    if given.against:
        kept = np.load(given.against / f"{name}-minilm-before.npz")
        first = {f"before, {kind}": kept[kind] for kind in ("reward", "advantage")}
    for teacher in given.only:
        others = controls | first
        alone = settings.model_copy(update={"heads": 1}) if teacher == "before" else settings
        found = study.trained(teacher, alone, study.embeddings if settings.freeze_backbone else None)
        how = "" if settings.freeze_backbone else " trained"
        study.tell(f"{teacher}, {given.backbone}{how}", found, others, controls["state only"])
        if teacher == given.only[0] and not given.against:
            first = {f"{teacher}, {kind}": found[kind] for kind in ("reward", "advantage")}
        if given.out:
            np.savez(given.out / f"{name}-{given.backbone}-{teacher.replace(' ', '-')}.npz", **found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", choices=tuple(CORPORA))
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir(), "text-only"), help="what was read")
    parser.add_argument("--out", type=Path, help="a folder for every turn's values")
    parser.add_argument("--against", type=Path, help="a folder of --out that has the values of `before`")
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--settings", default="{}", help="of train_reward, JSON")
    parser.add_argument("--sessions", type=int, help="so many sessions, drawn by their names")
    parser.add_argument("--only", nargs="+", choices=TEACHERS, default=TEACHERS)
    for corpus_name in parser.parse_args().corpora:
        main(parser.parse_args(), corpus_name)
