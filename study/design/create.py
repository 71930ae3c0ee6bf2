"""From responses, or dialogues, to a study's folder, written whole or not at all; and from one version to the next."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.textfile import read_text
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json, sync, sync_folder
from apportion.foundation.settings import problems
from apportion.study.design.attention_checks import made_checks
from apportion.study.design.criteria import (
    HOME,
    SETS,
    CriterionSet,
    parse_criteria,
    shipped_instructions,
    shipped_toml,
)
from apportion.study.design.dialogues import items_of_dialogues
from apportion.study.design.folder import CHECKS, CONSENT, CRITERIA, INSTRUCTIONS, ITEMS, SETTINGS, StudyFolder
from apportion.study.design.items import Item, items_of, response_id
from apportion.study.design.settings import StudySettings, settings_text
from apportion.study.design.unblinding_key import KEY_FILE, key_text, read_key


@dataclass(frozen=True)
class StudyPlan:
    """What a study is to be like; what is None is chosen by how many items there are.

    ``criteria`` is the name of a set that ships, or a TOML file (with instructions beside it, of the same name that
    ends in ``.md``, if there are any). ``seed`` None: drawn, so that nobody can guess it. ``contexts``: how many are
    taken at most. ``targets``: who is judged in the dialogues of a corpus.
    """

    criteria: str
    title: str | None = None
    base: str | None = None
    seed: int | None = None
    contexts: int | None = None
    annotators_per_item: int = 3
    items_per_annotator: int | None = None
    practice: int = 1
    targets: tuple[str, ...] = ()
    checks_every: int | None = None


MOST_ITEMS_EACH, CHECK_EVERY = 20, 10
"""Where nothing else is asked for: items an annotator at most, and one check in so many."""


def make_study(source: pa.Table | Corpus, out: Path, wanted: StudyPlan) -> tuple[StudyFolder, tuple[str, ...]]:
    """Write the study of a table of responses (schema RESPONSES), or of a corpus' dialogues, into the folder ``out``.

    Returns the study, and what a person should know of it.

    Raises InputError: ``out`` is there; the criteria cannot be read; as `items_of` or `items_of_dialogues`; more
    practice than items.
    """
    check_free(out)
    text, instructions = _asked(wanted.criteria)
    criteria = parse_criteria(text, Path(wanted.criteria))
    seed = secrets.randbelow(2**63) if wanted.seed is None else wanted.seed
    if isinstance(source, Corpus):
        made = items_of_dialogues(source, criteria, seed, wanted.targets, wanted.contexts)
    else:
        made = items_of(source, criteria, seed, wanted.base, wanted.contexts)
    if wanted.base is not None and wanted.base not in {row.policy for row in made.key}:
        raise InputError(f"base {wanted.base!r}: no such policy among those that are judged.")
    settings = _settings(wanted, criteria, made.items, seed)
    each = settings.items_per_annotator
    number = each // settings.checks_every if settings.checks_every else 0
    checks = made_checks(made.items, criteria, seed, number)
    items = [*made.items, *(item for item, _ in checks)]
    return _placed(
        out,
        {
            SETTINGS: settings_text(settings),
            CRITERIA: text,
            INSTRUCTIONS: instructions,
            CONSENT: (HOME / "consent.md").read_text(encoding="utf-8"),
            ITEMS: "".join(f"{canonical_json(item.to_json())}\n" for item in items),
            CHECKS: "".join(f"{canonical_json(check.to_json())}\n" for _, check in checks),
            KEY_FILE: key_text(made.key, wanted.base),
        },
    ), made.notes


def next_version(study: Path, out: Path) -> StudyFolder:
    """Write a new version of a study into the folder ``out``: all that is asked as it is now, and no answers. Raises
    InputError: ``out`` is there; the study, or its key, cannot be read.
    """
    check_free(out)
    before = StudyFolder.open(study)
    read_key(study)  # Without one, nobody could ever say whose responses they are.
    settings = before.settings.model_copy(update={"version": before.settings.version + 1, "made_from": before.digest})
    names = [name for name in (CRITERIA, INSTRUCTIONS, CONSENT, ITEMS, CHECKS, KEY_FILE) if (study / name).is_file()]
    copied = {name: read_text(study / name, allow_empty=True) for name in names}
    return _placed(out, {SETTINGS: settings_text(settings), **copied})


def check_free(out: Path) -> None:
    """Raise InputError where something is at ``out``."""
    if out.exists() or out.is_symlink():
        raise InputError(f"{out} is there. Name a folder that is not; a study's answers lie in its folder.")


def _asked(criteria: str) -> tuple[str, str]:
    """The TOML and the instructions of a set that ships, or of a file."""
    if criteria in SETS or not (criteria.endswith(".toml") or os.sep in criteria):
        return shipped_toml(criteria), shipped_instructions(criteria)
    path = Path(criteria)
    beside = path.with_suffix(".md")
    return read_text(path), read_text(beside) if beside.is_file() else shipped_instructions("own")


def _settings(wanted: StudyPlan, criteria: CriterionSet, items: tuple[Item, ...], seed: int) -> StudySettings:
    if not 0 <= wanted.practice < len(items):
        raise InputError(
            f"practice: {wanted.practice} of {len(items)} items, and at least one has to count. Ask for fewer."
        )
    counted = len(items) - wanted.practice
    each = wanted.items_per_annotator or min(counted, MOST_ITEMS_EACH)
    every = wanted.checks_every
    if every is None:
        told = any(criterion.required for criterion in criteria.criteria)
        every = min(CHECK_EVERY, each) if told else 0
    drawn = sorted((item.item for item in items), key=lambda item: response_id(seed, item, "(practice)"))
    try:
        return StudySettings(
            title=wanted.title or criteria.title,
            seed=seed,
            annotators_per_item=wanted.annotators_per_item,
            items_per_annotator=each,
            practice=tuple(drawn[: wanted.practice]),
            checks_every=every,
            completion=secrets.token_hex(4).upper(),
        )
    except ValidationError as error:
        raise InputError("\n".join(problems(error))) from None


def _placed(out: Path, files: Mapping[str, str]) -> StudyFolder:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else may read it: who knows the seed, or the key, knows whose responses they are.
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out}: the folder cannot be made ({error.strerror}). Name one that can.") from None
    try:
        for name, text in files.items():
            (scratch / name).write_text(text, encoding="utf-8")
        StudyFolder.open(scratch)
        sync_folder(scratch)
        scratch.rename(out)
        sync(out.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return StudyFolder.open(out)
