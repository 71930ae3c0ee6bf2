"""A run that is looked at: its folder, its record, its corpus, and whether any of them has changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, digest
from apportion.pipeline.config import load_config
from apportion.pipeline.results.run_folder import (
    UTTERANCE_TABLES,
    check_same,
    read_record,
    recorded_corpus,
    remember_corpus,
)
from apportion.viewer.labels.label_store import Overlay, overlay_beside

RUN_FILES = ("*.parquet", "*.json", "projections/*.json")
"""Files of a run folder that the index is made of, or that a page reads."""


@dataclass(frozen=True)
class RunPlace:
    """Where a run is. ``corpus`` is the folder of its corpus; both are absolute."""

    folder: Path
    corpus: Path

    @property
    def title(self) -> str:
        """The run's name, as a person knows it: its folder's."""
        return self.folder.name

    def record(self) -> dict[str, Any]:
        """What ``run.json`` holds now; raises InputError as `read_record` does."""
        return read_record(self.folder)

    def fingerprint(self) -> str:
        """What changes when a file of the run or of its corpus does: sha256 of their names, sizes and times. Raises
        InputError: the run's folder or its record is gone.
        """
        if not (self.folder / "run.json").is_file():
            raise InputError(f"{self.folder}: the run is no longer there. Put it back, or end the viewer with Ctrl-C.")
        files = {path for pattern in RUN_FILES for path in self.folder.glob(pattern)}
        files |= {path for pattern in ("*.parquet", "*.jsonl") for path in self.corpus.glob(pattern)}
        return digest([str(self.corpus), *(_state(path) for path in sorted(files))])


def open_place(source: Path, corpus: Path | None = None) -> RunPlace:
    """The run in the folder ``source``, or the one of the configuration ``source``; ``corpus`` goes before its own.
    Raises InputError: no such file or folder, a folder that is no run's, a run of an older version without ``corpus``,
    a corpus that is gone or whose utterances are not those of the run, a run of no sessions.
    """
    check_path(source)
    folder, known = source, corpus
    if source.is_file():
        config = load_config(source)
        folder, known = config.output, corpus or config.corpus
    if not folder.exists():
        raise InputError(f"{folder}: no such folder. Name a run folder, or the configuration (TOML) of a finished run.")
    record = read_record(folder)
    place = known or recorded_corpus(record, folder)
    if not place.is_dir():
        raise InputError(f"{place}: no such folder. Name the corpus that the run was made from.")
    check_same(record, folder, place)
    if corpus is not None:
        remember_corpus(place, folder)
    if not record.get("sessions"):
        raise InputError(f"{folder}: an empty run: it has no sessions, so there is nothing to look at.")
    return RunPlace(folder.absolute(), place.absolute())


def _state(path: Path) -> list[str | int]:
    try:
        status = path.stat()
    except OSError:  # Replaced this moment: another state, which the next look sees whole.
        return [str(path), -1, -1]
    return [str(path), status.st_size, status.st_mtime_ns]


@dataclass(frozen=True, eq=False)
class CompanionFiles:
    """What is looked at together with a run.

    ``overlay``: where labels are kept. ``other``: another run of the same utterances. ``responses``: a table of
    policies' responses (docs/guides/reward-model-and-alignment.md). ``teaching``: whether it is looked at to label what
    teaches, so that sessions come in the order of `apportion.decompose.ensembling.active_selection.order_to_label`.
    """

    overlay: Overlay
    other: RunPlace | None = None
    responses: Path | None = None
    teaching: bool = False


def beside(
    place: RunPlace, overlay: Path | None = None, other: RunPlace | None = None, responses: Path | None = None
) -> CompanionFiles:
    """What stands beside the run at ``place``; the overlay is the file beside its folder unless another is named.
    Raises InputError: the other run was made of other utterances; no such table of responses; a place where no labels
    can be kept.
    """
    if other is not None:
        mine, theirs = (read_record(one.folder)["inputs"] for one in (place, other))
        if [mine.get(name) for name in UTTERANCE_TABLES] != [theirs.get(name) for name in UTTERANCE_TABLES]:
            raise InputError(
                f"{other.folder}: a run of other utterances than {place.folder}: their turns are not the same. Name a "
                "run of the same corpus."
            )
    if responses is not None and not responses.is_file():
        raise InputError(f"{responses}: no such file. Make one with `apportion policy generate`.")
    return CompanionFiles(Overlay(overlay or overlay_beside(place.folder)), other, responses)
