"""A copy of a run and its corpus in which people have other names: what is made of it cannot show one by oversight.

Names are those of speakers, raters and targets, and whatever else is named; they are replaced session by session as
`apportion.decompose.prompt_building.pseudonymize` does for a language model. Annotators get a number. Session ids stay.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RESPONSES
from apportion.corpus.session import Episode, Rating, Session
from apportion.decompose.prompt_building.pseudonymize import PseudonymMap, renaming
from apportion.pipeline.error_slices.run_slices import read_slices
from apportion.pipeline.results.run_folder import SLICES, session_file_name
from apportion.rlhf.compare.responses import read_rows
from apportion.viewer.data.run_location import RunPlace

PEOPLE = ("speaker", "rater", "target", "person")
TEXTS = ("text", "rationale", "evidence", "cause", "context", "response")
ENVIRONMENT = "environment"
ONE_NAME = "(a name)"


@dataclass(frozen=True)
class RenamedRun:
    """A run under other names, with what is beside it: responses of policies to its sessions, another run of them."""

    place: RunPlace
    responses: Path | None
    other: RunPlace | None


def renamed_copy(
    place: RunPlace,
    scratch: Path,
    names: Sequence[str] = (),
    responses: Path | None = None,
    other: RunPlace | None = None,
) -> RenamedRun:
    """A run like ``place`` in the folder ``scratch``, without its store and recordings, under other names.

    ``names``: names to replace besides those of who takes part. ``responses``: a table of policies' responses; those of
    sessions that the corpus has not are left out, since nobody knows whose names are in them. ``other``: another run of
    the same utterances, in which everybody is called as in this one.
    """
    corpus = Corpus.open(place.corpus)
    of_session = {session.session_id: _renaming(session, names) for session in corpus.iter_sessions()}
    copy = RunPlace(scratch / place.folder.name, scratch / "corpus")
    annotators = _annotators(corpus)
    tables = {name: _renamed(table, of_session, annotators) for name, table in corpus.tables.items()}
    Corpus.of(copy.corpus, tables).write(copy.corpus)
    _copy_run(place.folder, copy.folder, of_session, annotators)
    beside = None
    if other is not None:
        beside = RunPlace(scratch / "other" / other.folder.name, copy.corpus)
        _copy_run(other.folder, beside.folder, of_session, annotators)
    if responses is None:
        return RenamedRun(copy, None, beside)
    told = scratch / "responses.parquet"
    pq.write_table(_renamed(_known(read_rows(responses, RESPONSES), of_session), of_session, annotators), told)
    return RenamedRun(copy, told, beside)


def _copy_run(folder: Path, copy: Path, of_session: dict[str, PseudonymMap], annotators: dict[str, str]) -> None:
    """A run's tables and documents under other names; rows of sessions that nobody knows the names of are left out."""
    copy.mkdir(parents=True)
    for path in sorted((*folder.glob("*.parquet"), *(folder / "frames").glob("*.parquet"))):
        target = copy / path.relative_to(folder)
        target.parent.mkdir(exist_ok=True)
        table = _known(pq.read_table(path, partitioning=None), of_session)
        pq.write_table(_renamed(table, of_session, annotators), target)
    for path in folder.glob("*.json"):
        shutil.copyfile(path, copy / path.name)
    for path in folder.glob("projections/*.json"):
        _projection(path, copy / "projections" / path.name, of_session)
    _record(copy / "run.json", of_session)
    _slices(folder, copy, of_session)


def _known(table: pa.Table, of_session: dict[str, PseudonymMap]) -> pa.Table:
    if "session_id" not in table.column_names:
        return table
    known = [session_id in of_session for session_id in table.column("session_id").to_pylist()]
    return table.filter(pa.array(known, pa.bool_()))


