"""A study's file as a person reads it: each setting with what it means."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path

from pydantic import ValidationError

from apportion.corpus.files.textfile import read_text
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Place, problems
from apportion.foundation.toml_text import toml_text
from apportion.study.design.settings import StudySettings

HEAD = """\
# A study. After the first answer it is refused when it was changed, but for the settings marked with (*);
# `apportion study init --from THIS NEW` makes a new version of it. criteria.toml says what is asked.
"""


def settings_text(settings: StudySettings) -> str:
    """``study.toml``."""
    parts = [HEAD]
    for name, field in StudySettings.model_fields.items():
        marked = f"{'(*) ' if name in StudySettings.NOT_IN_KEY else ''}{field.description}"
        comment = textwrap.fill(marked, 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{comment}\n{name} = {toml_text(getattr(settings, name))}\n")
    return "\n".join(parts)


def read_settings(path: Path) -> StudySettings:
    """The settings in a study's file. Raises InputError: it cannot be read, is no TOML, or its values are not a
    study's.
    """
    try:
        return StudySettings.model_validate(tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML ({error}). Correct that line.") from None
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {one}" for one in problems(error, unknown=_unknown))) from None


def _unknown(place: Place) -> str:
    return did_you_mean(str(place[-1]), StudySettings.model_fields, "remove it")
