"""The files that an importer reads, and the session ids made from their names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.textfile import check_regular, not_a_file
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError

LANGUAGE = "language"
SHARED_OPTIONS: Mapping[str, str] = {
    LANGUAGE: "the language of all sessions, such as en (default: as the data have it, else by the words)"
}
"""What every importer's corpus can be told, beside the importer's own options."""
MOST = 10**9
"""The largest number of anything that an option may ask for."""


def check_options(kind: str, options: Mapping[str, str], allowed: Collection[str]) -> None:
    """Refuse an option that the importer ``kind`` does not know, with the nearest that it does."""
    for key in options:
        if key not in allowed:
            known = dict.fromkeys((*allowed, *SHARED_OPTIONS))
            hint = did_you_mean(key, known, "leave it out.")
            raise InputError(f"import {kind}: unknown option {key!r}; {hint} Allowed: {', '.join(known)}.")


def number_option(kind: str, options: Mapping[str, str], key: str) -> float | None:
    """The option as a finite number, None where it is not given."""
    if key not in options:
        return None
    try:
        value = float(options[key])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"import {kind}: option {key}={options[key]}: a number is needed, for example -o {key}=1.")
    return value


def count_option(kind: str, options: Mapping[str, str], key: str) -> int | None:
    """The option as a whole number from 1, None where it is not given."""
    value = number_option(kind, options, key)
    if value is not None and not (value.is_integer() and 1 <= value <= MOST):
        raise InputError(
            f"import {kind}: option {key}={options[key]}: a whole number from 1 to {MOST} is needed, "
            f"for example -o {key}=100."
        )
    return None if value is None else int(value)


def scale_options(kind: str, options: Mapping[str, str]) -> tuple[float, float] | None:
    """The scale (low, high) of the options ``low`` and ``high``, None where neither is given."""
    low, high = number_option(kind, options, "low"), number_option(kind, options, "high")
    if low is None and high is None:
        return None
    if low is None or high is None:
        missing = "low" if low is None else "high"
        raise InputError(f"import {kind}: option {missing} is missing: give both ends, -o low=1 -o high=5.")
    if low >= high:
        raise InputError(f"import {kind}: low={low:g} is not below high={high:g}. Give the ends of the scale in order.")
    return low, high


COMPRESSED = ".gz"


def source_files(src: Path, suffixes: tuple[str, ...], stems: Collection[str] = ()) -> list[Path]:
    """``src`` itself, or the files in the folder ``src`` that end in one of ``suffixes`` (plain or gzip), sorted.

    ``stems``: only files of these names count, where any are given.

    Raises ``InputError``: ``src`` is missing or a pipe, the folder has no such file or something else of such a name,
    or two files have the same name but for the ending.
    """
    if not src.exists():
        raise InputError(f"{src}: no such file or folder. Check the path.")
    check_regular(src)
    if src.is_file():
        return [src]
    endings = tuple(suffix + gz for suffix in suffixes for gz in ("", COMPRESSED))
    there = sorted(src.iterdir())
    files = [path for path in there if path.name.lower().endswith(endings) and (not stems or stem(path) in stems)]
    read = account.current()
    read.read("files", len(there))
    read.kept("files", len(files))
    wanted = ", ".join(name + suffix for name in stems or "*" for suffix in suffixes)
    for path in there:
        read.left_out("files", f"of another name than {wanted}", path not in files, path.name)
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
