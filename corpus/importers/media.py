"""A folder of session folders, or one of them: recordings, a transcript each, and ``ratings.csv``.

SRC/ratings.csv (or one in each session folder), SRC/<session>/{transcript.vtt, alice.mp4, bob.mp4}; or one stereo or
side-by-side file with ``channel_map.json``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.textfile import not_a_file
from apportion.corpus.importers.reading.measured import check_map, is_measured, measured_parts, measured_speaker
from apportion.corpus.importers.reading.ratings_csv import Row, Score, read_ratings
from apportion.corpus.importers.reading.recordings import (
    CHANNEL_MAP,
    probe,
    read_channel_map,
    track_parts,
)
from apportion.corpus.importers.reading.sources import check_options
from apportion.corpus.importers.reading.time_unit import TimeUnit, time_unit_option
from apportion.corpus.importers.reading.transcripts import (
    CAPTIONS,
    READERS,
    TABLES,
    UNITLESS,
    read_transcript,
    transcript_language,
)
from apportion.corpus.recordings.container import SUFFIXES
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.speakers.doubt import Doubt, UnsureSpeakersError
from apportion.corpus.speakers.evidence import repeated
from apportion.corpus.speakers.labels import Cue
from apportion.corpus.speakers.names import clean_name, name_key, same_name
from apportion.corpus.speakers.settle import Known, settle
from apportion.corpus.speakers.settled import Speaker, merged
from apportion.corpus.speakers.speakers_file import SpeakersFile, read_speakers
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

OPTIONS = {
    "language": "the language of all sessions, such as en",
    "time_unit": "of the times in transcripts that are tables or JSON: s (the default) or ms",
    "speakers": "a CSV file: label, name (empty: the label is text), and session_id if a label is not the same person "
    "everywhere",
    "sound_track": "which sound track counts, from 0, where several of one file sound",
    "map": "of SPEAKER.features.csv: openface, py-feat@25, egemaps, mexca, or COLUMN:FEATURE (default: by its columns)",
}
RATINGS = "ratings.csv"
RATINGS_TABLES = (RATINGS, "ratings.tsv")
SPREADSHEETS = (".xlsx", ".xls", ".ods")
NOT_TRANSCRIPTS = (*RATINGS_TABLES, CHANNEL_MAP, "metadata.json", "import.json", "survey.csv")
PREFERRED = "transcript"


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions with timed utterances, recordings by speaker, and the ratings.

    Names are matched upper and lower case and Unicode form aside and spelt as in the transcript. Cues stay turns of
    their own, in the order of their starts. A broken session is left out and told; the others are imported.

    ``src``: the folder. ``options``: those of `OPTIONS`. Raises ``InputError``: not a folder, no session folder in it,
    a ``ratings.csv`` at its root or a file of speakers that cannot be read, a ``time_unit`` that is none, or for which
    there is no transcript, a ``map`` that is none. ``UnsureSpeakersError``: labels that may be people or text.
    """
    check_options("media", options, OPTIONS)
    track = _sound_track(options)
    check_map("media", options.get("map"))
    folders = _session_folders(src)
    unit = time_unit_option("media", options)
    if unit and not any(path.suffix.lower() in UNITLESS for folder in folders for path in _transcripts(folder)):
        raise InputError(f"import media: option time_unit={unit}: no transcript here is a table or JSON. Leave it out.")
    given = read_speakers(Path(options["speakers"])) if "speakers" in options else SpeakersFile()
    alone = folders == [src.resolve()]  # One session itself: it reads its ratings and tells of its files.
    table = None if alone else _ratings(src)
    ratings = read_ratings(table) if table else {}
    rated: dict[str, list[Row]] = {}
    for session_id, rows in ratings.items():
        # Some systems write the names of files in another Unicode form.
        rated.setdefault(clean_name(session_id), []).extend(rows)
    known = set(SUFFIXES).union(READERS) - set(TABLES)
    notes = [] if alone else [*_not_files(src), *_not_used(src, known, options.get("speakers"))]
    if table and not ratings:
        notes.append(f"{table.name} has no rows: nothing is rated by it")
    made = _Made(given, _heard(folders, rated), options.get("language"), unit, track, options.get("map"), notes)
    left_out = list(_unknown(ratings, [folder.name for folder in folders]))
    doubts: list[Doubt] = []
    for folder in folders:
        try:
            scores = rated.get(clean_name(folder.name), [])
            with account.session("folders", folder.name, {"scores": len(scores)}):
                _session(made, folder, scores)
        except UnsureSpeakersError as unsure:
            doubts += unsure.doubts
        except (UnitError, InputError) as error:
            left_out.append(SkippedSession(folder.name, str(error)))
    if doubts:
        raise UnsureSpeakersError(doubts)
    made.notes += given.unused(made.labels)
    return CorpusBuild(
        made.rows.tables(),
        tuple(made.notes),
        tuple(left_out),
        made.files,
        merged(made.speakers),
        tuple(made.chosen),
    )


