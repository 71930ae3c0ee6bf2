"""`apportion train refiner-data`: speeches that have a follower, and what their leaders want to hear."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from apportion.commands.shared.looks import LOOK_OPTIONS, looked_at
from apportion.commands.shared.options import PATH, json_option, model_options, option_names, with_options
from apportion.commands.shared.places import check_place
from apportion.commands.shared.progress import shown_progress

if TYPE_CHECKING:
    from apportion.llm_client.model_spec import ModelSpec
    from apportion.rlhf.stackelberg.instances.asking import Answered, Questions
    from apportion.rlhf.stackelberg.instances.instance import Instance
    from apportion.rlhf.stackelberg.instances.sources import Turns

MODEL_OPTIONS = (
    *model_options("--model", "what leaders know of their games", 1500, "TURNS.sqlite beside TURNS.jsonl"),
    click.option("--temperature", type=float, default=1.0, show_default=True, help="Of the language model."),
    *LOOK_OPTIONS,
)


@click.command("refiner-data")
@click.argument("sources", metavar="CORPUS...", type=PATH, nargs=-1, required=True)
@click.option("--out", "-o", type=PATH, metavar="TURNS.jsonl", required=True, help="The file that is written.")
@click.option("--count", type=click.IntRange(1), default=4000, show_default=True, help="Turns of each game, drawn.")
@click.option("--games", type=click.IntRange(1), metavar="N", help="Sessions of each corpus, drawn.  [default: all]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of both draws.")
@click.option("-k", type=click.IntRange(1), default=3, show_default=True, help="Desired answers, and undesired ones.")
@click.option("--apart", is_flag=True, help="Ask K times for one of each (Appendix C), not once for all (Figure 6).")
@click.option("--ask-base", is_flag=True, help="Ask for what the leaders say, too, in place of the corpus' words.")
@click.option("--intents", type=PATH, metavar="FILE.jsonl", help="Write them for the method `influence`, too.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option()
def instances_command(
    sources: tuple[Path, ...],
    out: Path,
    count: int,
    games: int | None,
    seed: int,
    k: int,
    apart: bool,
    ask_base: bool,
    intents: Path | None,
    force: bool,
    as_json: bool,
    temperature: float,
    preview: int | None,
    dry_run: bool,
    **model: Any,
) -> int:
    """Find the speeches in simulated games that another player answers, and what their leaders want to hear (Eq. 1).

    CORPUS are folders of `simulate`, or files of turns. The language model --model names K desired and K undesired
    answers for each; without one the turns are written alone. Replies are kept beside them: the same command pays for
    none twice. TURNS.jsonl holds the followers' true roles: it is for training, and nothing else.
    """
    from apportion.llm_client.model_spec import ModelSpec
    from apportion.rlhf.stackelberg.instances import asking
    from apportion.rlhf.stackelberg.instances.asking import BaseQuestions, IntentQuestions
    from apportion.rlhf.stackelberg.instances.instance import write_intents
    from apportion.rlhf.stackelberg.instances.sources import turns_of

    chosen, called = ModelSpec(**model), option_names()
    turns = turns_of(sources, instances=count, games=games, seed=seed)
    cache = chosen.cache or out.with_suffix(".sqlite")
    if not chosen.asks:
        if preview is not None or dry_run:
            raise click.UsageError("--preview and --dry-run look at what a language model is asked; give --model.")
        if intents is not None:
            raise click.UsageError("--intents writes what a language model names; give --model.")
        _check_unasked()
        check_place(out, "--out", (".jsonl",), force)
        return _written(out, turns, turns.instances, (), as_json)
    llm = chosen.llm(called, temperature)
    asked: list[tuple[Questions, tuple[Instance, ...]]] = [
        *([(BaseQuestions(llm), turns.instances)] if ask_base else []),
        (IntentQuestions(llm, k, "apart" if apart else "together"), asking.unnamed(turns.instances)),
    ]
    planned = partial(asking.planned, asked, chosen, cache, called)
    if looked_at(planned, preview, dry_run, as_json, whole=True, head=f"{turns}\n", turns=len(turns.instances)):
        return 0
    check_place(out, "--out", (".jsonl",), force)
    if intents is not None:
        check_place(intents, "--intents", (".jsonl",), force)
    answered = _answered([questions for questions, _ in asked], turns.instances, chosen, cache, as_json)
    if intents is not None:
        write_intents(intents, answered.instances)
    return _written(out, turns, answered.instances, answered.failed, as_json)


def _check_unasked() -> None:
    """Raise a usage error where an option says how a language model is asked, and none is."""
    context = click.get_current_context()
    for name, option in (("ask_base", "--ask-base"), ("apart", "--apart"), ("k", "-k")):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} is about what a language model is asked; give --model.")


def _answered(
    asked: list[Questions], instances: tuple[Instance, ...], chosen: ModelSpec, cache: Path, quiet: bool
) -> Answered:
    from apportion.rlhf.stackelberg.instances.asking import TOO_LONG, ask_about_instances

    with chosen.asker(asked[0].settings, cache, option_names(), TOO_LONG) as asker:
        asker.check()
        with shown_progress("refine instances", "turns", quiet) as progress:
            return ask_about_instances(asked, instances, asker.complete, chosen.concurrency, progress)


def _written(
    out: Path, turns: Turns, instances: tuple[Instance, ...], failed: tuple[tuple[str, str], ...], as_json: bool
) -> int:
    from apportion.rlhf.stackelberg.instances.instance import write_instances

    write_instances(out, instances)
    named = sum(bool(one.desired) for one in instances)
    if as_json:
        facts = {"turns": len(instances), "found": turns.found, "games": turns.games, "with_intents": named}
        skipped = dict(turns.skipped)
        click.echo(json.dumps({"file": str(out), **facts, "skipped": skipped, "failed": [list(f) for f in failed]}))
    else:
        click.echo(str(turns))
        for name, why in failed:
            click.echo(f"left out: {name}: {why}")
        click.echo(f"{out}: {len(instances):,} turns, {named:,} with intents; it holds the followers' true roles")
        if named:
            click.echo(f'next: instances = ["{out.name}"] in a TOML file, then apportion train refiner FILE.toml')
        else:
            click.echo(f"next: apportion train refiner-data {out} --out OTHER.jsonl --model MODEL")
    return 1 if failed else 0


with_options(MODEL_OPTIONS, instances_command)
