"""CANDOR: strangers in video calls, each of whom rates the other afterwards.

SRC/<uuid>/{metadata.json, survey.csv, audio_video_features.csv, transcription/, processed/}, or one survey.tsv for all
beside raw/<uuid>/ and transcript_*.tsv. Reece et al. (2023), doi:10.1126/sciadv.adf3197; the data are gated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.importers.candor.folders import SAFE, Conversation, Tree, find_tree
from apportion.corpus.importers.candor.media import PRECOMPUTED, precomputed_of, recordings_of
from apportion.corpus.importers.candor.survey import (
    BEFORE,
    Answer,
    Metadata,
    Question,
    check_column,
    people_of,
    question_of,
    rated_pair,
    read_all_answers,
    read_answers,
    read_metadata,
)
from apportion.corpus.importers.candor.transcripts import (
    KINDS,
    Line,
    Spoken,
    counts,
    middle_turns,
    read_all_lines,
    read_lines,
    spoken,
)
from apportion.corpus.importers.reading.json_items import SkipCounter
from apportion.corpus.importers.reading.measured import check_map
from apportion.corpus.importers.reading.recordings import TrackPart
from apportion.corpus.importers.reading.sources import check_options
from apportion.corpus.recordings.feature_map import NAME
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

OPTIONS = {
    "transcript": "cliffhanger (default), backbiter or audiophile",
    "score": "a numeric column of the survey (default: overall_affect)",
    "low": "the low end of its scale, where it is not known",
    "high": "the high end of its scale",
    "better": "which end is good: high (default) or low",
    "turns": "all (default), or middle100: so many from the middle",
    "media": "all (default), audio, or none",
    "features": "none (default), or precomputed: CANDOR's own measurements",
    "map": "COLUMN:FEATURE, of those measurements, several between commas",
}
CHOICES = {
    "transcript": KINDS,
    "media": ("all", "audio", "none"),
    "features": ("none", "precomputed"),
}
"""Options that are one of a few words; the first is the default."""
LANGUAGE = "en"
OWN = "in a file for all, of conversations with a file of their own"


@dataclass(frozen=True)
class CandorOptions:
    """What the options ask for; ``map`` is of columns of precomputed features, None for those that are known;
    ``middle`` is the number of turns from the middle, None for all."""

    transcript: str
    media: str
    features: str
    map: str | None
    question: Question
    middle: int | None


@dataclass(frozen=True)
class _Source:
    """The tree, and what its files for all conversations hold, by conversation."""

    root: Path
    tree: Tree
    answers: Mapping[str, Sequence[Answer]]
    lines: Mapping[str, Sequence[Line]]

    def counts(self, id_: str) -> dict[str, float]:
        """What was read of a conversation in the files for all."""
        return {**counts(self.lines.get(id_, ())), "scores": len(self.answers.get(id_, ()))}


@dataclass(frozen=True)
class _Session:
    """A conversation that was read without a fault; ``scores`` are (rater, target, score)."""

    id: str
    spoken: Spoken
    scores: Sequence[tuple[str, str, float]]
    people: frozenset[str]
    metadata: Metadata | None


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions of two people with timed turns, their two ratings of each other, and their recordings.

    A conversation whose transcript, survey or metadata is broken is left out and told; recordings that are broken are
    left out alone. The raters are the survey's users, and each rates the partner.

    ``src``: the folder that CANDOR was unpacked into, in either of its layouts. ``options``: those of `OPTIONS`;
    cliffhanger is LLM-GELI's choice. Raises ``InputError``: unknown options and values, a score that no survey has or
    whose scale is not known, a folder that holds no CANDOR, a file for all conversations that cannot be read.
    """
    check_options("candor", options, OPTIONS)
    wanted = _wanted(options)
    source = _open(src, wanted)
    rows, files, tally = CorpusRows(), dict[str, Path](), SkipCounter()
    left_out = [SkippedSession(name, "the folder's name cannot be an id. Rename it.") for name in source.tree.misnamed]
    ids, read = sorted({*source.tree.conversations, *source.lines}), account.current()
    read.read("conversations", len(ids) + len(left_out))
    for item in left_out:
        read.left_out("conversations", "their names cannot be ids", 1, item.session_id)
    for id_ in ids:
        of_session = SkipCounter()
        try:
            with account.session("conversations", _shown(id_), source.counts(id_)):
                _import(rows, files, source, id_, wanted, of_session)
        except UnitError as error:
            left_out.append(SkippedSession(_shown(id_), str(error)))
        except OSError as error:
            left_out.append(
                SkippedSession(_shown(id_), f"{error.filename}: cannot be read ({error.strerror}). Check its mode.")
            )
        else:
            tally.take(of_session)
    for id_ in sorted(source.answers.keys() - {*ids}):
        read.left_out("scores", "of conversations that are not here", len(source.answers[id_]), _shown(id_))
    notes = (*_remarks(source, wanted), *tally.notes())
    return CorpusBuild(rows.tables(), notes, tuple(left_out), files, usual_language=LANGUAGE)


