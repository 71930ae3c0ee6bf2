"""`apportion start`: from a file or a folder to its first rewards, with what was found and what is to be decided."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.corpus import ask_speakers, pairs_of
from apportion.commands.shared.options import PATH
from apportion.commands.shared.places import write
from apportion.commands.shared.start_choices import CONFIG, TABLES, Wishes, configuration
from apportion.commands.shared.start_told import facts, rewards_made, shown, told
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.corpus.importers.recognise import Recognised
    from apportion.corpus.writer import ImportReport


@click.command("start")
@click.argument("source", metavar="FILE|FOLDER", type=PATH)
@click.option("--out", type=PATH, help="The folder to write.  [default: ./NAME-apportion]")
@click.option(
    "--option", "-o", "options", multiple=True, metavar="KEY=VALUE", help="As of `apportion import`: -o score=csat."
)
@click.option("--rating", metavar="NAME", help="Which score is to become rewards, where there are several.")
@click.option("--target", metavar="WHO", help="Whose turns get rewards where nobody is rated: first, second or a name.")
@click.option("--yes", is_flag=True, help="Ask nothing: take what is suggested, and refuse where nothing is.")
def start_command(
    source: Path, out: Path | None, options: tuple[str, ...], rating: str | None, target: str | None, yes: bool
) -> None:
    """Say what FILE or FOLDER is, and make its first rewards, with nothing trained and nothing sent.

    Chats, tables, traces, recordings and corpora are told apart by what is in them. What is not sure is asked on a
    terminal, and refused elsewhere with the option that settles it. The folder gets a corpus, a short apportion.toml
    and a run to look at; the same command goes on after a stop, and makes nothing twice.
    """
    from apportion.corpus.importers.reading.asking import nobody_asked
    from apportion.corpus.importers.recognise import recognise

    found = recognise(source)
    name = source.resolve().name
    out = out or Path(f"{name.partition('.')[0] or name or 'data'}-apportion")
    with nobody_asked() if yes else nullcontext():
        code = _start(source, out, found, Wishes(pairs_of(options), rating, target, yes))
    sys.exit(code)


def _start(source: Path, out: Path, found: Recognised, wishes: Wishes) -> int:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.importers.recognise import CORPUS
    from apportion.corpus.power import weak_ratings

    earlier = _earlier(source, out)
    click.echo(f"{source}: {found.words}")
    report = None
    if found.kind == CORPUS:
        folder = source
    else:
        folder = out / TABLES
        report = _imported(found.kind, source, out, earlier, wishes)
    corpus = Corpus.open(folder)
    sessions = list(corpus.iter_sessions())
    weak = weak_ratings(corpus, report.problems if report else ())
    for line in (*facts(corpus, sessions), *told(report, out), "", *shown(sessions)):
        click.echo(line)
    config = out / CONFIG
    if wishes or not config.is_file():
        text, why = configuration(source, out, folder, found.kind, corpus, wishes)
        write(config, "--out", text)
        click.echo(f"wrote {config}: {why}")
    else:
        click.echo(f"{config} is kept as it is (options write it anew)")
    code = rewards_made(out, sum(bool(session.ratings) for session in sessions), weak)
    return code or int(report is not None and bool(report.left_out or report.problems))


def _earlier(source: Path, out: Path) -> dict[str, str] | None:
    """The options by which an earlier start made OUT from the same; None where nothing is there.

    Raises ``InputError``: OUT holds something else.
    """
    from apportion.corpus.writer import options_before
    from apportion.pipeline.config import load_config

    if not out.exists() or (out.is_dir() and not any(path.is_file() for path in out.rglob("*"))):
        return None
    options = options_before(out / TABLES, source)
    if options is not None:
        return options
    if (out / CONFIG).is_file() and load_config(out / CONFIG, checked=()).corpus.resolve() == source.resolve():
        return {}
    raise InputError(
        f"{out}: it is there and does not come from `apportion start {source}`. Name another folder: --out FOLDER."
    )


def _imported(kind: str, source: Path, out: Path, earlier: dict[str, str] | None, wishes: Wishes) -> ImportReport:
    """Import; what is not sure is asked, taken as suggested (`--yes`), or refused."""
    from apportion.corpus.importers import import_to
    from apportion.corpus.importers.chats.scales import NoScaleError
    from apportion.corpus.importers.reading.asking import choose, is_answered
    from apportion.corpus.speakers.doubt import UnsureSpeakersError

    options = {**(earlier or {}), **wishes.options}
    while True:
        try:
            return import_to(kind, source, out / TABLES, options, overwrite=earlier is not None)
        except NoScaleError as unsure:
            scale = choose(f"{unsure.what}. Which is it?", unsure.scales)
            if scale is None and wishes.yes and unsure.likely:
                scale = unsure.likely
                click.echo(f"scale      {scale}, as the scores look (-o scale=… says otherwise)")
            elif scale is None:
                hint = f" Or --yes, which takes {unsure.likely}." if unsure.likely else ""
                raise InputError(f"{unsure}{hint}") from None
            options["scale"] = scale
        except UnsureSpeakersError as unsure:
            if not is_answered():
                raise
            options["speakers"] = str(ask_speakers(unsure, options.get("speakers"), out / TABLES))
