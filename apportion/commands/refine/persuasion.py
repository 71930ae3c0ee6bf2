"""`apportion train refiner-eval`: whether followers answer what a Refiner's leaders wanted (Table 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import PATH, json_option, model_options, option_names, with_options
from apportion.commands.shared.progress import shown_progress

MODEL_OPTIONS = (
    *model_options("--model", "what followers know of their games", 400, "persuasion.sqlite in REFINER"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of the language model."),
)


@click.command("refiner-eval")
@click.argument("refiner", metavar="REFINER", type=PATH)
@click.option("--turns", type=PATH, metavar="TURNS.jsonl", help="[default: the held-out turns of REFINER]")
@click.option("--follower", metavar="MODEL", help="Who answers: a model of this machine, by name or folder.")
@click.option(
    "--embedding", default="minilm", show_default=True, metavar="MODEL", help="Of this machine; or MODEL@URL."
)
@click.option("--embedding-allow-host", metavar="HOST", help="Your consent to send followers' answers to HOST.")
@click.option("--count", type=click.IntRange(1), default=500, show_default=True, help="Turns, drawn.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of draws, speeches and answers.")
@json_option(quiet=True)
def persuasion_command(
    refiner: Path,
    turns: Path | None,
    follower: str | None,
    embedding: str,
    embedding_allow_host: str | None,
    count: int,
    seed: int,
    as_json: bool,
    temperature: float,
    **model: Any,
) -> None:
    """Let followers answer the speeches of REFINER after each epoch, and compare with what was wanted (Table 6).

    Answers are sampled from --follower, a model of this machine, or from the language model --model at a server, in the
    followers' own prompts with their true roles. The table has mean cosines of their answers with the desired and the
    undesired ones, and how much nearer they come than at epoch 0, with a 95 % interval over sessions.
    """
    from apportion.llm_client.model_spec import ModelSpec
    from apportion.rlhf.stackelberg.persuasion_eval.table import FILE, PersuasionQuery, persuade, persuasion_text

    chosen, called = ModelSpec(**model), option_names()
    if (follower is None) == (not chosen.asks):
        raise click.UsageError("give --follower (a model of this machine) or --model (one at a server), and not both.")
    asked = PersuasionQuery(
        refiner, turns, follower, chosen, temperature, embedding, embedding_allow_host, count, seed, called
    )
    with shown_progress("persuasion", "rows", as_json) as progress:
        found = persuade(asked, progress)
    if as_json:
        click.echo(json.dumps([row.to_json() for row in found.rows], indent=1))
        return
    who = follower or chosen.model or "recorded replies"
    click.echo(persuasion_text(found.rows, f"answers of {who}, by {embedding}"))
    click.echo(f"wrote {refiner / FILE}: each turn and epoch")


with_options(MODEL_OPTIONS, persuasion_command)