def _shown(id_: str) -> str:
    """An id for messages: one that cannot be an id may hold what a terminal obeys."""
    return id_ if SAFE.fullmatch(id_) else ascii(id_)


def _wanted(options: Mapping[str, str]) -> CandorOptions:
    values = {}
    for key, allowed in CHOICES.items():
        values[key] = options.get(key, allowed[0])
        if values[key] not in allowed:
            hint = did_you_mean(values[key].lower(), allowed, after=" ")
            raise InputError(f"import candor: option {key}={values[key]}: {hint}Allowed: {', '.join(allowed)}.")
    chosen = options.get("map")
    if chosen is not None and values["features"] != "precomputed":
        raise InputError(f"import candor: option map={chosen}: of which features? Say -o features=precomputed, too.")
    chosen = chosen and f"{NAME},{chosen}"
    check_map("candor", chosen)
    middle = middle_turns(options.get("turns", "all"))
    return CandorOptions(**values, map=chosen, question=question_of(options), middle=middle)


def _open(src: Path, wanted: CandorOptions) -> _Source:
    tree = find_tree(src, wanted.transcript)
    surveys = [path for path in map(_survey_of, tree.conversations.values()) if path is not None]
    check_column([tree.survey, *surveys] if tree.survey else surveys, wanted.question.column)
    answers = read_all_answers(tree.survey, wanted.question.column) if tree.survey else {}
    return _Source(src.resolve(), tree, answers, read_all_lines(tree.transcript) if tree.transcript else {})


def _survey_of(conversation: Conversation) -> Path | None:
    try:
        return conversation.file("survey.csv")
    except (UnitError, OSError):
        return None  # Told with its conversation.


def _import(
    rows: CorpusRows, files: dict[str, Path], source: _Source, id_: str, wanted: CandorOptions, tally: SkipCounter
) -> None:
    """Add one conversation, all or nothing."""
    if not SAFE.fullmatch(id_):
        raise UnitError("convo_id cannot be an id: letters, digits, '-', '_' and '.' are allowed.")
    conversation = source.tree.conversations.get(id_) or Conversation(id_, source.root)
    session = _read(source, conversation, wanted, tally)
    parts, duration_s = _media(conversation, session, wanted, tally)
    _add(rows, files, session, parts, duration_s, wanted)
    _tell(tally, session, wanted)


def _read(source: _Source, conversation: Conversation, wanted: CandorOptions, tally: SkipCounter) -> _Session:
    """One conversation, all or nothing; its own files go before those for all."""
    id_, column = conversation.id, wanted.question.column
    name = f"transcription/transcript_{wanted.transcript}.csv"
    path = conversation.file(name)
    if path is None and id_ not in source.lines:
        raise UnitError(f"no {name}. Copy it there, or choose another one: -o transcript=… ({', '.join(KINDS)}).")
    if path is None and source.tree.transcript is not None:
        name = source.tree.transcript.name
    lines = source.lines[id_] if path is None else read_lines(path, name)
    survey = conversation.file("survey.csv")
    for what, many in source.counts(id_).items():
        own = survey if what == "scores" else path
        account.current().left_out(what, OWN, 0 if own is None else many, id_)
    answers = source.answers.get(id_, ()) if survey is None else read_answers(survey, column, id_)
    described = conversation.file("metadata.json")
    metadata = None if described is None else read_metadata(described)
    people = people_of(metadata, answers, lines)
    turns_spoken = spoken(lines, name, people, wanted.middle)
    return _Session(id_, turns_spoken, _scores(answers, people, wanted.question, id_, tally), people, metadata)


