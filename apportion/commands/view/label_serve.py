"""`apportion label serve`: dialogues to label that teach most, until it is known which methods to trust."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from apportion.commands.shared.options import CORPUS, PATH
from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import imports_of


@click.command("serve")
@click.argument("corpus", type=CORPUS)
@click.option(
    "--run",
    "run",
    type=PATH,
    metavar="RUN_OR_CONFIG",
    help="A finished run of CORPUS, whose methods are judged.  [default: one is made in OUT]",
)
@click.option("--out", type=PATH, help="Where a run is made.  [default: ./NAME-labels]")
@click.option("--rating", metavar="NAME", help="Which score the run is of, where there are several.")
@click.option("--target", metavar="WHO", help="Whose turns get labels where nobody is rated: first, second or a name.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free one from 8617 on]")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or only print the address.")
def serve_command(
    corpus: Path,
    run: Path | None,
    out: Path | None,
    rating: str | None,
    target: str | None,
    port: int | None,
    browser: bool,
) -> None:
    """Let people label the dialogues of CORPUS that teach most; after 20 of them it is told which methods to trust.

    The page Label counts down, as this terminal does, and then says whether replies tell how turns land here. Without
    --run the methods that need no training judge the corpus first; nothing is sent. Labels lie beside the run.
    """
    with imports_of("view", "`label serve`"):
        from apportion.viewer.serve import LOOPBACK, serve
    from dataclasses import replace

    from apportion.viewer.data.run_location import beside, open_place

    if run is None:
        run = _judged(corpus, out or Path(f"{corpus.resolve().name}-labels"), rating, target)
    place = open_place(run, corpus)
    serve(place, LOOPBACK, port, browser, click.echo, replace(beside(place), teaching=True))


def _judged(corpus: Path, out: Path, rating: str | None, target: str | None) -> Path:
    """A run of methods that need no training; one that is there stays. Raises InputError: it is of another corpus."""
    from apportion.commands.shared.places import write
    from apportion.commands.shared.start_choices import CONFIG, Wishes, configuration
    from apportion.corpus.corpus import Corpus
    from apportion.pipeline.config import load_config
    from apportion.pipeline.first_rewards import make_rewards

    config = out / CONFIG
    wishes = Wishes({}, rating, target, yes=False)
    if wishes or not config.is_file():
        text, why = configuration(corpus, out, corpus, "corpus", Corpus.open(corpus), wishes)
        write(config, "--out", text)
        click.echo(f"wrote {config}: {why}")
    held = load_config(config, checked=())
    if held.corpus.resolve() != corpus.resolve():
        raise InputError(f"{config}: it is of {held.corpus}. Name another folder for {corpus}: --out FOLDER.")
    if wishes or not (held.output / "run.json").is_file():
        make_rewards(config, quiet=not sys.stderr.isatty())
    return held.output
