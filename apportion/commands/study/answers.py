"""What commands on a study share: which database has its answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.study.store.store import Store

database_option = click.option(
    "--database",
    metavar="PATH_OR_URL",
    envvar="APPORTION_STUDY_DATABASE",
    show_envvar=True,
    help="A file (SQLite), or postgresql://USER:PASSWORD@HOST/NAME.  [default: answers.sqlite in STUDY]",
)


def open_store(folder: Path, database: str | None) -> Store:
    """The study of a folder with its answers.

    Raises InputError: No such study; a database that cannot be opened, or has other answers; no SQLAlchemy is
    installed.
    """
    try:
        from apportion.study.store.store import Store
    except ModuleNotFoundError as error:
        raise InputError(
            f"`apportion study` needs {error.name} to keep answers. Install it with `pip install 'apportion[study]'`."
        ) from None
    from apportion.study.design.folder import StudyFolder

    return Store.open(database, StudyFolder.open(folder))
