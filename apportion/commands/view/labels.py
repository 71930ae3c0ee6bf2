"""`apportion label`: people's labels of turns into a corpus, to Label Studio and back."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import json_option, with_options
from apportion.foundation.errors import InputError

QUESTION_OPTIONS = (
    click.option("--name", default="", metavar="NAME", help="What the labels are called.  [default: landing, thumbs]"),
    click.option("--asks", default="", metavar="TEXT", help="What is asked of a turn.  [default: how it landed]"),
    click.option(
        "--scale", metavar="SCALE", help="thumbs, '1 to 5', '0 to 1 by 0.1', …  [default: NAME's, else thumbs]"
    ),
)


@click.command("serve")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--run",
    "run",
    type=click.Path(path_type=Path),
    metavar="RUN_OR_CONFIG",
    help="A finished run of CORPUS, whose methods are judged.  [default: one is made in OUT]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Where a run is made.  [default: ./NAME-labels]")
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
    try:
        from apportion.viewer.serve import LOOPBACK, serve
    except ModuleNotFoundError as error:
        raise InputError(
            f"`label serve` needs {error.name}. Install it with `pip install 'apportion[view]'`."
        ) from None
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
    if not config.is_file():
        wishes = Wishes({}, rating, target, yes=False)
        text, why = configuration(corpus, out, corpus, "corpus", Corpus.open(corpus), wishes)
        write(config, "--out", text)
        click.echo(f"wrote {config}: {why}")
    held = load_config(config, checked=())
    if held.corpus.resolve() != corpus.resolve():
        raise InputError(f"{config}: it is of {held.corpus}. Name another folder for {corpus}: --out FOLDER.")
    if not (held.output / "rewards.parquet").is_file():
        make_rewards(config, quiet=not sys.stderr.isatty())
    return held.output


@click.command("merge")
@click.argument("overlays", metavar="OVERLAY...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Let a later value by the same annotator replace the one before.")
@json_option(quiet=True)
def merge_command(overlays: tuple[Path, ...], corpus: Path, out: Path, replace: bool, as_json: bool) -> None:
    """Write CORPUS with the labels of each OVERLAY into the new folder OUT, for `apportion run --only evaluate`.

    An overlay is the file RUN.labels.jsonl beside a run. CORPUS stays as it is; its recordings are hard-linked.
    """
    from apportion.commands.shared.places import tell_corpus
    from apportion.corpus.corpus import Corpus
    from apportion.viewer.labels.merge import merge

    report = merge(overlays, Corpus.open(corpus), out, replace=replace)
    if not as_json:
        setting = f"corpus = {json.dumps(str(out.absolute()))}"
        click.echo(f"next: put {setting} into the run's configuration, then apportion run CONFIG --only evaluate")
    tell_corpus(report, out, as_json)


@click.command("export")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--rating", metavar="NAME", help="Only turns of those whom this rating credits.  [default: any]")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session; may be given again.")
@click.option("--labels", type=click.Path(path_type=Path), metavar="OVERLAY", help="Send its labels along.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@json_option(quiet=True)
def export_command(
    corpus: Path,
    out: Path,
    rating: str | None,
    sessions: tuple[str, ...],
    labels: Path | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Write the target turns of CORPUS as tasks of Label Studio: OUT.json to import, OUT.xml its interface.

    No score and no reward is in them. With --labels the labels that people gave so far go along as predictions.
    """
    from apportion.commands.shared.places import check_place, write
    from apportion.corpus.corpus import Corpus
    from apportion.viewer.labels.label_store import Overlay
    from apportion.viewer.labels.label_studio import export_tasks

    places = (out.with_suffix(".json"), out.with_suffix(".xml"))
    for place in places:
        check_place(place, "OUT", force=force)
    overlay = None if labels is None else Overlay(labels)
    tasks = export_tasks(Corpus.open(corpus), _question(overlay, asked), rating, sessions, overlay)
    for place, text in zip(places, (tasks.to_json(), tasks.interface), strict=True):
        write(place, "OUT", text)
    if as_json:
        click.echo(json.dumps({"tasks": len(tasks.tasks), "files": [str(place) for place in places]}, indent=1))
        return
    click.echo(f"wrote {places[0]} ({len(tasks.tasks):,} tasks) and {places[1]}")
    click.echo("next: in Label Studio, paste the .xml into Labeling Interface > Code, then import the .json")


@click.command("import")
@click.argument("export", metavar="EXPORT.json", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("overlay", type=click.Path(path_type=Path))
@json_option(quiet=True)
def import_command(export: Path, corpus: Path, overlay: Path, as_json: bool, **asked: Any) -> None:
    """Append what was answered in Label Studio (EXPORT.json, its JSON export) to the labels in OVERLAY.

    The tasks are those of `apportion label export` from CORPUS; one of any other session or turn is refused.
    """
    from apportion.corpus.corpus import Corpus
    from apportion.viewer.labels.label_store import Overlay
    from apportion.viewer.labels.label_studio import import_answers

    held = Overlay(overlay)
    answers = import_answers(export, Corpus.open(corpus), held, _question(held, asked))
    people = sorted({label.annotator for label in answers.labels})
    if as_json:
        told = {"labels": len(answers.labels), "annotators": people, "notes": list(answers.notes)}
        click.echo(json.dumps(told, indent=1, sort_keys=True))
        return
    click.echo(f"{overlay}: {len(answers.labels):,} labels{' by ' if people else ''}{', '.join(people)}")
    for note in answers.notes:
        click.echo(f"note: passed over: {note}")
    click.echo(f"next: apportion label merge {shlex.quote(str(overlay))} {shlex.quote(str(corpus))} OUT")


def _question(overlay: Any, asked: dict[str, Any]) -> Any:
    from apportion.viewer.labels.label import chosen_question

    there = {} if overlay is None else overlay.labels().questions
    return chosen_question(there, **{"scale": "thumbs" if not there else None, **_given(asked)})


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


for _command in (export_command, import_command):
    with_options(QUESTION_OPTIONS, _command)
