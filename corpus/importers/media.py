"""A folder of session folders: recordings, a transcript each, and ``ratings.csv``.

SRC/ratings.csv (or one in each session folder), SRC/<session>/{transcript.vtt, alice.mp4, bob.mp4}; or one stereo or
side-by-side file with ``channel_map.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.textfile import not_a_file
from apportion.corpus.importers.reading.ratings_csv import Row, read_ratings
from apportion.corpus.importers.reading.recordings import (
    CHANNEL_MAP,
    SUFFIXES,
    probe,
    read_channel_map,
    same_name,
    track_parts,
)
from apportion.corpus.importers.reading.sources import check_options
from apportion.corpus.importers.reading.transcripts import READERS, Transcript, read_transcript
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

OPTIONS = {"language": "the language of all sessions, such as en"}
RATINGS = "ratings.csv"
NOT_TRANSCRIPTS = (RATINGS, CHANNEL_MAP, "metadata.json", "import.json", "survey.csv")
PREFERRED = "transcript"


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions with timed utterances, recordings by speaker, and the ratings.

    Names are matched upper and lower case aside and spelt as in the transcript. Cues stay turns of their own, in the
    order of their starts. A broken session is left out and told; the others are imported.

    ``src``: the folder. ``options``: ``language``: of all sessions, such as "en". Raises ``InputError``: not a folder,
    no session folder in it, a ``ratings.csv`` at its root that cannot be read.
    """
    check_options("media", options, OPTIONS)
    folders = _session_folders(src)
    ratings = read_ratings(src / RATINGS) if (src / RATINGS).is_file() else {}
    rows, files, notes = CorpusRows(), dict[str, Path](), _not_files(src)
    left_out = list(_unknown(ratings, [folder.name for folder in folders]))
    for folder in folders:
        try:
            _session(rows, files, notes, folder, ratings.get(folder.name, []), options.get("language"))
        except (UnitError, InputError) as error:
            left_out.append(SkippedSession(folder.name, str(error)))
    return CorpusBuild(rows.tables(), tuple(notes), tuple(left_out), files)


def _session_folders(src: Path) -> list[Path]:
    if not src.is_dir():
        problem = "is a file" if src.exists() else "no such folder"
        raise InputError(f"{src}: {problem}; a folder with one folder a session is needed.")
    folders = sorted(path for path in src.iterdir() if path.is_dir() and not path.name.startswith("."))
    folders = [folder for folder in folders if _recordings(folder) or _transcripts(folder) or _not_files(folder)]
    if not folders:
        alone = " It holds one session itself: put that into a folder of its own." if _recordings(src) else ""
        raise InputError(
            f"{src}: no folder in it has a recording or a transcript.{alone} See docs/guides/recordings.md."
        )
    return folders


def _unknown(ratings: Mapping[str, list[Row]], known: list[str]) -> Iterator[SkippedSession]:
    for session_id, rows in ratings.items():
        if session_id not in known:
            hint = did_you_mean(session_id, known, "Add the folder, or remove the rating.")
            yield SkippedSession(session_id, f"{rows[0].place}: there is no folder {session_id!r}; {hint}")


def _session(
    rows: CorpusRows, files: dict[str, Path], notes: list[str], folder: Path, rated: list[Row], language: str | None
) -> None:
    """Add one session, all or nothing."""
    session_id = folder.name
    transcript = read_transcript(_transcript(folder))
    speakers = list(dict.fromkeys(cue.speaker for cue in transcript.cues))
    recordings = [probe(path) for path in _recordings(folder)]
    sides = read_channel_map(folder / CHANNEL_MAP, speakers) if (folder / CHANNEL_MAP).is_file() else {}
    tracks, remarks = track_parts(recordings, speakers, sides)
    ratings_of = read_ratings(folder / RATINGS, session_id) if (folder / RATINGS).is_file() else {}
    if set(ratings_of) - {session_id}:
        other = min(set(ratings_of) - {session_id})
        raise UnitError(f"{RATINGS}: rates session {other!r}; this folder is {session_id!r}.")
    scores = [row.score() for row in (*rated, *ratings_of.get(session_id, []))]
    durations = [recording.duration_s for recording in recordings if recording.duration_s is not None]
    rows.session(session_id, "media", duration_s=max(durations, default=None), language=language)
    _add_utterances(rows, session_id, transcript)
    for part in tracks:
        path = f"media/{session_id}/{part.path.name}"
        files[path] = part.path
        rows.media(session_id, part.speaker, part.kind, path, part.channel)
    people = [*speakers, *(part.speaker for part in tracks)]
    for score in scores:
        pair = (same_name(score.rater, people) or score.rater, same_name(score.target, people) or score.target)
        scale = (score.low, score.high)
        rows.rating(
            session_id,
            pair,
            score.name,
            score.score,
            scale,
            annotator=score.annotator,
            higher_is_better=score.higher_is_better,
        )
    if transcript.unattributed:
        remarks.append(f"{transcript.unattributed} pieces of the transcript have no speaker and were left out")
    remarks += _not_files(folder)
    notes.extend(f"session {session_id}: {text}" for text in remarks)


def _add_utterances(rows: CorpusRows, session_id: str, transcript: Transcript) -> None:
    for turn, cue in enumerate(transcript.cues):
        rows.utterance(session_id, turn, cue.speaker, cue.text, cue.start_s, cue.end_s)


def _recordings(folder: Path) -> list[Path]:
    return sorted(path for path in _files(folder) if path.suffix.lower() in SUFFIXES)


def _transcripts(folder: Path) -> list[Path]:
    return sorted(
        path for path in _files(folder) if path.suffix.lower() in READERS and path.name not in NOT_TRANSCRIPTS
    )


def _not_files(folder: Path) -> list[str]:
    """What is called as a file of a session and is none: it is not opened, and told."""
    known = (*SUFFIXES, *READERS)
    odd = sorted(path for path in folder.iterdir() if path.suffix.lower() in known and not path.is_file())
    return [
        f"{path.name} is {not_a_file(path)}, not a file: it is not used"
        for path in odd
        if not path.name.startswith(".")
    ]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _transcript(folder: Path) -> Path:
    transcripts = _transcripts(folder)
    preferred = [path for path in transcripts if path.stem.lower() == PREFERRED]
    if len(preferred or transcripts) != 1:
        names = ", ".join(path.name for path in preferred or transcripts) or f"none ends in {', '.join(READERS)}"
        raise UnitError(
            f"one transcript is needed, found {len(preferred or transcripts)} ({names}). "
            f"Name the right one {PREFERRED}.*."
        )
    return (preferred or transcripts)[0]