def _projection(path: Path, target: Path, of_session: dict[str, PseudonymMap]) -> None:
    """What was missing from the score in each episode's sum, which is known by who rated whom."""
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in document.get("residuals", []) if row["session_id"] in of_session]
    document["residuals"] = [{**row, **_people(row, of_session)} for row in rows]
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document), encoding="utf-8")


def _renaming(session: Session, names: Sequence[str]) -> PseudonymMap:
    """Other names for all who take part in a session; it may have no rating and people who only have a recording."""
    someone = session.turns[0].speaker if session.turns else ENVIRONMENT
    rating = next(iter(session.ratings), Rating(someone, someone, "", 0.0, 0.0, 0.0))
    others = [name for one in session.ratings for name in (one.rater, one.target) if name != ENVIRONMENT]
    others += [media.speaker for media in session.media]
    return renaming(Episode(session.session_id, session.turns, rating, session.backgrounds), [*others, *names])


def _annotators(corpus: Corpus) -> dict[str, str]:
    """A number for each annotator that may be a person."""
    known = {
        name
        for table in (corpus.ratings, corpus.turn_labels)
        for name in table.column("annotator").to_pylist()
        if name and not name.startswith("computed:") and name != "rules"
    }
    return {name: f"annotator {number}" for number, name in enumerate(sorted(known), start=1)}


def _renamed(table: pa.Table, of_session: dict[str, PseudonymMap], annotators: dict[str, str]) -> pa.Table:
    if "session_id" not in table.column_names:
        return table
    sessions = table.column("session_id").to_pylist()
    for place, column in enumerate(table.schema):
        if column.name not in (*PEOPLE, *TEXTS, "annotator") or not pa.types.is_string(column.type):
            continue
        values = table.column(column.name).to_pylist()
        if column.name == "annotator":
            changed = [annotators.get(value, value) for value in values]
        else:
            changed = [
                _word(of_session.get(session), value, column.name in PEOPLE)
                for session, value in zip(sessions, values, strict=True)
            ]
        table = table.set_column(place, column, pa.array(changed, column.type))
    return table


def _word(known: PseudonymMap | None, value: str | None, is_person: bool) -> str | None:
    if known is None or value is None or (is_person and value == ENVIRONMENT):
        return value
    return known.speaker(value) if is_person else known.text(value)


def _record(path: Path, of_session: dict[str, PseudonymMap]) -> None:
    """What a run says of itself, without names: it is of the whole run, in which a name stands for nobody."""
    record = json.loads(path.read_text(encoding="utf-8"))
    record["warnings"] = [_nameless(str(text), of_session) for text in record.get("warnings", [])]
    record["config"]["notes"] = [_nameless(str(text), of_session) for text in record["config"].get("notes", [])]
    record["quarantine"] = {}
    path.write_text(json.dumps(record), encoding="utf-8")


def _nameless(text: str, of_session: dict[str, PseudonymMap]) -> str:
    people = {word for known in of_session.values() for word in known.words}
    return PseudonymMap(dict.fromkeys(people, ONE_NAME), {}, {}).text(text)


def _slices(folder: Path, copy: Path, of_session: dict[str, PseudonymMap]) -> None:
    """The slices: their examples under other names, words that are somebody's name left out."""
    for method, document in read_slices(folder).items():
        for kind in document.get("kinds", []):
            kind["name"] = _nameless(str(kind["name"]), of_session)
            kind["examples"] = [_example(example, of_session) for example in kind["examples"]]
        target = copy / SLICES / f"{session_file_name(method)}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(document), encoding="utf-8")


def _example(example: dict[str, Any], of_session: dict[str, PseudonymMap]) -> dict[str, Any]:
    text = _word(of_session.get(example["session_id"]), example["text"], False)
    return {**example, **_people(example, of_session), "text": text}


def _people(row: dict[str, Any], of_session: dict[str, PseudonymMap]) -> dict[str, Any]:
    """Who rated whom, under other names."""
    known = of_session.get(row["session_id"])
    return {name: _word(known, row[name], True) for name in ("rater", "target")}
