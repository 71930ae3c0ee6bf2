"""The files that an importer reads, and the session ids made from their names."""

from __future__ import annotations

import re
from pathlib import Path

from apportion.corpus.files.textfile import check_regular, not_a_file
from apportion.foundation.errors import InputError

COMPRESSED = ".gz"


def source_files(src: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """``src`` itself, or the files in the folder ``src`` that end in one of ``suffixes`` (plain or gzip), sorted.

    Raises ``InputError``: ``src`` is missing or a pipe, the folder has no such file or something else of such a name,
    or two files have the same name but for the ending.
    """
    if not src.exists():
        raise InputError(f"{src}: no such file or folder. Check the path.")
    check_regular(src)
    if src.is_file():
        return [src]
    endings = tuple(suffix + gz for suffix in suffixes for gz in ("", COMPRESSED))
    files = sorted(path for path in src.iterdir() if path.name.lower().endswith(endings))
    for path in files:
        if not path.is_file():
            raise InputError(
                f"{path}: {not_a_file(path)}, where a file is read. Move it elsewhere, or name one of the files alone."
            )
    if not files:
        raise InputError(f"{src}: no file in this folder ends in {', '.join(suffixes)}. Name the file itself.")
    stems = [stem(path) for path in files]
    twice = sorted({name for name in stems if stems.count(name) > 1})
    if twice:
        names = ", ".join(path.name for path in files if stem(path) == twice[0])
        raise InputError(f"{src}: {names} would give the same session ids. Name one of the files itself.")
    return files


def stem(path: Path) -> str:
    """The file's name in lower case without its endings, safe for ids: ``SGD.txt.gz`` -> ``sgd``."""
    name = path.name.lower().removesuffix(COMPRESSED)
    return re.sub(r"[^\w-]+", "-", name.rpartition(".")[0] or name).strip("-")


def numbered(prefix: str, number: int) -> str:
    """A session id: ``numbered("sgd", 1) == "sgd-0001"``."""
    return f"{prefix}-{number:04d}"
