"""Where CANDOR keeps things: conversation folders, and the files that hold all conversations at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError, UnitError

UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Ids become parts of paths and of messages."""
MARKS = ("transcription", "metadata.json", "audio_video_features.csv")
"""A folder that has one of these, or is called by a UUID, is a conversation."""
DEPTH = 3
"""``raw/no_media/<uuid>`` is the deepest place that is known."""


@dataclass(frozen=True)
class Conversation:
    """One conversation and the folders of that name: the transcripts and the media may have come in two downloads."""

    id: str
    root: Path
    folders: tuple[Path, ...] = ()

    def file(self, relative: str) -> Path | None:
        """The file ``relative`` in the first folder that has it, None where none has.

        Raises ``UnitError``: a link that leads out of the folder being imported.
        """
        first = next((folder / relative for folder in self.folders if (folder / relative).is_file()), None)
        return None if first is None else inside(first, self.root)

    def files(self, relative: str, suffix: str) -> dict[str, Path]:
        """The files that end in ``suffix`` in the subfolder ``relative``, by their names without it."""
        by_stem: dict[str, Path] = {}
        for folder in self.folders:
            if (folder / relative).is_dir():
                for path in sorted((folder / relative).iterdir()):
                    if path.suffix.lower() == suffix and path.is_file():
                        by_stem.setdefault(path.stem, inside(path, self.root))
        return by_stem


@dataclass(frozen=True)
class Tree:
    """What a CANDOR folder holds: conversations by id; a survey and a transcript of all, where there is one."""

    conversations: dict[str, Conversation]
    survey: Path | None
    transcript: Path | None
    misnamed: tuple[str, ...]
    """Conversation folders whose names cannot be ids."""
    closed: tuple[str, ...]
    """Folders that may not be looked into."""


def find_tree(src: Path, transcript: str) -> Tree:
    """Look through the folder ``src`` for both of CANDOR's layouts; ``transcript`` is cliffhanger or another.

    Raises ``InputError``: not a folder, one that cannot be read, one conversation itself, or nothing of CANDOR in it.
    """
    if not src.is_dir():
        problem = "is a file" if src.exists() else "no such folder"
        raise InputError(f"{src}: {problem}; the folder of CANDOR's conversation folders is needed.")
    if any((src / mark).exists() for mark in MARKS):
        raise InputError(f"{src}: this is one conversation itself. Name the folder that it lies in.")
    root = src.resolve()
    try:
        below = sorted(src.iterdir())
        closed: list[str] = []
        folders = sorted(_conversation_folders(below, DEPTH, closed), key=lambda path: (path.name, path))
        survey = _whole(src, "survey")
        whole_transcript = _whole(src, f"transcript_{transcript}")
    except OSError as error:
        raise InputError(f"{error.filename or src}: cannot be read ({error.strerror}). Check its mode.") from None
    named: dict[str, list[Path]] = {}
    for folder in folders:
        named.setdefault(folder.name, []).append(folder)
    if not named and whole_transcript is None:
        raise InputError(
            f"{src}: no conversation folder (<uuid>/transcription, <uuid>/metadata.json) and no "
            f"transcript_{transcript}.tsv in it. Name the folder that CANDOR was unpacked into; see "
            "docs/guides/recordings.md."
        )
    conversations = {id_: Conversation(id_, root, tuple(paths)) for id_, paths in named.items() if SAFE.fullmatch(id_)}
    misnamed = tuple(ascii(name) for name in named if name not in conversations)
    return Tree(conversations, survey, whole_transcript, misnamed, tuple(closed))


def inside(path: Path, root: Path) -> Path:
    """``path`` itself, if it lies in the resolved folder ``root`` after links are followed.

    Raises ``UnitError``: it leads elsewhere.
    """
    if not path.resolve().is_relative_to(root):
        raise UnitError(f"{path.name}: a link that leads out of {root}. Put the file itself there.")
    return path


def _conversation_folders(paths: Sequence[Path], depth: int, closed: list[str]) -> Iterator[Path]:
    for path in paths:
        if path.name.startswith((".", "__")) or not path.is_dir():
            continue
        try:
            is_conversation = UUID.fullmatch(path.name) or any((path / mark).exists() for mark in MARKS)
            below = [] if is_conversation or depth == 1 else sorted(path.iterdir())
        except OSError:  # Such as lost+found at the root of a disk.
            closed.append(path.name)
            continue
        if is_conversation:
            yield path
        yield from _conversation_folders(below, depth - 1, closed)


def _whole(src: Path, stem: str) -> Path | None:
    """The one file for all conversations, if there is one."""
    present = [src / f"{stem}{suffix}" for suffix in (".tsv", ".csv") if (src / f"{stem}{suffix}").is_file()]
    if len(present) > 1:
        raise InputError(f"{src}: both {present[0].name} and {present[1].name}. Keep one of them.")
    if present:
        try:
            inside(present[0], src.resolve())
        except UnitError as error:
            raise InputError(str(error)) from None
    return present[0] if present else None
