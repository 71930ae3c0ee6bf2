"""Scoring a whole corpus with a saved reward model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpus.corpus import Corpus
from corpus.errors import InputError
from corpus.schema import EPISODE_KEY, REWARDS
from corpus.session import Episode, Rating, Session
from corpus.validate import validate
from pipeline.progress import StageProgress

if TYPE_CHECKING:
    import pyarrow as pa

    from reward_model.model import RewardModel


@dataclass(frozen=True)
class ScoreReport:
    """What was scored: ``turns`` of ``sessions``, and what was ``left_out`` and why."""

    out: str
    sessions: int
    turns: int
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"left out: {text}" for text in self.left_out]
        return "\n".join([*lines, f"wrote {self.out}: {self.turns} turns of {self.sessions} sessions"])


def score_corpus(
    model_folder: Path, corpus_folder: Path, out: Path, target: str | None, force: bool, progress: StageProgress
) -> ScoreReport:
    """Score every target turn of a corpus and write them to ``out`` (Parquet, REWARDS schema: ``reward`` is r_theta).

    Targets are those of the ratings; with ``target`` the speaker of that name, and no ratings are needed.

    Raises
    ------
    InputError
        A model or corpus that cannot be used, no turn to score, or a file that is there already.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from reward_model.model import RewardModel

    if out.exists() and not force:
        raise InputError(f"{out}: is there already. Give another --out, or --force to replace it.")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: there is no folder {out.absolute().parent}. Make it, or give another --out.")
    model = RewardModel.from_pretrained(model_folder)
    corpus = Corpus.open(corpus_folder)
    faults = [problem for problem in validate(corpus) if problem.severity == "error"]
    fatal = [str(problem) for problem in faults if problem.session_id is None]
    if fatal:
        raise InputError("\n".join([f"{corpus_folder}: the corpus cannot be used.", *fatal[:20]]))
    broken = {problem.session_id for problem in faults}
    usable = [session_id for session_id in corpus.session_ids() if session_id not in broken]
    progress.begin("score", len(usable))
    tables = []
    for session_id in usable:
        tables.append(_scored(model, model_folder.name, corpus.session(session_id), target))
        progress.advance("score", 1)
    table = pa.concat_tables([REWARDS.arrow.empty_table(), *tables])
    progress.end("score", f"{len(table)} turns")
    if not len(table):
        wanted = "a turn of a rated target" if target is None else f"a turn of {target!r}"
        raise InputError(f"{corpus_folder}: no session has {wanted}. Name the speaker to score: --target NAME.")
    partial = out.with_name(f".{out.name}.partial")
    pq.write_table(table, partial)
    partial.replace(out)
    return ScoreReport(
        str(out), len(set(table.column("session_id").to_pylist())), len(table), tuple(str(fault) for fault in faults)
    )


def _scored(model: RewardModel, name: str, session: Session, target: str | None) -> pa.Table:
    import pyarrow as pa

    known: dict[str, list[float]] = {}  # Many raters of one target read the same dialogue.
    rows = []
    for episode in _episodes(session, target):
        speaker = episode.rating.target
        if speaker not in known:
            known[speaker] = model.score_episode(episode).tolist()
        key = dict(zip(EPISODE_KEY, episode.key, strict=True))
        for turn, reward in zip(episode.target_turns, known[speaker], strict=True):
            rows.append({**key, "turn": turn, "method": name, "seed": 0, "reward": reward})
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def _episodes(session: Session, target: str | None) -> Iterator[Episode]:
    if target is None:
        yield from session.episodes()
    elif any(turn.speaker == target for turn in session.turns):
        # Nobody rated: rater and name stay empty, and the score is never looked at.
        yield Episode(session.session_id, session.turns, Rating("", target, "", 0.0, 0.0, 1.0))
