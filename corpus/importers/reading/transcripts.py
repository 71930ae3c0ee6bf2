"""Transcripts with speakers and times: WebVTT, SRT, Praat TextGrid, WhisperX JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.files.csvfile import parsed
from apportion.corpus.files.textfile import read_bytes, read_json, read_text
from apportion.corpus.importers.reading.captions import header_language, read_captions
from apportion.corpus.importers.reading.time_unit import MILLISECONDS, TimeUnit, check_pace
from apportion.corpus.importers.reading.transcript_table import read_cues
from apportion.corpus.importers.reading.whisperx import segment_parts
from apportion.corpus.speakers.labels import Said
from apportion.corpus.speakers.names import clean_name
from apportion.corpus.speakers.settle import EMPTY
from apportion.foundation.errors import UnitError
from apportion.foundation.safe_text import is_seen

CAPTIONS = (".vtt", ".srt")
"""Formats in which a label may be no more than the beginning of a text."""
POINTS = "points, which last no time"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
TABLES = (".csv", ".tsv")
UNITLESS = (*TABLES, ".json")
"""Endings of transcripts whose times are bare figures."""


def read_transcript(path: Path, unit: TimeUnit | None = None) -> list[Said]:
    """What was said, in the order of the file, whose format the ending of its name tells (`READERS`).

    ``unit``: of times that are bare figures (`UNITLESS`); None: seconds, unless columns are named otherwise.

    Raises ``UnitError``: a cue with impossible times, times that are likely in another unit, a damaged file, nothing
    said. ``InputError``: a file that cannot be read, is empty, or is not UTF-8 (file, line, byte).
    """
    ending = path.suffix.lower()
    said = _table(path, unit) if ending in TABLES else READERS[ending](path)
    if unit == MILLISECONDS and ending in UNITLESS and ending not in TABLES:
        said = [replace(piece, start_s=piece.start_s / 1000, end_s=piece.end_s / 1000) for piece in said]
    if ending in UNITLESS:
        check_pace(path.name, ((piece.text, piece.start_s, piece.end_s) for piece in said), unit)
    if not any(piece.text or piece.written for piece in said):
        raise UnitError(f"{path.name}: no speech of a known speaker in it. Check the export.")
    return said


def transcript_language(path: Path) -> str | None:
    """The language that the transcript itself says, WebVTT in its header and WhisperX beside its segments."""
    if path.suffix.lower() == ".vtt":
        return header_language(path)
    document = read_json(path) if path.suffix.lower() == ".json" else None
    said = document.get("language") if isinstance(document, dict) else None
    return said if isinstance(said, str) and said.strip() else None


def _textgrid(path: Path) -> list[Said]:
    """One interval tier a speaker, named after the speaker; empty intervals are silence."""
    from praatio import textgrid

    if not read_bytes(path).startswith(UTF16_BOMS):
        read_text(path)  # Says where the file is not UTF-8; praatio would not.
    try:
        grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=True, reportingMode="silence")
    except Exception as error:  # praatio lets whatever its parser runs into escape.
        raise UnitError(
            f"{path.name}: not a readable TextGrid ({type(error).__name__}: {error}). Save it again in Praat."
        ) from None
    cues, read = [], account.current()
    for tier in grid.tiers:
        read.said("cues", labels := [entry.label for entry in tier.entries])
        if not isinstance(tier, textgrid.IntervalTier):
            read.left_out("cues", POINTS, len(labels), f"{path.name}, tier {tier.name!r}")
            read.left_out("words", POINTS, account.words_in(labels), f"{path.name}, tier {tier.name!r}")
            continue
        for entry in tier.entries:
            place = f"{path.name}, tier {tier.name!r}, {entry.start:g} s"
            if entry.label.strip():
                cues.append(_cue(place, tier.name, entry.label, entry.start, entry.end))
            else:
                read.left_out("cues", EMPTY, 1, place)
    return cues


def _whisperx(path: Path) -> list[Said]:
    """WhisperX after diarisation: ``{"segments": [{"speaker", "start", "end", "text", "words"}, ...]}``."""
    document = read_json(path)
    segments = document.get("segments") if isinstance(document, dict) else None
    if not isinstance(segments, list):
        raise UnitError(f'{path.name}: no list "segments". Only WhisperX\'s JSON is read; or give a VTT, SRT or CSV.')
    cues: list[Said] = []
    read = account.current()
    read.read("cues", len(segments))
    for number, segment in enumerate(segments, start=1):
        place = f"{path.name}, segment {number}"
        if not isinstance(segment, dict):
            raise UnitError(f"{place}: an object is needed.")
        words = account.words_in([str(segment.get("text") or "")])
        read.read("words", words)
        for part, (speaker, *rest) in enumerate(segment_parts(place, segment)):
            if speaker is None:
                read.left_out("cues", "without a speaker", 1, place)
                read.left_out("words", "without a speaker", words, place)
            else:
                cues.append(replace(_cue(place, speaker, *rest), opens=part == 0))
    if segments and not cues:
        raise UnitError(f"{path.name}: no segment has a speaker. Run WhisperX with --diarize.")
    return cues


def _table(path: Path, unit: TimeUnit | None = None) -> list[Said]:
    """CSV or TSV with a header (`apportion.corpus.importers.reading.transcript_table`)."""
    return [_cue(*cue) for cue in read_cues(path, unit)]


def _cue(place: str, speaker: Any, text: Any, start: Any, end: Any) -> Said:
    """A checked piece whose speaker the format names; times may be numbers or their text."""
    if not isinstance(speaker, str) or not clean_name(speaker) or not isinstance(text, str):
        raise UnitError(f"{place}: speaker {speaker!r} and text {text!r}; both must be texts, the speaker not empty.")
    start_s, end_s = _figure(start), _figure(end)
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        raise UnitError(f"{place}: start {start!r} and end {end!r}; numbers of seconds are needed, such as 1.5.")
    if end_s < start_s or start_s < 0:
        raise UnitError(f"{place}: from {start_s:g} s to {end_s:g} s; 0 <= start <= end is needed.")
    said = " ".join(text.split()) if is_seen(text) else ""
    return Said(place, said, start_s, end_s, clean_name(speaker), sure=True, written=said)


def _figure(value: Any) -> float:
    """A time as a number; NaN where it is none."""
    found = parsed(value) if isinstance(value, str) else value
    try:
        return math.nan if found is None else float(found)
    except (TypeError, ValueError, OverflowError):
        return math.nan


READERS: Mapping[str, Callable[[Path], list[Said]]] = {
    **dict.fromkeys(CAPTIONS, read_captions),
    ".textgrid": _textgrid,
    ".json": _whisperx,
    ".csv": _table,
    ".tsv": _table,
}
"""Ending of the file's name -> its reader."""
