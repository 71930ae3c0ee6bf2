"""Transcripts with speakers and times: WebVTT, SRT, Praat TextGrid, WhisperX JSON and CSV."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_bytes, read_json, read_text
from apportion.foundation.errors import UnitError

SPEAKER_PREFIX = re.compile(r"^\s*([^:\n]{1,60}?)\s*:\s+(.*)$", re.DOTALL)
VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>(.*?)(?=<v[.\s]|$)", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
CSV_COLUMNS = {
    "speaker": ("speaker",),
    "start": ("start", "start_s"),
    "end": ("stop", "end", "stop_s", "end_s"),
    "text": ("utterance", "text"),
}


@dataclass(frozen=True)
class Cue:
    """What one speaker said from ``start_s`` to ``end_s`` (seconds on the session clock)."""

    speaker: str
    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Transcript:
    """The cues in the order of their starts; ``unattributed`` counts pieces without a speaker that were left out."""

    cues: tuple[Cue, ...]
    unattributed: int = 0


def read_transcript(path: Path) -> Transcript:
    """Read a transcript, its format told by the ending of its name (`READERS`).

    Raises ``UnitError``: a cue without a speaker or with impossible times, a damaged file, no cue at all.
    ``InputError``: a file that cannot be read, is empty, or is not UTF-8 (file, line, byte).
    """
    cues, unattributed = READERS[path.suffix.lower()](path)
    if not cues:
        raise UnitError(f"{path.name}: no speech of a known speaker in it. Check the export.")
    return Transcript(tuple(sorted(cues, key=lambda cue: cue.start_s)), unattributed)


def _captions(path: Path) -> tuple[list[Cue], int]:
    """WebVTT (voice tags ``<v Alice>``) and SRT; both may say "Alice: text" instead."""
    import webvtt

    text = read_text(path)
    kind = path.suffix.lower().removeprefix(".")
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=kind).captions
    except (webvtt.errors.MalformedFileError, webvtt.errors.MalformedCaptionError) as error:
        raise UnitError(f"{path.name}: not a readable {kind.upper()} file ({error}). Export it again.") from None
    lost = sum("-->" in line for line in text.split("\n")) - len(captions)
    if lost > 0:
        # The library passes over cues that it cannot read; a hole in a transcript must not go unseen.
        raise UnitError(f"{path.name}: {lost} cues have times that cannot be read; write them as 00:00:01.500.")
    cues = []
    for number, caption in enumerate(captions, start=1):
        place = f"{path.name}, cue {number} ({caption.start})"
        times = (_seconds(caption.start_time), _seconds(caption.end_time))
        cues += [_cue(place, speaker, said, *times) for speaker, said in _voices(place, caption.raw_text)]
    return cues, 0


def _voices(place: str, raw: str) -> list[tuple[str, str]]:
    """(speaker, text) of every voice in a cue, without tags and entities."""
    voices = [match.groups() for match in VOICE.finditer(raw)] or [
        match.groups() for match in [SPEAKER_PREFIX.match(TAG.sub("", raw))] if match
    ]
    if not voices:
        raise UnitError(f'{place}: no speaker. Write "<v Alice>text" (WebVTT) or "Alice: text".')
    return [(html.unescape(speaker), html.unescape(TAG.sub("", said))) for speaker, said in voices]


def _seconds(stamp: Any) -> float:
    return float(stamp.hours * 3600 + stamp.minutes * 60 + stamp.seconds + stamp.milliseconds / 1000)


def _textgrid(path: Path) -> tuple[list[Cue], int]:
    """One interval tier a speaker, named after the speaker; empty intervals are silence."""
    from praatio import textgrid

    if not read_bytes(path).startswith(UTF16_BOMS):
        read_text(path)  # Says where the file is not UTF-8; praatio would not.
    try:
        grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=False, reportingMode="silence")
    except Exception as error:  # praatio lets whatever its parser runs into escape.
        raise UnitError(
            f"{path.name}: not a readable TextGrid ({type(error).__name__}: {error}). Save it again in Praat."
        ) from None
    cues = []
    for tier in grid.tiers:
        if isinstance(tier, textgrid.IntervalTier):
            for entry in tier.entries:
                place = f"{path.name}, tier {tier.name!r}, {entry.start:g} s"
                cues.append(_cue(place, tier.name, entry.label, entry.start, entry.end))
    return cues, 0


def _whisperx(path: Path) -> tuple[list[Cue], int]:
    """WhisperX after diarisation: ``{"segments": [{"speaker", "start", "end", "text"}, ...]}``."""
    document = read_json(path)
    segments = document.get("segments") if isinstance(document, dict) else None
    if not isinstance(segments, list):
        raise UnitError(f'{path.name}: no list "segments". Only WhisperX\'s JSON is read; or give a VTT, SRT or CSV.')
    cues, unattributed = [], 0
    for number, segment in enumerate(segments, start=1):
        place = f"{path.name}, segment {number}"
        if not isinstance(segment, dict):
            raise UnitError(f"{place}: an object is needed.")
        if segment.get("speaker") is None:
            unattributed += 1
            continue
        cues.append(_cue(place, *(segment.get(key) for key in ("speaker", "text", "start", "end"))))
    if unattributed == len(segments) and segments:
        raise UnitError(f"{path.name}: no segment has a speaker. Run WhisperX with --diarize.")
    return cues, unattributed


def _table(path: Path) -> tuple[list[Cue], int]:
    """CSV with a header: speaker, start (or start_s), stop (or end, end_s), utterance (or text)."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t" if path.suffix == ".tsv" else ",")
    header = [name.strip().lower() for name in reader.fieldnames or []]
    reader.fieldnames = header
    columns = {key: _csv_column(path, header, key, names) for key, names in CSV_COLUMNS.items()}
    try:
        return [_csv_cue(path, reader.line_num, row, columns) for row in reader], 0
    except csv.Error as error:
        raise UnitError(f"{path.name}, line {reader.line_num}: not readable CSV ({error}).") from None


