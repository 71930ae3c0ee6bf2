"""`apportion study init`: from responses to a study's folder, or from one version of it to the next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from apportion.commands.shared.options import PATH
from apportion.foundation.errors import InputError

GUESSED = 2**40
"""A seed below this is found by trying: ids of responses are a hash of it and of names that are known."""


@click.command("init")
@click.argument("paths", nargs=-1, required=True, metavar="[SOURCE] STUDY", type=PATH)
@click.option(
    "--criteria", metavar="NAME_OR_FILE", help="geli, pairs, turns, savoir, negotiation, or a TOML file of your own."
)
@click.option("--from", "earlier", type=PATH, metavar="STUDY", help="Make a study's next version.")
@click.option("--title", help="What annotators see first.  [default: that of the criteria]")
@click.option("--base", metavar="POLICY", help="The policy that the others are compared to.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of orders and letters.  [default: drawn]")
@click.option("--contexts", type=click.IntRange(1), help="Take so many contexts at most, drawn.  [default: all]")
@click.option("--target", "targets", multiple=True, metavar="SPEAKER", help="Who is judged in a corpus; first, second.")
@click.option("--annotators-per-item", type=click.IntRange(1, 1_000), default=3, show_default=True)
@click.option(
    "--items-per-annotator", type=click.IntRange(1, 10_000), help="[default: 20, or all where there are fewer]"
)
@click.option("--practice", type=click.IntRange(0), default=1, show_default=True, help="Items that count for nothing.")
@click.option(
    "--checks-every", type=click.IntRange(0), help="An attention check in so many items; 0: none.  [default: 10]"
)
def init_command(paths: tuple[Path, ...], earlier: Path | None, criteria: str | None, **wanted: Any) -> None:
    """Make a study of what policies answered: a folder that says what is asked of whom.

    SOURCE is a table of `apportion policy generate` (Parquet, JSON Lines or CSV), with the policies' names in it; in
    STUDY
    they stand in key.jsonl alone, which no page reads. Or it is a corpus, for criteria that are asked of turns or of a
    whole dialogue (turns, negotiation), such as one of `apportion world play` and `apportion world simulate`. With
    --from, STUDY is the next version of another study, without its answers.
    """
    from apportion.study.design.create import StudyPlan, make_study, next_version

    if earlier is not None:
        given = [f"--{name.replace('_', '-')}" for name in ("criteria", *wanted) if _is_given(name)]
        _require(
            len(paths) == 1 and not given,
            f"with --from, give the new folder alone{f', without {given[0]}' if given else ''}: the next version is as "
            "the study's files say, which can be edited",
        )
        study = next_version(earlier, paths[0])
        click.echo(f"wrote {paths[0]} (version {study.settings.version})")
        return
    _require(len(paths) == 2, "two paths are needed: the responses or the corpus, and the folder to write")
    if criteria is None:
        raise InputError("--criteria: missing; give geli, pairs, turns, savoir, negotiation, or a TOML file")
    source = _source(paths[0])
    if wanted["targets"] and paths[0].is_file():
        raise InputError(
            f"--target {wanted['targets'][0]}: {paths[0]} is a table of responses, whose policies are judged. Leave "
            "--target out, or give a corpus."
        )
    study, notes = make_study(source, paths[1], StudyPlan(criteria, **wanted))
    if wanted["seed"] is not None and wanted["seed"] < GUESSED:
        notes = (*notes, f"--seed {wanted['seed']} can be guessed, and with it whose response is which. Leave it out.")
    for note in notes:
        click.echo(f"note: {note}", err=True)
    settings = study.settings
    click.echo(
        f"items: {len(study.counted):,} that count, {len(settings.practice)} of practice, {len(study.checks)} checks; "
        f"each by {settings.annotators_per_item} people, {settings.items_per_annotator:,} a person"
    )
    click.echo(f"wrote {paths[1]} (key.jsonl in it says whose responses they are: keep it to yourself)")
    click.echo(f"next: write into {paths[1] / 'consent.md'} who you are; look at criteria.toml and instructions.md")
    if any(one.kind == "select" and one.about == "responses" for one in study.criteria.criteria):
        click.echo(f"which differences a study of this size finds: apportion study power {shlex.quote(str(paths[1]))}")


def _source(path: Path) -> Any:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.schema import RESPONSES
    from apportion.rlhf.compare.responses import read_rows
    from apportion.study.design.folder import SETTINGS

    if (path / SETTINGS).is_file():
        raise InputError(
            f"{path}: a study, and no source of one. Its next version: --from {shlex.quote(str(path))} NEW."
        )
    return Corpus.open(path) if path.is_dir() else read_rows(path, RESPONSES)


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _require(held: bool, message: str) -> None:
    if not held:
        raise InputError(f"apportion study init: {message}.")
