"""The commented configuration file that `apportion init` writes."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from apportion.corpus.corpus import Corpus
from apportion.corpus.recordings.mirrored import about_of, named
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.foundation.settings import Settings
from apportion.foundation.toml_text import toml_text
from apportion.pipeline.config import Config
from apportion.pipeline.default_methods import Row, choose_methods
from apportion.pipeline.sections import SECTIONS

NEWCOMER: Mapping[str, tuple[str, ...]] = {
    "": ("corpus", "output", "rating", "preset", "seeds"),
    "decompose": ("method", "compare"),
    "decompose.llm": ("model", "base_url", "allow_host"),
    "run": ("budget_usd",),
    "align": ("enabled", "policy"),
}
"""By section, the keys that `apportion init` writes without `--all`; a key that the corpus needs comes with them."""
WIDEST = 118
MOST_UP = 3
"""A corpus that is as many folders up from the file is no neighbour: it is named by its whole path."""


def template_for(
    corpus: Path,
    rating: str | None,
    called: Callable[[str], str] = str,
    *,
    align: bool = True,
    base: Path | None = None,
    preset: str | None = None,
    every: bool = False,
) -> tuple[str, list[str], Row | None]:
    """The file for a corpus, the names of all its ratings, and why these methods; None where it names none.

    ``corpus``: The corpus. ``rating``: Which rating the file chooses; None takes the first by name. ``called``: What
    the caller calls a parameter, for errors. ``align``: Whether a run fine-tunes a policy. ``base``: The folder that
    the file is to lie in: a corpus in it or near it is named from there. ``preset``: The preset that the file names.
    ``every``: Whether the file has every key, or those of a newcomer alone. Raises InputError: A corpus that cannot be
    read, or that does not have the rating.
    """
    opened = Corpus.open(corpus)
    names = opened.rating_names()
    if rating is not None and rating not in names:
        raise InputError(f"{called('rating')} {rating!r}: {corpus} has {', '.join(names) or 'no ratings'}.")
    values: dict[str, Any] = {
        "corpus": named(corpus) if about_of(corpus) else _from(base, corpus.resolve()),
        "output": _run_folder(base, corpus.resolve()),
        "rating": rating or next(iter(names), None),
        "preset": preset,
    }
    row = None
    # Without a score and without English there are no rewards, but a policy can still be fine-tuned.
    with suppress(InputError) if not names else nullcontext():
        row = choose_methods({one.session_id: one for one in opened.iter_sessions()}, values["rating"])
    row = None if preset else row
    if row is not None:
        values["decompose"] = {"method": row.method, "compare": row.compare}
    if not align:
        values["align"] = {"enabled": False}
    elif not names:
        values["align"] = {"targets": ["second"]}
    return (render_template if every else newcomer_template)(values), names, row


def _from(base: Path | None, path: Path) -> str:
    """``path`` as it is called from the folder ``base``, or whole where that is no shorter way to it."""
    relative = str(path) if base is None else os.path.relpath(path, base.resolve())
    return str(path) if relative.startswith("../" * MOST_UP) else relative


def _run_folder(base: Path | None, corpus: Path) -> str:
    """`runs/` and the corpus' name; where that and the corpus would hold one another, a folder beside the corpus."""
    usual = f"runs/{corpus.name}"
    place = corpus if base is None else base.resolve() / usual
    if base is None or not (place.is_relative_to(corpus) or corpus.is_relative_to(place)):
        return usual
    return _from(base, corpus.with_name(f"{corpus.name}-run"))


def render_template(values: Mapping[str, Any]) -> str:
    """TOML text with every key, its default and what it means.

    ``values`` replaces defaults at the top level (corpus, output, rating) and, by the section's name, in a section;
    those lines are not commented out. Every other key is, so that the file says what can be changed and a default can
    improve with a new version. With a preset among ``values`` the others show what it gives.
    """
    lines, shown = _begun(values, "remove the # to change it.")
    lines += _fields(Config, values)
    for name in ("run", *SECTIONS):
        lines += ["", f"[{name}]", *_nested(name, getattr(shown, name), values.get(name, {}))]
    return "\n".join(lines) + "\n"


def newcomer_template(values: Mapping[str, Any]) -> str:
    """The same with the keys of `NEWCOMER` alone, and those of ``values``."""
    lines, shown = _begun(values, "remove the # to change it (init --all: every key).")
    for section, keys in NEWCOMER.items():
        model: BaseModel = shown
        for part in section.split(".") if section else ():
            model = getattr(model, part)
        own = values.get(section, {}) if section else values
        lines += ["", f"[{section}]"] if section else []
        given = [key for key in own if key in type(model).model_fields and not isinstance(own[key], Mapping)]
        names = dict.fromkeys((*keys, *given))
        lines += _fields(type(model), own, model if section else None, only=tuple(names))
    return "\n".join(lines) + "\n"


def _begun(values: Mapping[str, Any], advice: str) -> tuple[list[str], Config]:
    """The first lines, and the configuration whose values are shown."""
    preset = values.get("preset")
    named = f" of the preset {preset};" if preset else ";"
    lines = [
        f"# apportion: what to do with this corpus. A line that begins with # shows a default{named}",
        f"# {advice} A path that does not begin with / is relative to this file.",
        "",
    ]
    return lines, Config.model_validate({"corpus": ".", **({"preset": preset} if preset else {})})


def _nested(prefix: str, model: BaseModel, values: Mapping[str, Any]) -> list[str]:
    lines = _fields(type(model), values, model)
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            lines += ["", f"[{prefix}.{name}]", *_nested(f"{prefix}.{name}", value, {})]
    if isinstance(model, DecomposeSettings):
        for name, brought in model.brought_sections().items():
            lines += ["", f"[{prefix}.{name}]", *_nested(f"{prefix}.{name}", brought(), {})]
    return lines


def _fields(
    model: type[BaseModel],
    values: Mapping[str, Any],
    instance: BaseModel | None = None,
    only: tuple[str, ...] | None = None,
) -> list[str]:
    lines = []
    for name in model.model_fields if only is None else only:
        field = model.model_fields[name]
        default = field.default if instance is None else getattr(instance, name)
        if (
            (model is Config and name in SECTIONS)
            or isinstance(default, BaseModel)
            or (issubclass(model, Settings) and name in model.SET_BY_THE_RUN)
        ):
            continue
        text = field.description or name
        if only is not None:
            text = textwrap.shorten(text, WIDEST, placeholder=" …", break_on_hyphens=False)
        lines.append(f"# {text}")
        if name in values and values[name] is not None:
            lines.append(f"{name} = {toml_text(values[name])}")
        elif default is None or default is PydanticUndefined:
            lines.append(f"# {name} =")
        else:
            lines.append(f"# {name} = {toml_text(default)}")
    return lines