def _sound_track(options: Mapping[str, str]) -> int | None:
    given = options.get("sound_track")
    if given is None:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 5):
        raise InputError(
            f"import media: option sound_track={given}: the number of a sound track is needed, from 0, for example "
            "-o sound_track=1."
        )
    return int(given)


def _session_folders(src: Path) -> list[Path]:
    if not src.is_dir():
        problem = "is a file" if src.exists() else "no such folder"
        put = f" Put it into FOLDER/{src.stem}/ and name FOLDER." if src.suffix.lower() in (*READERS, *SUFFIXES) else ""
        raise InputError(f"{src}: {problem}; a folder with one folder a session is needed.{put}")
    there = sorted(path for path in src.iterdir() if path.is_dir() and not path.name.startswith("."))
    folders = [folder for folder in there if _recordings(folder) or _transcripts(folder) or _not_files(folder)]
    account.current().read("folders", len(there))
    for folder in sorted({*there} - {*folders}):
        account.current().left_out("folders", "no recording and no transcript", 1, folder.name)
    if not folders:
        if _recordings(src) or any(path.suffix.lower() in CAPTIONS for path in _files(src)):
            account.current().read("folders")
            return [src.resolve()]  # It is one session itself.
        raise InputError(
            f"{src}: no folder in it has a recording or a transcript ({', '.join(READERS)}). "
            "See docs/guides/recordings.md."
        )
    return folders


def _same(session_id: str, folder: str) -> bool:
    """Whether the rating's session is the folder's, Unicode form aside."""
    return clean_name(session_id) == clean_name(folder)


def _unknown(ratings: Mapping[str, list[Row]], known: list[str]) -> Iterator[SkippedSession]:
    there = {clean_name(name) for name in known}
    for session_id, rows in ratings.items():
        if clean_name(session_id) not in there:
            account.current().left_out("scores", "of sessions that are not here", len(rows), rows[0].place)
            hint = did_you_mean(session_id, known, "Add the folder, or remove the rating.")
            yield SkippedSession(session_id, f"{rows[0].place}: there is no folder {session_id!r}; {hint}")


def _heard(folders: Sequence[Path], rated: Mapping[str, list[Row]]) -> dict[str, set[str]]:
    """By `name_key`: the sessions in which somebody is rated or, by captions alone, speaks.

    Captions are read again with their session, where what is broken is told and all of it counted.
    """
    heard: dict[str, set[str]] = {}
    for session_id, rows in rated.items():
        for name in (row.values[column] for row in rows for column in ("rater", "target")):
            heard.setdefault(name_key(name), set()).add(session_id)
    for folder in folders:
        try:
            path = _transcript(folder)
            with account.opened():
                said = read_transcript(path) if path.suffix.lower() in CAPTIONS else ()
        except (UnitError, InputError):
            continue
        for name in repeated(said):
            heard.setdefault(name_key(name), set()).add(clean_name(folder.name))
    return heard


@dataclass
class _Made:
    """What is made of the folder, session by session."""

    given: SpeakersFile
    heard: dict[str, set[str]]
    language: str | None
    unit: TimeUnit | None
    sound_track: int | None
    map: str | None
    notes: list[str]
    chosen: list[str] = field(default_factory=list)
    rows: CorpusRows = field(default_factory=CorpusRows)
    files: dict[str, Path] = field(default_factory=dict)
    speakers: list[Speaker] = field(default_factory=list)
    labels: set[tuple[str, str]] = field(default_factory=set)


