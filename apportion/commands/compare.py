"""`apportion policy compare`: which policy's responses are preferred, by a reward model and by a language model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.looks import LOOK_OPTIONS, looked_at
from apportion.commands.shared.options import PATH, json_option, model_options, option_names, with_options
from apportion.commands.shared.places import check_place, write
from apportion.commands.shared.progress import shown_progress
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.rlhf.compare.judging import Judging

MOST_FAILURES = 10

JUDGE_OPTIONS = (
    *model_options("--judge", "the responses and their contexts", 1000, "NAME.judge.sqlite"),
    click.option(
        "--pseudonyms",
        type=PATH,
        metavar="CORPUS",
        help="Show the judge other names than those of the speakers of CORPUS, which the responses are from.",
    ),
    click.option("--name", "names", multiple=True, metavar="NAME", help="A further name to replace; may be repeated."),
    *LOOK_OPTIONS,
)


@click.command("compare")
@click.argument("responses", type=PATH)
@click.option("--key", type=PATH, metavar="FILE", help="The key to blind responses.")
@click.option("--reward-model", type=PATH, metavar="FOLDER", help="Judge by this reward model: the higher reward wins.")
@click.option("--out", "-o", type=PATH, metavar="FILE", help="Also write it to a .md or .json.")
@click.option("--verdicts", type=PATH, metavar="FILE", help="Write every verdict (JSON Lines).")
@click.option("--bootstrap", type=click.IntRange(100, 100_000), default=2000, show_default=True, help="Resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@json_option(quiet=True)
def compare_command(
    responses: Path,
    key: Path | None,
    reward_model: Path | None,
    out: Path | None,
    verdicts: Path | None,
    bootstrap: int,
    seed: int,
    threads: int,
    as_json: bool,
    preview: int | None,
    dry_run: bool,
    **judge: Any,
) -> None:
    """Compare the policies whose RESPONSES `apportion policy generate` wrote: the win rate of every two of them.

    --reward-model, --judge or both say who judges. A language model is asked about each pair in both orders; a
    response wins where both name it, all else is a tie. Replies are kept, so that the same command goes on. Exit code 1
    where a pair could not be judged.
    """
    from apportion.rlhf.compare import judging

    asks = judge["model"] is not None or judge["recorded"] is not None
    if reward_model is None and not asks:
        raise InputError("nobody judges: give --reward-model FOLDER, --judge MODEL, or both.")
    if not asks and (judge["pseudonyms"] is not None or judge["names"]):
        raise InputError("--pseudonyms and --name are for a judge: add --judge MODEL, or leave them out.")
    for option, path, suffixes in (("--out", out, (".md", ".json")), ("--verdicts", verdicts, (".jsonl",))):
        if path is not None:
            check_place(path, option, suffixes)
    called = option_names()
    pairs = judging.read_pairs(responses, key, called)
    asked = None
    if asks:
        asked = judging.LanguageModelJudge.of(pairs, responses, judging.JudgeSettings(**judge), called)
    if asked is not None and looked_at(asked.planned, preview, dry_run):
        return
    work = judging.Judging(pairs, bootstrap, seed)
    if reward_model is not None:
        work.by_reward(reward_model, threads)
    if asked is not None:
        with shown_progress("compare", "pairs", as_json) as progress:
            work.by_language_model(asked, progress)
    _tell(work, responses, out, verdicts, as_json)
    if work.failed:
        sys.exit(1)


def _tell(work: Judging, responses: Path, out: Path | None, verdicts: Path | None, as_json: bool) -> None:
    rates = work.win_rates()
    document = json.dumps(
        {"responses": str(responses), **rates.to_json(), "failed": work.failed}, indent=1, ensure_ascii=False
    )
    if verdicts is not None:
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in work.verdict_rows())
        write(verdicts, "--verdicts", "".join(rows))
    if out is not None:
        write(out, "--out", (document if out.suffix == ".json" else rates.markdown()) + "\n")
    if as_json:
        click.echo(document)
        return
    click.echo(rates.markdown())
    for line in work.failed[:MOST_FAILURES]:
        click.echo(f"failed: {line}")
    if len(work.failed) > MOST_FAILURES:
        click.echo(f"and {len(work.failed) - MOST_FAILURES:,} more failed; --json or --out FILE.json tells all")
    for path in (out, verdicts):
        if path is not None:
            click.echo(f"wrote {path}")
    click.echo(f"next: read the responses behind the figures in {responses}")


compare_command = with_options(JUDGE_OPTIONS, compare_command)
