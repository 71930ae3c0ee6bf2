"""`apportion score`: a trained reward model on the dialogues of a corpus."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.places import check_place, unwritable
from foundation.errors import InputError

if TYPE_CHECKING:
    from corpus.corpus import Corpus
    from reward_model.corpus_scores import CorpusScores

SUFFIXES = (".parquet", ".jsonl")
SHOWN = 3


@click.command("score")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("scores.parquet"),
    show_default=True,
    help="The table: .parquet or .jsonl.",
)
@click.option("--rating", metavar="NAME", help="Only episodes of this rating.  [default: all]")
@click.option("--target", metavar="SPEAKER", help="Score this speaker's turns, whoever was rated.")
@click.option("--limit", type=click.IntRange(min=1), help="Use only the first N sessions.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@click.option("--force", is_flag=True, help="Replace the table if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress.")
def score_command(
    model: Path,
    corpus: Path,
    out: Path,
    rating: str | None,
    target: str | None,
    limit: int | None,
    threads: int,
    force: bool,
    as_json: bool,
) -> None:
    """Score every turn of the rated speaker in CORPUS with the reward model in the folder MODEL.

    CORPUS needs no ratings where --target names the speaker. The table has the columns of a run's `scores`; `method`
    and `seed` are taken from MODEL's name. Exit code 1 where a session could not be scored. Stopped at any moment, the
    same command goes on with the next session.
    """
    from corpus.corpus import Corpus

    _check_place(out, force)
    opened = Corpus.open(corpus)
    found, taught_by = _score(model, opened, (rating, target), limit, threads, as_json, out)
    rows = len(found.table)
    if not rows:
        raise InputError("\n".join([f"{corpus}: no turn could be scored, nothing is written.", *_left_out(found)]))
    if as_json:
        click.echo(json.dumps(_told(found, out, rows, taught_by), indent=1, sort_keys=True))
    else:
        click.echo(_summary(found, out, rows, model))
    if found.failed:
        sys.exit(1)


def _score(
    path: Path,
    corpus: Corpus,
    choice: tuple[str | None, str | None],
    limit: int | None,
    threads: int,
    quiet: bool,
    out: Path,
) -> tuple[CorpusScores, tuple[str, int]]:
    """Score, and write the table unless it would be empty; until it is there, what was scored stays in the journal."""
    import torch

    from pipeline.engine.progress import StageProgress
    from reward_model.corpus_scores import method_and_seed, score_corpus
    from reward_model.model import RewardModel
    from reward_model.score_journal import identity_of, open_journal

    torch.set_num_threads(threads)
    model = RewardModel.from_pretrained(path)
    taught_by = method_and_seed(path.resolve().name)
    sessions = corpus.session_ids()[:limit]
    identity = identity_of(path, model.config, corpus.root, (*choice, taught_by[0], str(taught_by[1])), threads)
    with open_journal(out, identity) as journal, StageProgress(quiet=quiet) as progress:
        progress.begin("score", len(sessions))

        def tell(done: int, total: int, session_id: str) -> None:
            progress.advance("score", 1)
            progress.note("score", f"{done} of {total} sessions")

        found = score_corpus(model, corpus, sessions, *choice, taught_by, tell, journal)
        if found.tables:
            _write(found, out)
        return found, taught_by


def _check_place(out: Path, force: bool) -> None:
    """Before hours are spent: whether the table can be written there."""
    if out.suffix not in SUFFIXES:
        raise InputError(f"--out {out}: the name must end in {' or '.join(SUFFIXES)}, which says how it is written.")
    if out.is_file() and not force:
        raise InputError(f"{out} exists. Use --force to replace it, or --out for another name.")
    check_place(out, "--out")


def _write(found: CorpusScores, out: Path) -> None:
    from corpus.schema import REWARDS
    from corpus.tablefile import write_table

    try:
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as folder:
            write_table(found.table, Path(folder) / out.name, REWARDS)
            (Path(folder) / out.name).replace(out)
    except OSError as error:
        raise unwritable(out, "--out", error) from None


def _told(found: CorpusScores, out: Path, rows: int, taught_by: tuple[str, int]) -> dict[str, object]:
    return {
        "out": str(out),
        "turns": rows,
        "sessions": len(found.tables),
        "method": taught_by[0],
        "seed": taught_by[1],
        "unrated": found.unrated,
        "without_target_turns": found.silent,
        "longer_than_read_at_once": found.shortened,
        "failed": found.failed,
        "taken_up": found.taken_up,
    }


def _summary(found: CorpusScores, out: Path, rows: int, model: Path) -> str:
    import numpy as np

    rewards = found.table.column("reward").to_numpy()
    lines = [
        f"scored {rows:,} turns of {len(found.tables):,} sessions: mean {np.mean(rewards):.4g}, "
        f"sd {np.std(rewards):.4g}, from {np.min(rewards):.4g} to {np.max(rewards):.4g}",
        *_left_out(found),
        f"wrote {out}",
        f"next: read {out} with pandas.read_parquet, or train a policy against {model}: apportion align CONFIG"
        if out.suffix == ".parquet"
        else f"next: read {out} line by line, or train a policy against {model}: apportion align CONFIG",
    ]
    return "\n".join(lines)


def _left_out(found: CorpusScores) -> list[str]:
    lines = []
    if found.taken_up:
        lines.append(f"taken up: {found.taken_up:,} sessions that had been scored before the last run was stopped")
    if found.shortened:
        lines.append(
            f"note: {_listed(found.shortened)} longer than the model reads at once; later turns were scored with less "
            "history than there is"
        )
    if found.unrated:
        lines.append(f"left out: {_listed(found.unrated)} without such a rating; --target names the speaker instead")
    if found.silent:
        lines.append(f"left out: {_listed(found.silent)} in which the target says nothing")
    return [*lines, *(f"failed: {session_id}: {cause}" for session_id, cause in found.failed.items())]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return f"{len(names):,} session{'' if len(names) == 1 else 's'} ({shown}{', …' if len(names) > SHOWN else ''})"
