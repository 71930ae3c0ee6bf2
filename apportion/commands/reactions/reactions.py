"""`apportion train reactions`: what replies are worth, learnt from corpora with scores, as a file for others."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import CORPUS, PATH, json_option
from apportion.commands.shared.places import check_place
from apportion.commands.shared.stopped import Stopped


@click.command("reactions")
@click.argument("corpora", nargs=-1, required=True, type=CORPUS, metavar="CORPUS...")
@click.option("--out", required=True, type=PATH, metavar="FILE", help="A file .safetensors.")
@click.option("--rating", "ratings", multiple=True, metavar="NAME", help="Of corpora with several ratings; repeatable.")
@click.option("--name", metavar="NAME", help="What the model is called wherever it shows.  [default: FILE's name]")
@click.option("--licence", metavar="TEXT", help="Its licence, for the card.  [default: that of the corpora]")
@click.option("--backbone", default="minilm", show_default=True, help="What reads the replies.")
@click.option(
    "--max-tokens",
    type=click.IntRange(8, 8192),
    default=128,
    show_default=True,
    help="Tokens of an utterance that are read.",
)
@click.option("--force", is_flag=True, help="Write over FILE.")
@json_option("the card", quiet=True)
def learn_command(
    corpora: tuple[Path, ...],
    out: Path,
    ratings: tuple[str, ...],
    name: str | None,
    licence: str | None,
    backbone: str,
    max_tokens: int,
    force: bool,
    as_json: bool,
) -> None:
    """Learn from the scores of CORPUS... what the rater's replies are worth, and write that to FILE.

    Each corpus's scores are standardised, so that several scales may be mixed. No text is in the file: weights of the
    replies' numbers, and a card that says what taught them. `decompose.reaction.pretrained = FILE` uses it: as the
    method `prior`, also for a corpus that nobody scored.
    """
    from apportion.decompose.reactions.pretrained import SUFFIX, write_prior
    from apportion.decompose.reactions.transfer import PriorProvenance, gather, learn_prior
    from apportion.decompose.settings import ReactionSettings

    check_place(out, "--out", (SUFFIX,), force)
    if not 0 < len(name or out.stem) <= 80:
        raise click.UsageError("--name: from 1 to 80 letters.")
    settings = ReactionSettings(backbone=backbone, max_tokens=max_tokens)
    with Meter() as meter:

        def told(corpus: str, done: int, total: int) -> None:
            if not as_json:
                meter.say(f"{corpus}: {done} of {total} sessions", done == total)

        try:
            pools = gather(corpora, settings, ratings, licence, told)
        except KeyboardInterrupt:
            raise Stopped("Nothing was written; the same command reads all replies again.") from None
    about = PriorProvenance(name or out.stem, licence or "that of the corpora it was learnt from")
    prior = learn_prior(pools, settings, about)
    write_prior(out, prior)
    if as_json:
        click.echo(json.dumps({"file": str(out), **prior.card.model_dump(mode="json")}, indent=1, sort_keys=True))
        return
    click.echo(prior.card.told())
    click.echo(f"R^2 of scores that were left out one at a time: {prior.card.explained:.3f}")
    click.echo(f"wrote {out}, and its card beside it")
    click.echo(f'next: decompose.reaction.pretrained = "{out}" and the method prior in a configuration')
