"""Where a model is that a person names: one that `apportion models fetch` brings, a folder, or one at the Hub."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home, found_from, remembered_digest

FETCHED = ("smollm2", "e5-small")
"""Models of text that are fetched by name, each into a folder of its own (`apportion.foundation.model_hub.text`)."""


def model_folder(name: str) -> Path:
    """The folder of the model ``name``, whether it is there or not: a fetched one's in the cache, else ``name``."""
    return cache_folder() / "models" / name if name in FETCHED else at_home(name)


def model_place(name: str) -> str:
    """What a loader is to be given for the model ``name``: its folder here, else its name at the Hub.

    Raises InputError: it is one that is fetched, and was not.
    """
    folder = model_folder(name)
    if folder.is_dir():
        return str(folder)
    if name in FETCHED:
        raise InputError(f"the model {name!r}: it is not here ({folder}). Get it: apportion models fetch {name}.")
    return name


def model_digest(name: str) -> str:
    """What tells a model from another one of the same name: sha256 of its folder's files, or the name itself."""
    folder = model_folder(name)
    if not folder.is_dir():
        return name
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".safetensors", ".json", ".jinja")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(bytes.fromhex(remembered_digest(path)))
    return digest.hexdigest()


def files_identity(key: str, name: str) -> dict[str, str]:
    """For what depends on the model ``name``: `model_digest` under ``key``; nothing where the name says all."""
    return {key: model_digest(name)} if name in FETCHED or Path(name).is_absolute() else {}


def is_folder_name(name: str) -> bool:
    """Whether ``name`` can be no model's at the Hub: those have one slash at most, and none at an end."""
    return name.startswith(("/", ".", "~")) or name.count("/") > 1 or name.endswith("/")


def model_found_from(base: Path, name: str) -> str:
    """A model's folder from the folder ``base``; a name at the Hub, or of one that is fetched, stays what it is."""
    if name in FETCHED:
        return name
    path = str(found_from(base, name))
    # Not Path.is_dir, for which a name that is too long for a file is an error.
    return path if is_folder_name(name) or os.path.isdir(path) else name  # noqa: PTH112
