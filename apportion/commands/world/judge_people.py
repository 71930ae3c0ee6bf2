"""What `apportion world evaluate` does for people who rate: forms, or questions in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.options import PATH
from apportion.commands.shared.places import beside, check_place, unwritable
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import some

if TYPE_CHECKING:
    from apportion.environments.sotopia.evaluation.human_ratings.merge import ByPeople, RatedByPeople

SHEET, RATINGS, RATE = "--export-sheet", "--ratings", "--rate"
PEOPLE_OPTIONS = (
    click.option(SHEET, "sheet", type=PATH, metavar="FILE.csv", help="Write a blank form for people; stop."),
    click.option(RATINGS, "ratings", multiple=True, metavar="NAME=FILE", help="Take the form that NAME has filled in."),
    click.option(RATE, "rate", metavar="NAME", help="Rate here, in this terminal, as NAME."),
)


@dataclass(frozen=True)
class PeopleOptions:
    """What was given of `PEOPLE_OPTIONS`, and of what they share with judges."""

    sheet: Path | None
    ratings: tuple[str, ...]
    rate: str | None
    without: tuple[str, ...] = ()
    overwrite: bool = False

    @property
    def given(self) -> list[str]:
        """By which options people are asked for."""
        values = {SHEET: self.sheet is not None, RATINGS: bool(self.ratings), RATE: self.rate is not None}
        return [option for option, given in values.items() if given]


def by_people(options: PeopleOptions, corpus: Path, out: Path | None, model: str | None, as_json: bool) -> None:
    """Do what people are asked for."""
    from apportion.corpus.corpus import Corpus
    from apportion.environments.sotopia.evaluation.human_ratings.merge import ByPeople

    both = [*options.given, *(["--model"] if model is not None else [])]
    if len(both) > 1:
        raise InputError(f"{' and '.join(both)} are not for the same command: give one, and then the other")
    if options.overwrite and options.sheet is None:
        raise InputError("--overwrite would lose what people have rated there: name another folder with --out")
    out = out or beside(corpus, "rated")
    people = ByPeople(Corpus.open(corpus), out, options.without)
    if options.sheet is not None:
        _write_sheet(people, options.sheet, options.overwrite, as_json)
    elif options.ratings:
        _tell(people.add_sheets(_sheets(options.ratings)), out, as_json)
    else:
        _tell(_asked(people, options.rate or ""), out, as_json)


def _write_sheet(people: ByPeople, path: Path, overwrite: bool, as_json: bool) -> None:
    episodes = path.with_suffix(".txt")
    for file, suffixes in ((path, (".csv",)), (episodes, ())):
        check_place(file, SHEET, suffixes)
        if file.exists() and not overwrite:
            raise InputError(f"{file} exists, and may be filled in: name another file, or give --overwrite")
    try:
        rows = people.write_sheet(path)
    except OSError as error:
        raise unwritable(path, SHEET, error) from None
    if as_json:
        click.echo(json.dumps({"sheet": str(path), "episodes": str(episodes), "rows": rows}))
        return
    click.echo(f"{path}: {rows:,} rows to fill in (score, reasoning)")
    click.echo(f"{episodes}: the episodes to read; neither says who played")
    click.echo(f"next: apportion world evaluate {people.corpus.root} {RATINGS} NAME={path}")


def _sheets(ratings: Sequence[str]) -> Mapping[str, Path]:
    sheets: dict[str, Path] = {}
    for given in ratings:
        name, equals, path = given.partition("=")
        if not equals or not path:
            raise InputError(f"{RATINGS} {given!r}: write NAME=FILE, such as ann=ann.csv")
        if name in sheets:
            raise InputError(f"{RATINGS}: two forms of {name!r}; give them to two commands, one after the other")
        sheets[name] = Path(path)
    return sheets


def _asked(people: ByPeople, name: str) -> RatedByPeople:
    from apportion.environments.terminal.console import terminal

    if not sys.stdin.isatty():
        raise InputError(f"{RATE} asks in a terminal, and the standard input is none. Use {SHEET} and {RATINGS}")
    return people.ask(name, terminal())


def _tell(rated: RatedByPeople, out: Path, as_json: bool) -> None:
    unread = [{"session_id": one.session_id, "message": one.message} for one in rated.unread]
    if as_json:
        document = {**rated.report.to_json(), "left": dict(rated.left), "not_rated": unread}
        click.echo(json.dumps(document, indent=1, sort_keys=True))
    else:
        click.echo(str(rated.report))
        for name, left in rated.left.items():
            click.echo(f"{name}: {f'{left:,} scores are not given yet' if left else 'everything is rated'}")
        for line in some("cannot be rated", [str(one) for one in rated.unread], where="--json tells all"):
            click.echo(line)
        people = " ".join(f"--people {quote(name)}" for name in rated.left)
        click.echo(f"next: apportion world tables sotopia {out} {people}")
    if rated.unread or rated.report.left_out or rated.report.problems:
        sys.exit(1)
