"""Labels into a corpus of their own: the tables of another one, its recordings linked, and `turn_labels` with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.builder import CorpusBuild
from apportion.corpus.checks.recordings import path_fault
from apportion.corpus.corpus import Corpus
from apportion.corpus.recordings.mirrored import address_in
from apportion.corpus.schema import TURN_LABELS
from apportion.corpus.writer import ImportReport, check_free, claim, folder_for, link_or_copy, place
from apportion.environments.episode_log import LOG
from apportion.foundation.errors import InputError
from apportion.foundation.files import is_address, write_atomically
from apportion.foundation.truncate import listed
from apportion.viewer.labels.label import Label, LabelKey, said_digest
from apportion.viewer.labels.label_store import Overlay

KIND = "labels merge"
MOST_NAMED = 5

Given = Mapping[LabelKey, tuple[float, float | None, float | None]]
"""Labels with their value and the ends of their scale."""


def merge(overlays: Sequence[Path], corpus: Corpus, out: Path, *, replace: bool = False) -> ImportReport:
    """Write ``corpus`` with the labels of ``overlays`` into the folder ``out``; the corpus itself stays as it is.

    - ``overlays``: files of `apportion.viewer.labels.label_store`. A label that an annotator took back is none.
    - ``corpus``: its own labels stay.
    - ``out``: recordings are hard-linked into it, copied where that cannot be.
    - ``replace``: whether a label takes the place of another value by the same annotator for the same turn, in the
      corpus or in an overlay that is named before.

    Raises InputError: an overlay that is not there or damaged, no labels at all, labels of turns that the corpus has
    not or of other words, labels of one name on several scales, another value for the same turn by the same annotator;
    a folder that holds something else.
    """
    if out.resolve() == corpus.root.resolve():
        raise InputError(f"{out}: the corpus that is labelled is not written over. Name another folder.")
    record = {"kind": KIND, "corpus": str(corpus.root.resolve()), "overlays": [str(o.resolve()) for o in overlays]}
    check_free(out, record)
    labels, notes = _all_labels(overlays, corpus, replace)
    own = {_key(row): (row["value"], row["low"], row["high"]) for row in corpus.turn_labels.to_pylist()}
    added, changed = _together(own, labels, corpus.root, replace)
    rows = [(*key, *given) for key, given in (own | labels).items()]
    table = pa.table([list(column) for column in zip(*_ordered(rows), strict=True)], schema=TURN_LABELS.arrow)
    people = sorted({annotator for _, _, annotator, _ in labels})
    notes.insert(0, f"{added:,} labels by {len(people):,} annotators ({listed(people)})")
    if changed:
        notes.append(f"{changed:,} labels of {corpus.root} replaced")
    with folder_for(out):
        claim(out, record)
        _bring_files(corpus, out)
        return place(KIND, out, CorpusBuild({**corpus.tables, "turn_labels": table}, tuple(notes), ()), record)


def check_labels(labels: Iterable[Label], corpus: Corpus, source: str) -> None:
    """Raise InputError, with names, where labels are of turns that the corpus has not, or of other words."""
    said = spoken(corpus)
    labels = list(labels)
    foreign = [label for label in labels if (label.session_id, label.turn) not in said]
    if foreign:
        named = [f"session {label.session_id!r}, turn {label.turn}" for label in foreign]
        raise InputError(
            f"{source}: {len(foreign):,} of {len(labels):,} labels are of turns that {corpus.root} has not: "
            f"{listed(named, MOST_NAMED, '; ')}. Name the corpus that was labelled."
        )
    other = [label for label in labels if label.said != said[label.session_id, label.turn]]
    if other:
        named = [f"session {label.session_id!r}, turn {label.turn}" for label in other]
        raise InputError(
            f"{source}: {len(other):,} of {len(labels):,} labels were given to other words than {corpus.root} has: "
            f"{listed(named, MOST_NAMED, '; ')}. Name the corpus that was labelled."
        )


def spoken(corpus: Corpus) -> dict[tuple[str, int], str]:
    """Every turn of a corpus with what tells its words from others."""
    columns = (corpus.utterances[name].to_pylist() for name in ("session_id", "turn", "speaker", "text"))
    return {(id_, turn): said_digest(who, text) for id_, turn, who, text in zip(*columns, strict=True)}


def _all_labels(overlays: Sequence[Path], corpus: Corpus, replace: bool) -> tuple[dict[LabelKey, Any], list[str]]:
    found: dict[LabelKey, Any] = {}
    origin: dict[LabelKey, Path] = {}
    notes = []
    for path in overlays:
        if not path.is_file():
            raise InputError(f"{path}: no such file. The viewer's label page says in which file labels are kept.")
        held = Overlay(path).labels()
        check_labels(held.standing.values(), corpus, str(path))
        if held.unfinished:
            lines = listed(held.unfinished, MOST_NAMED)
            notes.append(
                f"{path}: {len(held.unfinished):,} unfinished lines left out (line {lines}): a process was killed "
                "while it wrote them, and nobody was told that they are saved"
            )
        for key, label in held.standing.items():
            given = (label.value, label.low, label.high)
            if key in found and found[key] != given and not replace:
                raise InputError(_twice(key, found[key], origin[key], given, path))
            found[key], origin[key] = given, path
    if not found:
        raise InputError(f"{listed(overlays)}: no labels. Give some on the viewer's label page first.")
    _check_scales(found, "the overlays")
    return found, notes


def _together(own: Given, labels: Given, root: Path, replace: bool) -> tuple[int, int]:
    """How many labels are new and how many replace another value; own and new ones share the scale of their name."""
    conflicts = [key for key, given in labels.items() if key in own and own[key] != given]
    if conflicts and not replace:
        raise InputError(_twice(conflicts[0], own[conflicts[0]], root, labels[conflicts[0]], "the overlays"))
    _check_scales({**{k: v for k, v in own.items() if k[3] in {key[3] for key in labels}}, **labels}, str(root))
    return len(labels.keys() - own.keys()), len(conflicts)


def _check_scales(labels: Given, where: str) -> None:
    scales: dict[str, set[tuple[float | None, float | None]]] = {}
    for key, (_, low, high) in labels.items():
        scales.setdefault(key[3], set()).add((low, high))
    for name, found in sorted(scales.items()):
        if len(found) > 1:
            told = listed(sorted(f"{low} to {high}" for low, high in found), MOST_NAMED)
            raise InputError(
                f"{where}: the labels {name!r} are on {len(found)} scales ({told}), which cannot be averaged. Give one "
                "of them another name."
            )


def _twice(key: LabelKey, before: Any, there: object, after: Any, here: object) -> str:
    session_id, turn, annotator, name = key
    return (
        f"session {session_id!r}, turn {turn}, annotator {annotator!r}, label {name!r}: {before[0]:g} in {there} and "
        f"{after[0]:g} in {here}. Correct one, or ask for the later one to replace the other."
    )


def _key(row: Mapping[str, Any]) -> LabelKey:
    return (row["session_id"], row["turn"], row["annotator"], row["name"])


def _ordered(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: (row[0], row[1], row[2] or "", row[3]))


def _bring_files(corpus: Corpus, out: Path) -> None:
    """The recordings, and what simulated sessions are played on from; one that is missing is missing in both."""
    root = corpus.root.resolve()
    try:
        for path in sorted(set(corpus.media["path"].to_pylist())):
            if not is_address(address_in(root, path)) and path_fault(path, root) is None:
                link_or_copy((root / path).resolve(), out / path)
        if (root / LOG).is_file():
            write_atomically(out / LOG, (root / LOG).read_bytes())
    except OSError as error:
        raise InputError(
            f"{out}: the recordings of {root} cannot be brought there ({error.strerror}). Free some space or name "
            "another folder."
        ) from None
