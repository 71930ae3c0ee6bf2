"""Where a command writes: found out before any work, what is said where it cannot be, and of a corpus that was."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.corpus.recordings.mirrored import about_of
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically

if TYPE_CHECKING:
    from apportion.corpus.writer import ImportReport


def check_place(
    path: Path, option: str, suffixes: Sequence[str] = (), force: bool = True, *, make_folder: bool = True
) -> None:
    """Find out before hours are spent whether a file can be written to ``path``.

    ``option``: The option that names it, for errors. ``suffixes``: What its name has to end in; a single one in
    capitals, too. None given: whatever it is. ``force``: Whether a file that is there may be replaced.
    ``make_folder``: Whether its folder is made where it is missing.

    Raises InputError: Another suffix, a file that is there, a folder of that name, or a place that the system does not
    let us write.
    """
    if suffixes:
        _check_suffix(path, option, suffixes)
    if path.is_file() and not force:
        raise InputError(f"{path} exists. Use --force to replace it, or {option} for another name.")
    if path.is_dir():
        raise InputError(f"{option} {path}: a folder. Name a file in it.")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise unwritable(path, option, error) from None


def beside(folder: Path, word: str) -> Path:
    """``FOLDER-WORD`` beside a folder, however that is named.

    >>> str(beside(Path("data/play/"), "judged"))
    'data/play-judged'
    """
    if about_of(folder):
        return Path(f"{folder.name}-{word}")
    named = folder.resolve() if folder.name in ("", "..") else folder
    return named.with_name(f"{named.name}-{word}")


def write(path: Path, option: str, content: str | bytes) -> None:
    """Write a file whole or not at all; raise InputError where the system does not let us."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise unwritable(path, option, error) from None


def tell_corpus(report: ImportReport, out: Path, as_json: bool) -> None:
    """Say what the corpus in ``out`` holds, and end with code 1 where a part of it is missing or wrong."""
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1, sort_keys=True))
    else:
        click.echo(str(report))
        tell_faces(map(str, report.recordings.people))
        click.echo(f"next: apportion inspect {out}")
    if report.left_out or report.problems:
        sys.exit(1)


def tell_faces(recorded: Iterable[str]) -> None:
    """Say what looks for the faces of those who are ``recorded`` in films, where that is not done yet."""
    from apportion.corpus.recordings.people import NO_FACE

    if any(NO_FACE in line for line in recorded):
        click.echo("faces: apportion probe FILM looks for them in one, apportion run CONFIG --only features in all")


def unwritable(path: Path, option: str, error: OSError) -> InputError:
    """The error of a file that the system does not let us write."""
    return InputError(f"{path}: cannot be written ({error.strerror}). Choose another place with {option}.")


def _check_suffix(path: Path, option: str, suffixes: Sequence[str]) -> None:
    *others, last = suffixes
    if others and path.suffix not in suffixes:
        allowed = f"{', '.join(others)} or {last}"
        raise InputError(f"{option} {path}: the name must end in {allowed}, which says how it is written.")
    if not others and path.suffix.lower() != last:
        raise InputError(f"{option} {path}: the name must end in {last}, because that is what is written.")