def _session(made: _Made, folder: Path, rated: list[Row]) -> None:
    """Add one session, all or nothing."""
    session_id, rows = folder.name, made.rows
    files = _recordings(folder)
    for file in files:
        account.current().recording(file, None)
    measured = sorted(path for path in _files(folder) if path.suffix.lower() in TABLES and is_measured(path))
    transcript = _transcript(folder)
    said = read_transcript(transcript, made.unit)
    mapped = (folder / CHANNEL_MAP).is_file()
    sides = read_channel_map(folder / CHANNEL_MAP, ()) if mapped else {}
    scores = _scores(folder, rated)
    known = Known(
        [name for score in scores for name in (score.rater, score.target) if name != ENVIRONMENT],
        [*sides.values(), *(path.stem for path in files), *map(measured_speaker, measured)],
        made.heard,
        made.given,
    )
    made.labels |= {(session_id, piece.label) for piece in said if piece.label is not None}
    settled = settle(said, session_id, known)
    labels = {one.name: one.name for one in settled.speakers}
    labels |= {label: one.name for one in settled.speakers for label in one.labels}
    recordings = [probe(path, made.sound_track) for path in files]
    sides = read_channel_map(folder / CHANNEL_MAP, list(labels)) if mapped else {}
    tracks, remarks, choices = track_parts(recordings, list(labels), sides)
    for part, told in measured_parts(measured, list(labels), made.map):
        tracks.append(part)
        remarks.append(told)
    durations = [recording.duration_s for recording in recordings if recording.duration_s is not None]
    language = made.language or transcript_language(transcript)
    rows.session(session_id, "media", duration_s=max(durations, default=None), language=language)
    _add_utterances(rows, session_id, settled.cues)
    for part in tracks:
        path = f"media/{session_id}/{part.path.name}"
        made.files[path] = part.path
        rows.media(session_id, labels.get(part.speaker, part.speaker), part.kind, path, part.channel)
    labels |= {part.speaker: part.speaker for part in tracks if part.speaker not in labels}
    for score in scores:
        rater, target = (_person(made.given, session_id, name, labels) for name in (score.rater, score.target))
        rows.rating(
            session_id,
            (rater, target),
            score.name,
            score.score,
            (score.low, score.high),
            annotator=score.annotator,
            higher_is_better=score.higher_is_better,
        )
    remarks += [*settled.remarks, *_not_files(folder), *_not_used(folder, (*SUFFIXES, *READERS))]
    made.speakers += settled.speakers
    made.notes.extend(f"session {session_id}: {text}" for text in remarks)
    made.chosen.extend(f"session {session_id}: {text}" for text in choices)


def _scores(folder: Path, rated: list[Row]) -> list[Score]:
    """The scores of a session: of the file for all, and of its own."""
    session_id = folder.name
    table = _ratings(folder)
    ratings_of = read_ratings(table, session_id) if table else {}
    other = next((id_ for id_ in sorted(ratings_of) if not _same(id_, session_id)), None)
    if other is not None:
        raise UnitError(f"{table.name if table else RATINGS}: rates session {other!r}; this folder is {session_id!r}.")
    return [row.score() for row in (*rated, *(row for rows in ratings_of.values() for row in rows))]


def _person(given: SpeakersFile, session_id: str, name: str, labels: Mapping[str, str]) -> str:
    """Who is meant by a name in the ratings: a label's person, or whoever the file of speakers says."""
    spelt = same_name(name, labels)
    if spelt is None:
        name = given.name_of(session_id, name) or name
        spelt = same_name(name, labels)
    return clean_name(name) if spelt is None else labels[spelt]


def _add_utterances(rows: CorpusRows, session_id: str, cues: Sequence[Cue]) -> None:
    for turn, cue in enumerate(cues):
        rows.utterance(session_id, turn, cue.speaker, cue.text, cue.start_s, cue.end_s)


def _recordings(folder: Path) -> list[Path]:
    return sorted(path for path in _files(folder) if path.suffix.lower() in SUFFIXES)


def _transcripts(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in _files(folder)
        if path.suffix.lower() in READERS and path.name.lower() not in NOT_TRANSCRIPTS and not is_measured(path)
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


def _ratings(folder: Path) -> Path | None:
    tables = sorted(path for path in _files(folder) if path.name.lower() in RATINGS_TABLES)
    if len(tables) > 1:
        raise InputError(f"{folder}: both {tables[0].name} and {tables[1].name} are there. Keep one.")
    return tables[0] if tables else None


def _not_used(folder: Path, known: Collection[str], speakers: str | None = None) -> list[str]:
    """What is not read: tables and spreadsheets, which may hold ratings, and what does not end as one of ``known``."""
    odd = sorted(path for path in _files(folder) if path.suffix.lower() not in known)
    return [
        f"{path.name} is not used: "
        + (
            f"ratings are read from {RATINGS}"
            if path.suffix.lower() in (*SPREADSHEETS, *TABLES)
            else "its ending is that of no recording and no transcript"
        )
        for path in odd
        if path.name.lower() not in RATINGS_TABLES and not (speakers and path.samefile(speakers))
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