def _csv_column(path: Path, header: list[str], key: str, names: tuple[str, ...]) -> str:
    present = next((name for name in names if name in header), None)
    if present is None:
        raise UnitError(
            f"{path.name}: no column for the {key}; allowed: {', '.join(names)}. Found: {', '.join(header) or 'none'}."
        )
    return present


def _csv_cue(path: Path, line: int, row: Mapping[str, str | None], columns: Mapping[str, str]) -> Cue:
    values = {key: row[name] for key, name in columns.items()}
    return _cue(f"{path.name}, line {line}", values["speaker"], values["text"], values["start"], values["end"])


def _cue(place: str, speaker: Any, text: Any, start: Any, end: Any) -> Cue:
    """A checked cue; times may be numbers or their text."""
    if not isinstance(speaker, str) or not speaker.strip() or not isinstance(text, str):
        raise UnitError(f"{place}: speaker {speaker!r} and text {text!r}; both must be texts, the speaker not empty.")
    try:
        start_s, end_s = float(start), float(end)
    except (TypeError, ValueError):
        start_s = end_s = math.nan
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        raise UnitError(f"{place}: start {start!r} and end {end!r}; numbers of seconds are needed.")
    if end_s < start_s or start_s < 0:
        raise UnitError(f"{place}: from {start_s:g} s to {end_s:g} s; 0 <= start <= end is needed.")
    return Cue(speaker.strip(), " ".join(text.split()), start_s, end_s)


READERS: Mapping[str, Callable[[Path], tuple[list[Cue], int]]] = {
    ".vtt": _captions,
    ".srt": _captions,
    ".textgrid": _textgrid,
    ".json": _whisperx,
    ".csv": _table,
    ".tsv": _table,
}
"""Ending of the file's name -> its reader."""
