"""What each difference between LLM-GELI as published and the defaults here is worth, one at a time and all together.

Run: python benchmarks/published_form.py [CONFIG] [--seeds 3] [--work FOLDER]

On the bundled demo (scores and "people's" labels planted, replies of a language model recorded real ones): `llm` and
`llm-multimodal` with the paper's wording of the prompt, its target (the score itself) and its soft constraint (nothing
is projected), alone and together; and the learned methods with the reward model trained on their own objective (Table
4's form) beside the one that their rewards teach. All variants are judged on the same held-out sessions in one
evaluation, so that every difference to the default is a paired one. One JSON line a figure: global loss (Eq. 6; a
difference above zero says that the change makes it worse), within-session Spearman with the labels (that it makes it
better).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.evaluation.evaluate import evaluate
from apportion.evaluation.evaluation import Evaluation, MethodFigures
from apportion.evaluation.inputs import Evidence, MethodValues
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.stages.shared import name_of
from benchmarks.measure import ROOT, tell

ASKING = ("llm", "llm-multimodal")
LEARNED = ("ircr", "rudder", "rrd-published", "ircr-va", "rudder-va", "rrd-va", "rrd-ls")
DEFAULT = "the default"
CHANGES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "the paper's wording": {"prompt": "paper"},
    "the score itself as target": {"target": "score"},
    "soft constraint": {"constraint": "soft"},
    "wording and target": {"prompt": "paper", "target": "score"},
    "wording and constraint": {"prompt": "paper", "constraint": "soft"},
    "wording, target and constraint": {"prompt": "paper", "target": "score", "constraint": "soft"},
}
"""What is changed of [decompose] (``prompt`` of [decompose.llm])."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One run's reward models and decompositions, with the offsets of the former."""

    scores: pa.Table
    rewards: pa.Table
    offsets: Mapping[str, float]

    def named(self, change: str) -> Variant:
        """The same with the change in every method's name."""
        offsets = {f"{name}: {change}": offset for name, offset in self.offsets.items()}
        return Variant(_renamed(self.scores, change), _renamed(self.rewards, change), offsets)


def _renamed(table: pa.Table, change: str) -> pa.Table:
    names = [f"{name}: {change}" for name in table.column("method").to_pylist()]
    at = table.schema.get_field_index("method")
    return table.set_column(at, table.schema.field(at), pa.array(names, pa.string()))


def run(config: Config) -> Variant:
    """Everything up to the evaluation; finished work in the run folder is used again."""
    summary = run_locally(config, ["evaluate"], quiet=True)
    if summary.quarantined:
        raise SystemExit(f"{summary.quarantined} units failed; see {config.output / 'quarantine.parquet'}")
    trained = open_engine(config).finished("train-reward")
    offsets = {name_of(unit): float(made.document("training")["score_offset"]) for unit, made in trained.items()}
    return Variant(
        pq.read_table(config.output / "scores.parquet"), pq.read_table(config.output / "rewards.parquet"), offsets
    )


def changed(base: Config, methods: tuple[str, ...], change: Mapping[str, Any], objective: str) -> Config:
    """``base`` with these methods, ``change`` in [decompose], and the reward models' objective."""
    wording = {"prompt": change["prompt"]} if "prompt" in change else {}
    own = {name: value for name, value in change.items() if name != "prompt"}
    decompose = base.decompose.model_copy(
        update={"methods": methods, "llm": base.decompose.llm.model_copy(update=wording), **own}
    )
    train_reward = base.train_reward.model_copy(update={"objective": objective})
    return base.model_copy(update={"decompose": decompose, "train_reward": train_reward})


def judged(config: Config, variants: list[Variant]) -> Evaluation:
    """All variants on the same held-out sessions."""
    corpus = Corpus.open(config.corpus)
    episodes = [episode for session in corpus.iter_sessions() for episode in session.episodes(config.rating)]
    return evaluate(
        MethodValues(
            scores=pa.concat_tables([variant.scores for variant in variants]),
            rewards=pa.concat_tables([variant.rewards for variant in variants]),
            offsets={name: offset for variant in variants for name, offset in variant.offsets.items()},
        ),
        SplitEpisodes(episodes, pq.read_table(config.output / "splits.parquet")),
        Evidence(turn_labels=corpus.tables.get("turn_labels")),
        config.evaluate,
    )


def told(evaluation: Evaluation, against: Mapping[str, str]) -> None:
    """Print each variant's figures, and its difference to the one that it is compared with."""
    for among in ("reward_models", "decompositions"):
        figures = {row.method: row for row in getattr(evaluation, among)}
        for name, row in figures.items():
            other = against.get(name)
            for figure in ("global_loss", "spearman") if among == "reward_models" else ("sum_residual", "spearman"):
                _tell(evaluation, among, row, figure, other)


def _tell(evaluation: Evaluation, among: str, row: MethodFigures, figure: str, other: str | None) -> None:
    value = getattr(row, figure)
    if not isinstance(value, Estimate):
        return
    difference = _difference(evaluation, among, figure, row.method, other) if other else None
    tell(
        f"{among.replace('_', ' ')}, {row.method}: {figure.replace('_', ' ')}", value.value,
        "squared units of the score" if figure == "global_loss" else "rho" if figure == "spearman" else "score",
        interval=[value.low, value.high], against=other, difference=difference, sessions=value.sessions,
        seeds=row.seeds,
    )  # fmt: skip


def _difference(evaluation: Evaluation, among: str, figure: str, name: str, other: str) -> list[float | None] | None:
    """``name`` less ``other`` with its interval, whichever of the two the evaluation has named first."""
    for pair in evaluation.comparisons:
        if (pair.among, pair.figure) == (among, figure) and {pair.method, pair.against} == {name, other}:
            sign = 1 if pair.method == name else -1
            ends = [pair.difference.low, pair.difference.high]
            low, high = ends if sign == 1 else [None if end is None else -end for end in reversed(ends)]
            return [sign * pair.difference.value, low, high]
    return None


def main(path: Path, seeds: int, work: Path) -> None:
    """Run every variant in one folder, whose embeddings they share, and judge them together."""
    base = load_config(path)
    audit = base.decompose.audit.model_copy(update={"sessions": 0})
    base = base.model_copy(
        update={
            "output": work,
            "seeds": tuple(range(seeds)),
            "decompose": base.decompose.model_copy(update={"audit": audit}),
        }
    )
    variants, against = [], {}
    for change, values in CHANGES.items():
        variants.append(run(changed(base, ASKING, values, "distilled")).named(change))
        against |= {f"{name}: {change}": f"{name}: {DEFAULT}" for name in ASKING if change != DEFAULT}
    learned = run(changed(base, LEARNED, {}, "both"))
    variants.append(learned)
    against |= {f"{name}-direct": name for name in LEARNED}
    told(judged(base, variants), against)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, nargs="?", default=ROOT / "demo" / "demo.toml")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="the run folder; finished work in it is used again")
    arguments = parser.parse_args()
    if arguments.work:
        main(arguments.config, arguments.seeds, arguments.work)
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(arguments.config, arguments.seeds, Path(folder) / "run")
