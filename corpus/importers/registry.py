"""Running an importer: find it by name, write its corpus, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from apportion.corpus.account import account_lines, opened
from apportion.corpus.builder import CorpusBuild, spilled_into
from apportion.corpus.importers.reading.sources import LANGUAGE, SHARED_OPTIONS
from apportion.corpus.languages.names import read_language
from apportion.corpus.languages.settling import with_languages
from apportion.corpus.recordings.mirrored import Mirror, mirrored, named
from apportion.corpus.writer import ImportReport, check_free, place, source_of
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import ApportionError, InputError, UnitError, errors_called
from apportion.foundation.files import check_path, is_address
from apportion.foundation.registry import load_brought

Importer = Callable[[Path, Mapping[str, str]], CorpusBuild]
KINDS: Mapping[str, str] = {
    name.partition(".")[0]: f"apportion.corpus.importers.{name}"
    for name in (
        *("chat", "media", "candor.importer", "uss", "conture", "esconv", "convokit", "soda", "sotopia"),
        *("dealornodeal.importer", "casino"),
    )
}
BRING_RECORDINGS = ("media", "candor")
ENTRY_POINTS = "apportion.importers"


def import_to(
    kind: str, src: str | Path, out: str | Path, options: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> ImportReport:
    """Import ``src``, which may be a URL, with the importer ``kind`` and write the corpus folder ``out``.

    Recordings are hard-linked (copied where that cannot be) into ``out/media``, or named where they are if they lie
    in ``out`` already.

    Raises ``InputError``: unknown kind, unknown option, unreadable or foreign source, no session that can be imported,
    a folder that holds something else, a folder that cannot be written.
    """
    if isinstance(src, str):
        src = mirrored(src) if is_address(src) else Path(src)
    out, options = Path(out), dict(options or {})
    importer = find_importer(kind)
    if kind in BRING_RECORDINGS and isinstance(src, Mirror):
        raise InputError(
            f"import {kind}: {named(src)}: recordings come from a folder of this machine. Copy it here; or make a "
            "corpus whose media table names each recording by its URL."
        )
    for path in (src, out):
        check_path(path)
    record: dict[str, Any] = {"kind": kind, "source": source_of(src), "options": dict(options)}
    if not overwrite:
        check_free(out, record, src)
    language = _language(kind, options.get(LANGUAGE))
    if LANGUAGE not in _own_options(importer):
        options.pop(LANGUAGE, None)
    with spilled_into(out):
        return _import(kind, importer, src, out, options, language, record)


def _import(
    kind: str,
    importer: Importer,
    src: Path,
    out: Path,
    options: Mapping[str, str],
    language: str | None,
    record: dict[str, Any],
) -> ImportReport:
    with opened() as account:
        imported = importer(src, options) if kind in KINDS else _brought(kind, importer, src, options)
    with errors_called(f"import {kind}"):
        lines = account.settled(imported)
    if imported.tables["sessions"].num_rows == 0:
        # All of them: no folder is there to keep what is not said.
        told = [f"left out: {item}" for item in imported.left_out]
        causes = told or [*(f"note: {note}" for note in imported.notes), *account_lines(lines)]
        apart = " " if len(causes) == 1 else "\n"
        raise InputError(apart.join([f"{src}: no session could be imported.", *causes]))
    record["options"] = {**record["options"], **imported.answers}
    return place(kind, out, with_languages(imported, language), record, lines)


def _language(kind: str, language: str | None) -> str | None:
    try:
        return read_language(language)
    except UnitError as error:
        raise InputError(f"import {kind}: option {LANGUAGE}={language}: {error}") from None


def _brought(kind: str, importer: Importer, src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """What the importer of another package makes; whatever goes wrong in it is an error of ours."""
    try:
        imported = importer(src, options)
    except ApportionError:
        raise
    except Exception as error:  # It is a stranger's.
        cause = f"{type(error).__name__}: {error}"
        raise InputError(f"import {kind}: its package's importer failed ({cause}). Repair or remove it.") from error
    if not isinstance(imported, CorpusBuild):
        raise InputError(f"import {kind}: its package's importer gave {type(imported).__name__}, no CorpusBuild.")
    return imported


def find_importer(kind: str) -> Importer:
    """The importer registered as ``kind``: ours, or one that an installed package offers (``apportion.importers``).

    Raises ``InputError``: there is none of that name, or a package's cannot be loaded.
    """
    if kind in KINDS:
        importer: Importer = import_module(KINDS[kind]).import_corpus
        return importer
    others = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if kind in others:
        offered: Importer = load_brought(others[kind], callable, "a function of a path and its options")
        return offered
    names = [*KINDS, *sorted(others)]
    hint = did_you_mean(kind.lower(), names, "check the name.")
    raise InputError(f"import {kind}: no such kind; {hint} Known: {', '.join(names)}.")


def options_of(kind: str) -> Mapping[str, str]:
    """The options that the importer ``kind`` takes, with what each means: ``OPTIONS`` of its module, and all others'.

    Raises ``InputError``: there is no such importer.
    """
    own = _own_options(find_importer(kind))
    return {**own, **{name: said for name, said in SHARED_OPTIONS.items() if name not in own}}


def _own_options(importer: Importer) -> Mapping[str, str]:
    options: Mapping[str, str] = getattr(import_module(importer.__module__), "OPTIONS", {})
    return options
