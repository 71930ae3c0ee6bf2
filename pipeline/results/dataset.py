"""A run's rewards as a Hugging Face `datasets` dataset: messages, and a reward beside each."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apportion.corpus.schema import REWARDS, SPLITS
from apportion.corpus.session import Episode, Turn
from apportion.corpus.targets import as_if_rated
from apportion.foundation.errors import InputError
from apportion.pipeline.results.run_folder import RunFolder, write_once

CARD = "README.md"
TRAINING_ROLES = ("user", "assistant")
NOT_SPLIT = "unsplit"


@dataclass
class DatasetReport:
    """What an export did: rows of each split, and files by what became of them."""

    out: Path
    rows: dict[str, int] = field(default_factory=dict)
    written: list[Path] = field(default_factory=list)
    unchanged: list[Path] = field(default_factory=list)
    refused: list[Path] = field(default_factory=list)
    kind: str = "dataset"
    following: str = ""
    """What comes next; of a dataset, how it is read."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        return {
            "format": self.kind,
            "out": str(self.out),
            "rows": self.rows,
            "written": [str(path) for path in self.written],
            "unchanged": [str(path) for path in self.unchanged],
            "refused": [str(path) for path in self.refused],
        }

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {rows:,}" for name, rows in self.rows.items())
        lines = [f"wrote {len(self.written)} files to {self.out} (rows: {counted})"]
        if self.unchanged:
            lines[0] += f"; {len(self.unchanged)} had the same content already"
        if self.refused:
            names = ", ".join(path.name for path in self.refused)
            lines.append(f"kept: {names}, which differ from what would be written. Use --force, or another --out.")
        if not self.refused:
            lines.append(f"next: {self.following}" if self.following else f'next: datasets.load_dataset("{self.out}")')
        return "\n".join(lines)


def export_dataset(
    run: RunFolder, out: Path, methods: Sequence[str], session_ids: Sequence[str], force: bool
) -> DatasetReport:
    """Write ``out/data/SPLIT-00000-of-00001.parquet`` and a card; ``datasets.load_dataset(out)`` reads them.

    One row an episode, method and seed. ``messages`` is a list of role and content: the credited speaker is
    ``assistant``, everybody else ``user``, and ``speakers`` names them; where several speak beside the credited one,
    their names stand before their words, too. ``backgrounds`` is what the credited speaker knew before the first turn,
    and nobody else's private rows; a corpus without any has no such column. ``rewards`` has one value a message, null
    for those that are not credited. ``methods`` and ``session_ids`` are all where empty.

    Raises InputError: The run has no rewards, or not of that method or session; the folder cannot be written to.
    """
    rows = reward_rows(run, methods, set(session_ids))
    splits = read_splits(run)
    by_split: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_split.setdefault(splits.get(row["session_id"], NOT_SPLIT), []).append(row)
    informed = any(row["backgrounds"] for row in rows)
    if not informed:
        for row in rows:
            del row["backgrounds"]
    several = any(len({*row["speakers"], row["target"]}) > 2 for row in rows)
    report = DatasetReport(out, {name: len(of_split) for name, of_split in sorted(by_split.items())})
    for name in report.rows:
        content = _parquet(by_split[name], informed)
        write_once(out / "data" / f"{name}-00000-of-00001.parquet", content, force, report)
    write_once(out / CARD, _card(list(report.rows), several, informed).encode(), force, report)
    return report


def reward_rows(run: RunFolder, methods: Sequence[str], session_ids: set[str]) -> list[dict[str, Any]]:
    """The rows of `export_dataset`; raises as that where a run has no such rewards."""
    rewards = _read(run, "rewards", [*REWARDS.key, "reward"])
    present = sorted({row["method"] for row in rewards})
    for method in methods:
        if method not in present:
            raise InputError(f"--method {method!r}: {run.folder} has rewards of {', '.join(present)}.")
    grouped: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in rewards:
        if (not methods or row["method"] in methods) and (not session_ids or row["session_id"] in session_ids):
            key = tuple(row[name] for name in ("session_id", "rater", "target", "name", "method", "seed"))
            grouped.setdefault(key, {})[row["turn"]] = row["reward"]
    missing = sorted(session_ids - {key[0] for key in grouped})
    if missing:
        raise InputError(f"--session {missing[0]!r}: no rewards of it in {run.folder}. Was it quarantined?")
    return list(_aligned(run, grouped))


