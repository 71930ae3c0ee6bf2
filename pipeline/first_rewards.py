"""The first rewards of a new corpus: a short configuration, methods that learn nothing, sums that are checked."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.corpus.languages.names import in_words, understands
from apportion.corpus.languages.settling import languages_found
from apportion.corpus.session import Session
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.toml_text import toml_text
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.engine.load_corpus import REWARDS_WITHOUT
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from apportion.pipeline.execution.summary import RunSummary

ENGLISH, ANY = "reactions-en", "uniform"
_NEAR = 1e-6


@dataclass(frozen=True)
class Choice:
    """The methods of the first rewards, and why these."""

    methods: tuple[str, ...]
    why: str


def choose_methods(sessions: Mapping[str, Session], *, rated: bool) -> Choice:
    """What needs no training and understands the sessions.

    Raises ``InputError``: nobody gave a score, and no session is in English.
    """
    found = languages_found(dict(sessions)).values()
    english = sum(understands(frozenset({"en"}), one.language) for one in found)
    if english == len(found):
        return Choice((ENGLISH,), "it reads how the other side replies in English, and needs no training")
    others = Counter(one.language for one in found if not understands(frozenset({"en"}), one.language))
    told = ", ".join(f"{many:,} {in_words(language)}" for language, many in others.most_common(3))
    if not rated and not english:
        raise InputError(
            f"no session has a score, and none is in English ({told}): there is nothing to make rewards of. "
            f"{REWARDS_WITHOUT} Or give the sessions scores and start again."
        )
    if not english:
        return Choice(
            (ANY,), f"the sessions are in other languages than English ({told}): each turn has the same share"
        )
    if not rated:
        return Choice((ENGLISH,), f"it reads replies in English, and leaves {told} sessions out")
    return Choice((ENGLISH, ANY), f"{ENGLISH} reads the replies of {english:,} English sessions; {ANY} all ({told})")


def short_config(source: str, corpus: str, rating: str | None, target: str | None, methods: Sequence[str]) -> str:
    """A configuration of at most twelve lines, its paths relative to its folder."""
    lines = [f"# apportion start wrote this for {source}", f"corpus = {toml_text(corpus)}", 'output = "run"']
    lines += [f"rating = {toml_text(rating)}"] if rating else []
    method, *compare = methods
    lines += ["", "[decompose]", f"method = {toml_text(method)}"]
    lines += [f"compare = {toml_text(compare)}"] if compare else []
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

    Raises ``InputError``, ``UnitError``: as `apportion run`; no rewards came of it.
    """
    from apportion.pipeline.execution.local import run_locally

    # Whoever runs it later measures faces; here nothing is to be said of models for them.
    config = load_config(path).with_emotion_model("none", path.parent)
    summary = run_locally(config, [name for name in STAGES if STAGES.group(name) == "decompose"], quiet=quiet)
    if not (config.output / "rewards.parquet").is_file():
        raise UnitError(f"no rewards came of it.\n{summary.text()}")
    return summary, {name: _sums(config, name) for name in config.decompose.methods}


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