def _scores(
    answers: Sequence[Answer], people: frozenset[str], question: Question, id_: str, tally: SkipCounter
) -> list[tuple[str, str, float]]:
    scored: dict[str, tuple[str, str, float]] = {}
    seen: set[str] = set()
    for answer in answers:
        rater, target = rated_pair(answer, people)
        if rater in seen:
            raise UnitError(f"{answer.place}: a second row of user {rater}. Keep the right one.")
        seen.add(rater)
        score = answer.score(question)
        if score is None:
            account.current().left_out("scores", f"{question.column} is blank", 1, f"{id_}: {answer.place}")
        else:
            scored[rater] = (rater, target, score)
    if not answers:
        tally.add("no answers to the survey, the session is unrated", id_)
    elif len(seen) == 1:
        tally.add("only one of the two answered the survey", id_)
    return list(scored.values())


def _media(
    conversation: Conversation, session: _Session, wanted: CandorOptions, tally: SkipCounter
) -> tuple[list[TrackPart], float | None]:
    parts: list[TrackPart] = []
    duration_s = None
    if wanted.media != "none":
        parts, duration_s = recordings_of(
            conversation, session.people, session.metadata, video=wanted.media == "all", tally=tally
        )
    if wanted.features == "precomputed":
        parts = [*parts, *precomputed_of(conversation, session.people, wanted.map, tally)]
    elif conversation.file(PRECOMPUTED) is not None:
        tally.add(f"{PRECOMPUTED} is there and was not asked for (-o features=precomputed)", conversation.id)
    return parts, duration_s


def _add(
    rows: CorpusRows,
    files: dict[str, Path],
    session: _Session,
    parts: Sequence[TrackPart],
    duration_s: float | None,
    wanted: CandorOptions,
) -> None:
    rows.session(session.id, f"candor/{wanted.transcript}", duration_s=duration_s)
    for turn, cue in session.spoken.turns:
        rows.utterance(session.id, turn, cue.speaker, cue.text, cue.start_s, cue.end_s)
    for event in session.spoken.backchannels:
        rows.event(session.id, event)
    question = wanted.question
    for rater, target, score in session.scores:
        rows.rating(
            session.id,
            (rater, target),
            question.column,
            score,
            question.scale,
            higher_is_better=question.higher_is_better,
        )
    for part in parts:
        path = f"media/{session.id}/{part.path.name}"
        files[path] = part.path
        rows.media(session.id, part.speaker, part.kind, path, part.channel)


def _tell(tally: SkipCounter, session: _Session, wanted: CandorOptions) -> None:
    spoken_turns = session.spoken
    tally.add("turns that begin before the last one ends (kept as they are)", session.id, spoken_turns.overlapping)
    tally.add("turns not in the order of their starts were put in order", session.id, spoken_turns.out_of_order)
    if wanted.middle is not None and len(spoken_turns.turns) < wanted.middle:
        tally.add(f"fewer than {wanted.middle} turns, all were kept", session.id)


def _remarks(source: _Source, wanted: CandorOptions) -> list[str]:
    column, remarks = wanted.question.column, []
    if column in BEFORE:
        remarks.append(f"{column} was asked before the conversation: nothing that was said in it can have earned it")
    if source.tree.closed:
        names = ", ".join(map(ascii, source.tree.closed[:3]))
        remarks.append(f"folders that may not be looked into were passed over: {len(source.tree.closed)} ({names})")
    return remarks
