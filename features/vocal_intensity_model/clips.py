"""The clips of a corpus in RAVDESS's layout: what a file's name says of it (Livingstone and Russo, 2018)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path

LAYOUT = "modality-channel-emotion-intensity-statement-repetition-actor, two digits each (03-01-06-01-02-01-12.wav)"
NAME = re.compile(r"(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)")
RECORDINGS = frozenset({".wav", ".flac", ".aiff", ".mp3", ".m4a", ".ogg", ".mp4", ".avi", ".mov"})
"""What a file that is no part of the corpus (a licence, a list) does not end in."""
SOUNDLESS, SPEECH, STRENGTH = "02", "01", {"01": False, "02": True}
MODALITIES = ("03", "01")
"""The same clip as sound alone, or with a picture; the first that is there is taken."""


@dataclass(frozen=True)
class Clip:
    """One clip of speech: ``path`` relative to the folder, who speaks, and whether strongly (or normally)."""

    path: str
    actor: str
    strong: bool


def read_clips(folder: Path) -> tuple[Clip, ...]:
    """All clips of speech in ``folder`` and the folders in it, in the order of their names; songs are left out.

    Raises ``InputError``: no such folder, a recording whose name is not in RAVDESS's layout, no clip of speech, speech
    of one actor alone, an actor with clips of one intensity alone.
    """
    check_path(folder)
    if not folder.is_dir():
        raise InputError(
            f"{folder}: {'a file' if folder.exists() else 'no such folder'}. Name the folder of the clips."
        )
    named: dict[tuple[str, ...], dict[str, str]] = {}
    for path in _recordings(folder):
        modality, *rest = _fields(folder, path)
        if modality != SOUNDLESS and rest[0] == SPEECH:
            named.setdefault(tuple(rest), {}).setdefault(modality, path)
    clips = []
    for (_, _, intensity, _, _, actor), forms in sorted(named.items()):
        path = next(forms[modality] for modality in MODALITIES if modality in forms)
        clips.append(Clip(path, actor, STRENGTH[intensity]))
    _check(folder, clips)
    return tuple(clips)


def _recordings(folder: Path) -> list[str]:
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names]  # noqa: PTH118
    return sorted(path for path in found if Path(path).suffix.lower() in RECORDINGS and Path(path).name[0] != ".")


def _fields(folder: Path, path: str) -> tuple[str, ...]:
    match = NAME.fullmatch(Path(path).stem)
    allowed = match is not None and match[1] in (SOUNDLESS, *MODALITIES) and match[4] in STRENGTH
    if match is None or not allowed:
        raise InputError(
            f"{folder / path}: its name is not in RAVDESS's layout, {LAYOUT}; modality is 01 to 03, intensity 01 "
            "(normal) or 02 (strong). Rename the file, or move it out of the folder."
        )
    return match.groups()


def _check(folder: Path, clips: list[Clip]) -> None:
    if not clips:
        raise InputError(f"{folder}: no clip of speech in it. Its files are to be named as RAVDESS's are: {LAYOUT}.")
    if len({clip.actor for clip in clips}) < 2:
        raise InputError(
            f"{folder}: all {len(clips)} clips of speech are of actor {clips[0].actor}. Add another actor's: a model "
            "is judged by a voice that it has not heard."
        )
    for actor in sorted({clip.actor for clip in clips}):
        strong = [clip.strong for clip in clips if clip.actor == actor]
        if all(strong) or not any(strong):
            only = "strong (02)" if all(strong) else "normal (01)"
            raise InputError(
                f"{folder}: the intensity of all {len(strong)} clips of actor {actor} is {only}. Add clips of the "
                "other one, or leave the actor out: what is strong is told against what is usual for a voice."
            )
