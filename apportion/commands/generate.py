"""`apportion policy generate`: what policies answer in the dialogues of a corpus, one response a context."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, json_option, option_names, with_options
from apportion.commands.shared.places import check_place, unwritable
from apportion.commands.shared.progress import shown_progress
from apportion.corpus.splits.settings import SPLITS
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.rlhf.compare.choice import Generation

FORMATS = ("parquet", "jsonl", "csv")
WINDOW_OPTIONS = (
    click.option("--context-turns", type=int, metavar="N", help="Most turns of history.  [default: as trained]"),
    click.option("--max-context-tokens", type=int, metavar="N", help="Longest prompt.  [default: as trained]"),
    click.option("--max-new-tokens", type=int, metavar="N", help="Longest response.  [default: as trained]"),
    click.option(
        "--temperature", type=float, metavar="T", help="0: the most likely token each time.  [default: as trained]"
    ),
    click.option(
        "--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where the policies run.  [default: auto]"
    ),
    click.option(
        "--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), help="Number format of weights.  [default: auto]"
    ),
)
CONTEXT_OPTIONS = (
    click.option("--contexts", type=click.IntRange(min=1), default=100, show_default=True, help="Most contexts."),
    click.option(
        "--split",
        type=click.Choice([*SPLITS, "all"]),
        default="test",
        show_default=True,
        help="The sessions that contexts are from.",
    ),
    click.option(
        "--splits",
        "splits_file",
        type=PATH,
        metavar="FILE",
        help="Which session is in which split.  [default: the run's splits.parquet beside POLICY]",
    ),
    click.option("--rating", metavar="NAME", help="Only episodes of this rating.  [default: all]"),
    click.option(
        "--target",
        metavar="SPEAKER",
        help="Answer in this speaker's place, whoever was rated: a name, or first or second to speak in a session.",
    ),
)


@click.command("generate")
@click.argument("policy")
@click.argument("corpus", type=PATH)
@click.option("--policy", "policies", multiple=True, metavar="POLICY", help="A further policy; may be repeated.")
@click.option("--out", "-o", type=PATH, metavar="FILE", help="The table.  [default: responses.FORMAT here]")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="How the table is written.  [default: by --out's suffix, else parquet]",
)
@click.option("--best-of", multiple=True, type=int, metavar="N", help="Draw N replies, keep the best; may be repeated.")
@click.option("--reward-model", type=PATH, metavar="FOLDER", help="By which; else the run's.")
@click.option("--pairs", is_flag=True, help="Also write the best and the worst, as TRL's trainers read them.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the draws.")
@click.option("--blind", is_flag=True, help="Call the policies A, B, ... anew in every context; a key file says who.")
@click.option("--batch", type=click.IntRange(min=1), default=16, show_default=True, help="Contexts at once.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
@click.option("--force", is_flag=True, help="Replace the table if it is there.")
@json_option(quiet=True)
def generate_command(
    policy: str,
    corpus: Path,
    policies: tuple[str, ...],
    out: Path | None,
    kind: str | None,
    threads: int,
    force: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Let POLICY answer in dialogues of CORPUS, in the place of the rated speaker: one response a context.

    POLICY is a folder that `apportion run --only align` wrote (RUN/policy), smollm2 (once fetched), or any causal
    language model with a chat template, by folder or Hugging Face name. NAME=POLICY calls it NAME in the table. With
    --policy all of them answer the same contexts. Stopped and run again it goes on; the same seed gives the same table.
    """
    from apportion.rlhf.compare.choice import GenerationRequest, choose

    path, called = _place(out, kind), option_names()
    generation = choose([policy, *policies], corpus, GenerationRequest(**wanted), called)
    finished = not force and generation.is_finished(path)
    if not finished:
        generation.check_free(path, force, called)
        _write(generation, path, threads, as_json)
    done = "nothing to do: it was made with exactly this" if finished else "written"
    key = generation.beside(path).get("key")
    if as_json:
        document = {**generation.to_json(), "key": None, **generation.beside(path), "out": str(path), "status": done}
        click.echo(json.dumps(document, indent=1, sort_keys=True))
    else:
        click.echo(generation.text())
        click.echo(f"{f'{path}: {done}' if finished else f'wrote {path}'} ({generation.rows:,} responses)")
        click.echo(generation.beside_text(path), nl=False)
        click.echo(f"next: {_next(path, key, generation.answering)}")
    if generation.sessions.failed:
        sys.exit(1)


def _place(out: Path | None, kind: str | None) -> Path:
    path = out or Path(f"responses.{kind or FORMATS[0]}")
    suffixes = [f".{name}" for name in FORMATS]
    if kind is not None and path.suffix in suffixes and path.suffix != f".{kind}":
        raise InputError(
            f"--out {path} and --format {kind}: the two disagree. Give one of them, or {path.stem}.{kind}."
        )
    check_place(path, "--out", suffixes)
    return path


def _write(generation: Generation, path: Path, threads: int, quiet: bool) -> None:
    with shown_progress("generate", "responses", quiet, where=True) as progress:
        progress(0, generation.drawn)
        try:
            generation.write(path, progress, threads)
        except OSError as error:
            raise unwritable(path, "--out", error) from None


def _next(path: Path, key: str | None, policies: int) -> str:
    if policies < 2:
        return f"read {path}, or let another policy answer the same with --policy"
    opened = f" --key {shlex.quote(key)}" if key else ""
    return f"apportion policy compare {shlex.quote(str(path))}{opened} --reward-model RUN/reward_models/METHOD-seed0"


generate_command = with_options((*CONTEXT_OPTIONS, *WINDOW_OPTIONS), generate_command)