def _aligned(run: RunFolder, grouped: dict[tuple[Any, ...], dict[int, float]]) -> Iterator[dict[str, Any]]:
    """Each episode's messages with its rewards beside them; of a corpus without scores the score is null."""
    episodes = {}
    for session_id, target in dict.fromkeys((key[0], key[2]) for key in grouped):
        session = run.corpus.session(session_id)
        seen = session if session.ratings else as_if_rated(session, target)
        episodes.update({episode.key: episode for episode in seen.episodes()})
    for (session_id, rater, target, name, method, seed), of_turn in grouped.items():
        episode = episodes.get((session_id, rater, target, name))
        if episode is None:
            raise InputError(
                f"{run.folder}: rewards of the rating {name!r} of {target!r} by {rater!r} in session {session_id}, "
                f"which {run.corpus.root} does not have (any more). Run `apportion run CONFIG --only decompose` again."
            )
        yield {
            "session_id": session_id,
            "rater": rater,
            "target": target,
            "rating": name,
            "score": episode.rating.score if episode.is_rated else None,
            "low": episode.rating.low,
            "high": episode.rating.high,
            "higher_is_better": episode.rating.higher_is_better,
            "method": method,
            "seed": seed,
            "messages": [_message(turn, episode) for turn in episode.turns],
            "speakers": [turn.speaker for turn in episode.turns],
            "rewards": [of_turn.get(turn.turn) for turn in episode.turns],
            "backgrounds": [
                {"kind": known.kind, "private": known.speaker is not None, "text": known.text}
                for known in episode.known_to_target
            ],
        }


def _message(turn: Turn, episode: Episode) -> dict[str, str]:
    user, assistant = TRAINING_ROLES
    if turn.speaker == episode.rating.target:
        return {"role": assistant, "content": turn.text}
    if not episode.is_multiparty:
        return {"role": user, "content": turn.text}
    # Chat templates know one user: of several, who speaks has to stand in the words, on a line that nobody else fakes.
    return {"role": user, "content": f"{turn.speaker}: {' '.join(turn.text.split())}"}


def read_splits(run: RunFolder) -> dict[str, str]:
    """The split of each session."""
    return {row["session_id"]: row["split"] for row in _read(run, "splits", SPLITS.arrow.names)}


def _read(run: RunFolder, name: str, columns: list[str]) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = run.folder / f"{name}.parquet"
    if not path.is_file():
        raise InputError(
            f"{path}: no such file, so the run has no {name} yet. Run `apportion run CONFIG --only decompose` first."
        )
    try:
        rows: list[dict[str, Any]] = pq.read_table(path, columns=columns).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: not a readable table ({str(error).splitlines()[0]}). Delete it and run `apportion run` again."
        ) from None
    return rows


def _parquet(rows: list[dict[str, Any]], informed: bool) -> bytes:
    from datasets import Dataset, Features, Value, disable_progress_bars

    text, real, truth = Value("string"), Value("float64"), Value("bool")
    features = Features(
        {
            **dict.fromkeys(("session_id", "rater", "target", "rating"), text),
            **dict.fromkeys(("score", "low", "high"), real),
            "higher_is_better": truth,
            "method": text,
            "seed": Value("int32"),
            "messages": [{"role": text, "content": text}],
            "speakers": [text],
            "rewards": [real],
            **({"backgrounds": [{"kind": text, "private": truth, "text": text}]} if informed else {}),
        }
    )
    disable_progress_bars()
    buffer = io.BytesIO()
    Dataset.from_list(rows, features=features).to_parquet(buffer)
    return buffer.getvalue()


def _card(splits: Sequence[str], several: bool, informed: bool) -> str:
    named = "\nWhere several speak beside the credited one, `content` begins with their names.\n" if several else "\n"
    if informed:
        named += "`backgrounds` is what the credited speaker knew before; `private` says that they alone did.\n"
    files = "\n".join(f"  - split: {name}\n    path: data/{name}-*.parquet" for name in splits)
    return f"""---
configs:
- config_name: default
  data_files:
{files}
---
# Turn rewards

Made by `apportion export --format dataset`. One row a rated conversation, method and seed. `messages` holds role and
content (the credited speaker is `assistant`), `rewards` one value a message in units of the score, null for messages
that are not credited; by default they sum to the score less the training mean (`decompose.target` and
`decompose.constraint` of the run say otherwise).{named}The text is the corpus's own, under its licence.
"""
