"""`apportion label`: people's labels of turns into a corpus, to Label Studio and back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, with_options

QUESTION_OPTIONS = (
    click.option("--name", default="", metavar="NAME", help="What the labels are called.  [default: landing, thumbs]"),
    click.option("--asks", default="", metavar="TEXT", help="What is asked of a turn.  [default: how it landed]"),
    click.option(
        "--scale", metavar="SCALE", help="thumbs, '1 to 5', '0 to 1 by 0.1', …  [default: NAME's, else thumbs]"
    ),
)


@click.command("merge")
@click.argument("overlays", metavar="OVERLAY...", nargs=-1, required=True, type=PATH)
@click.argument("corpus", type=CORPUS)
@click.argument("out", type=PATH)
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
@click.argument("corpus", type=CORPUS)
@click.argument("out", type=PATH)
@click.option("--rating", metavar="NAME", help="Only turns of those whom this rating credits.  [default: any]")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session; may be given again.")
@click.option("--labels", type=PATH, metavar="OVERLAY", help="Send its labels along.")
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
@click.argument("export", metavar="EXPORT.json", type=PATH)
@click.argument("corpus", type=CORPUS)
@click.argument("overlay", type=PATH)
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
