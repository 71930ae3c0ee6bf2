"""The first rewards of a new corpus: a short configuration, what needs no measuring, sums that are checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.errors import UnitError
from apportion.foundation.toml_text import toml_text
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.default_methods import Row
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from apportion.pipeline.execution.summary import RunSummary

_NEAR = 1e-6


def short_config(source: str, corpus: str, rating: str | None, target: str | None, row: Row) -> str:
    """A configuration of at most twelve lines, its paths relative to its folder."""
    lines = [f"# apportion start wrote this for {source}", f"corpus = {toml_text(corpus)}", 'output = "run"']
    lines += [f"rating = {toml_text(rating)}"] if rating else []
    lines += ["", "[decompose]", f"method = {toml_text(row.method)}"]
    lines += [f"compare = {toml_text(row.compare)}"] if row.compare else []
    lines += [f"reaction.target = {toml_text(target)}"] if target else []
    return "\n".join([*lines, "", "[align]", "enabled = false"]) + "\n"


@dataclass(frozen=True)
class Rewards:
    """How many turns of how many episodes have rewards, and how far the worst sum is from what it is to be."""

    turns: int
    episodes: int
    farthest: float
    offset: float

    @property
    def exact(self) -> bool:
        """Whether every sum is what it is to be, rounding aside."""
        return self.farthest < _NEAR


def make_rewards(path: Path, *, quiet: bool) -> tuple[RunSummary, Mapping[str, Rewards]]:
    """Run the methods of a configuration, no more: the run's summary, and what came of it by method.

    Recordings are not measured for it, which takes long: methods that would look at them are left for the whole run.

    Raises ``InputError``, ``UnitError``: as `apportion run`; no rewards came of it.
    """
    from apportion.pipeline.execution.local import run_locally

    # Whoever runs it later measures faces; here nothing is to be said of models for them.
    config = without_measuring(load_config(path).with_emotion_model("none", path.parent))
    summary = run_locally(config, [name for name in STAGES if STAGES.group(name) == "decompose"], quiet=quiet)
    if not (config.output / "rewards.parquet").is_file():
        raise UnitError(f"no rewards came of it.\n{summary.text()}")
    return summary, {name: _sums(config, name) for name in (config.decompose.method, *config.decompose.compare)}


def without_measuring(config: Config) -> Config:
    """The same with methods that look at no recording, where the corpus has some; unchanged if none were left."""
    from apportion.corpus.corpus import Corpus
    from apportion.decompose.method import StackedMethod
    from apportion.decompose.methods import METHODS

    if not any(session.media for session in Corpus.open(config.corpus).iter_sessions()):
        return config
    names = config.decompose.methods
    left = [n for n in names if not (METHODS[n].reads_features or isinstance(METHODS[n], StackedMethod))]
    return config.model_copy(update={"decompose": config.decompose.choosing(left)}) if left else config


def _sums(config: Config, method: str) -> Rewards:
    """The sum of every episode's rewards beside its score less what all were lowered by."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from apportion.corpus.corpus import Corpus
    from apportion.corpus.schema import EPISODE_KEY

    table = pq.read_table(config.output / "rewards.parquet")
    table = table.filter(pc.equal(table.column("method"), method))
    sums = table.group_by(list(EPISODE_KEY), use_threads=False).aggregate([("reward", "sum")]).to_pylist()
    scores = {e.key: e.score for s in Corpus.open(config.corpus).iter_sessions() for e in s.episodes(config.rating)}
    (document, *_) = sorted((config.output / "projections").glob(f"{method}-seed*.json"))
    offset = json.loads(document.read_text(encoding="utf-8"))["score_offset"]
    gaps = [
        abs(row["reward_sum"] - scores[key] + offset)
        for row in sums
        if (key := tuple(row[name] for name in EPISODE_KEY)) in scores
    ]
    return Rewards(table.num_rows, len(sums), max(gaps, default=math.nan), offset)
