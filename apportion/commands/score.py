"""`apportion policy score`: a trained reward model on the dialogues of a corpus."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, option_names
from apportion.commands.shared.places import check_place, unwritable
from apportion.commands.shared.progress import shown_progress
from apportion.commands.shared.score_notes import left_out, unlike_lines
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.reward_model.corpus_scores import CorpusScores
    from apportion.reward_model.scoring import ScoringResult

SUFFIXES = (".parquet", ".jsonl")


@click.command("score")
@click.argument("model", type=PATH)
@click.argument("corpus", type=CORPUS)
@click.option(
    "--out", "-o", type=PATH, default=Path("scores.parquet"), show_default=True, help="The table: .parquet or .jsonl."
)
@click.option("--rating", metavar="NAME", help="Only episodes of this rating.  [default: all]")
@click.option(
    "--target",
    metavar="SPEAKER",
    help="Score this speaker's turns, whoever was rated: a name, or first or second to speak in a session.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Use only the first N sessions.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@click.option("--force", is_flag=True, help="Replace the table if it is there.")
@json_option(quiet=True)
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
    and `seed` are taken from MODEL's name, and `rationale` flags turns that are unlike what taught MODEL: in another
    language, longer, or far from all of it. Exit code 1 where a session could not be scored. Stopped at any moment, the
    same command goes on with the next session; run again when it is finished, it says so.
    """
    from apportion.reward_model.score_journal import write_note
    from apportion.reward_model.scoring import finished, scored, write_scores

    check_place(out, "--out", SUFFIXES)
    given: dict[str, Any] = {"rating": rating, "target": target, "limit": limit, "threads": threads}
    told = None if force else finished(model, corpus, out, **given)
    if told is not None:
        click.echo(json.dumps(told, indent=1, sort_keys=True) if as_json else _again(told, out))
        sys.exit(1 if told["failed"] else 0)
    check_place(out, "--out", SUFFIXES, force)
    with (
        shown_progress("score", "sessions", as_json) as progress,
        scored(model, corpus, out, progress, **given, called=option_names()) as work,
    ):
        scores = work.scores
        if scores.tables:
            try:
                write_scores(scores, out)
                write_note(out, work.identity, _document(work, out))
            except OSError as error:
                raise unwritable(out, "--out", error) from None
    if not scores.tables:
        raise InputError("\n".join([f"{corpus}: no turn could be scored, nothing is written.", *left_out(scores)]))
    click.echo(json.dumps(_document(work, out), indent=1, sort_keys=True) if as_json else _summary(scores, out, model))
    if scores.failed:
        sys.exit(1)


def _again(told: dict[str, Any], out: Path) -> str:
    lines = [
        f"{out}: nothing to do: it was made with exactly this "
        f"({told['turns']:,} turns of {told['sessions']:,} sessions)",
        *unlike_lines(told["unlike_training"]),
        *(f"failed: {session_id}: {cause}" for session_id, cause in told["failed"].items()),
    ]
    return "\n".join(lines)


def _document(work: ScoringResult, out: Path) -> dict[str, object]:
    scores = work.scores
    return {
        "out": str(out),
        "turns": len(scores.table),
        "sessions": len(scores.tables),
        "method": work.method,
        "seed": work.seed,
        "unrated": scores.unrated,
        "without_target_turns": scores.silent,
        "longer_than_read_at_once": scores.shortened,
        "unlike_training": None if scores.unlike is None else asdict(scores.unlike),
        "failed": scores.failed,
        "resumed": scores.resumed,
    }


def _summary(scores: CorpusScores, out: Path, model: Path) -> str:
    rewards, spread = (scores.table.column(name).to_numpy() for name in ("reward", "sd"))
    unlike = unlike_lines(None if scores.unlike is None else asdict(scores.unlike))
    lines = [
        *(line for line in unlike if line.startswith("warning")),
        f"scored {len(rewards):,} turns of {len(scores.tables):,} sessions: mean {rewards.mean():.4g}, "
        f"sd {rewards.std():.4g}, from {rewards.min():.4g} to {rewards.max():.4g}",
        f"sd over the model's heads: {spread.mean():.4g} in the mean (0: it has one head)",
        *(line for line in unlike if not line.startswith("warning")),
        *left_out(scores),
        f"wrote {out}",
        f"next: read {out} with pandas.read_parquet, or train a policy against {model}: apportion run CONFIG --only "
        "align"
        if out.suffix == ".parquet"
        else f"next: read {out} line by line, or train a policy against {model}: apportion run CONFIG --only align",
    ]
    return "\n".join(lines)
