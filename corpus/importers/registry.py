"""Running an importer: find it by name, write its corpus, and say what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from apportion.corpus.builder import CorpusBuild
from apportion.corpus.writer import ImportReport, check_free, place
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path

Importer = Callable[[Path, Mapping[str, str]], CorpusBuild]
KINDS: Mapping[str, str] = {
    name.partition(".")[0]: f"apportion.corpus.importers.{name}"
    for name in (
        *("chat", "media", "candor.importer", "uss", "conture", "esconv", "convokit", "soda", "sotopia"),
        *("dealornodeal.importer", "casino"),
    )
}
ENTRY_POINTS = "apportion.importers"


def import_to(
    kind: str, src: str | Path, out: str | Path, options: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> ImportReport:
    """Import ``src`` with the importer ``kind`` and write the corpus folder ``out``.

    Recordings are hard-linked (copied where that cannot be) into ``out/media``, or named where they are if they lie
    in ``out`` already.

    Raises ``InputError``: unknown kind, unknown option, unreadable or foreign source, no session that can be imported,
    a folder that holds something else, a folder that cannot be written.
    """
    src, out, options = Path(src), Path(out), dict(options or {})
    importer = find_importer(kind)
    for path in (src, out):
        check_path(path)
    record = {"kind": kind, "source": os.path.realpath(src), "options": options}
    if not overwrite:
        check_free(out, record, src)
    imported = importer(src, options)
    if imported.tables["sessions"].num_rows == 0:
        # All of them: no folder is there to keep what is not said.
        causes = "\n".join(f"left out: {item}" for item in imported.left_out)
        raise InputError(f"{src}: no session could be imported.\n{causes}".rstrip())
    return place(kind, out, imported, record)


def find_importer(kind: str) -> Importer:
    """The importer registered as ``kind``: ours, or one that an installed package offers (``apportion.importers``).

    Raises ``InputError``: there is none of that name.
    """
    if kind in KINDS:
        importer: Importer = import_module(KINDS[kind]).import_corpus
        return importer
    others = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if kind in others:
        offered: Importer = others[kind].load()
        return offered
    names = [*KINDS, *sorted(others)]
    hint = did_you_mean(kind.lower(), names, "check the name.")
    raise InputError(f"import {kind}: no such kind; {hint} Known: {', '.join(names)}.")


def options_of(kind: str) -> Mapping[str, str]:
    """The options that the importer ``kind`` takes, with what each means: ``OPTIONS`` of its module, if it has one.

    Raises ``InputError``: there is no such importer.
    """
    options: Mapping[str, str] = getattr(import_module(find_importer(kind).__module__), "OPTIONS", {})
    return options
