"""`apportion import` and `apportion inspect`: from other people's formats to a corpus, and a look at it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option
from apportion.commands.shared.places import beside, tell_corpus, tell_faces, write
from apportion.commands.shared.scenario_files import SCENARIO_KINDS, import_scenarios

if TYPE_CHECKING:
    from apportion.corpus.speakers.doubt import UnsureSpeakersError

KIND = "apportion.import.kind"


class ImportCommand(click.Command):
    """`apportion import`, whose help tells the options of the KIND that stands before ``--help``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the KIND: ``--help`` ends the command before arguments are read."""
        kind = self.make_parser(ctx).parse_args(list(args))[0].get("kind")
        ctx.meta[KIND] = kind if isinstance(kind, str) else None
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the KIND."""
        super().format_epilog(ctx, formatter)
        kind = ctx.meta.get(KIND)
        if kind is None:
            formatter.write("\n`apportion import KIND --help` lists what -o takes for that KIND.\n")
            return
        from apportion.corpus.importers.registry import options_of

        options = SCENARIO_KINDS[kind] if kind in SCENARIO_KINDS else options_of(kind)
        with formatter.section(f"Options of {kind}"):
            rows = [(f"-o {name}=…", meaning) for name, meaning in options.items()]
            formatter.write_dl(rows) if rows else formatter.write_text("It has none.")


@click.command("import", cls=ImportCommand)
@click.argument("kind")
@click.argument("source", metavar="SRC", type=CORPUS)
@click.argument("out", metavar="CORPUS", type=PATH)
@click.option("--option", "-o", "options", multiple=True, metavar="KEY=VALUE", help="An option of the KIND.")
@click.option("--overwrite", is_flag=True, help="Replace a corpus that is already there.")
@json_option()
def import_command(
    kind: str, source: Path, out: Path, options: tuple[str, ...], overwrite: bool, as_json: bool
) -> None:
    """Make a corpus from SRC. Sessions that cannot be imported are named, and the exit code is then 1.

    \b
    KIND is one of
      chat      chats with a score: JSON (OpenAI, ShareGPT), tables, traces of Langfuse, LangSmith, OpenTelemetry
      media     a folder a session: recordings, a transcript, ratings.csv
      candor    CANDOR: video calls, two ratings each
      uss       User Satisfaction Simulation (SGD.txt, ReDial.txt, ...)
      conture   ConTurE's data.json
      esconv    ESConv's JSON or JSONL
      convokit  a ConvoKit corpus folder
      soda      SODA dialogues (no scores)
      sotopia   published episodes of SOTOPIA (simulated)
      casino    CaSiNo: two divide food, water and firewood; what both thought of it
      dealornodeal  Deal or No Deal: two divide books, hats and balls (CC BY-NC)
      amazonhistoryprice  products with prices, as a file of bargains (no corpus) to be played
    """
    from apportion.corpus.importers import import_to
    from apportion.corpus.speakers.doubt import UnsureSpeakersError

    if kind in SCENARIO_KINDS:
        import_scenarios(source, out, pairs_of(options), overwrite, as_json)
        return
    pairs = pairs_of(options)
    try:
        report = import_to(kind, source, out, pairs, overwrite=overwrite)
    except UnsureSpeakersError as unsure:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        pairs["speakers"] = str(ask_speakers(unsure, pairs.get("speakers"), out))
        report = import_to(kind, source, out, pairs, overwrite=overwrite)
    tell_corpus(report, out, as_json)


def ask_speakers(unsure: UnsureSpeakersError, given: str | None, out: Path) -> Path:
    """Ask whose each label is; the answers go into a file beside the corpus, with what ``given`` says already."""
    from apportion.corpus.speakers.names import clean_name, name_key
    from apportion.corpus.speakers.speakers_file import SpeakersFile, read_speakers

    answers = read_speakers(Path(given)) if given else SpeakersFile()
    click.echo("Who speaks? A name, or - where the label is text of whoever spoke before.", err=True)
    for doubt in unsure.doubts:
        asked = f"{doubt.session_id}, {doubt.place}: {clean_name(doubt.written)}\n  speaker"
        name = click.prompt(asked, default=doubt.label, err=True)
        answers.names[clean_name(doubt.session_id), name_key(doubt.label)] = "" if name == "-" else clean_name(name)
    path = beside(out, "speakers.csv")
    write(path, "-o speakers", answers.to_csv())
    click.echo(f"your answers are in {path}; next time: -o speakers={path}", err=True)
    return path


@click.command("inspect")
@click.argument("corpus", type=CORPUS)
@json_option("the figures")
def inspect_command(corpus: Path, as_json: bool) -> None:
    """Count what CORPUS holds, draw its scores, and say what is missing or odd."""
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.inspection.inspect import inspect, render

    inspection = inspect(Corpus.open(corpus))
    if as_json:
        click.echo(json.dumps(inspection.to_json(), indent=1, sort_keys=True))
        return
    click.echo(render(inspection, where="--json tells all"))
    tell_faces(inspection.recorded)
    click.echo(f"next: apportion init {inspection.corpus}")


def pairs_of(options: tuple[str, ...]) -> dict[str, str]:
    """The options of an importer by name. Raises ``click.BadParameter``: one is no pair."""
    pairs = {}
    for option in options:
        key, separator, value = option.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{option!r}: write KEY=VALUE, for example low=1", param_hint="--option")
        pairs[key] = value
    return pairs
