"""A form for people as CSV: a row for each dimension of each person in each episode, to be filled in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from apportion.corpus.files.csvfile import BLANK, inert, original, parsed, read_table
from apportion.corpus.files.textfile import BOM
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.episodes import ReadEpisode
from apportion.environments.sotopia.evaluation.human_ratings.log import RatedKey
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore, off_range
from apportion.environments.sotopia.observation import LEAVE, NONE, SPEAK
from apportion.environments.terminal.console import block, printable
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import digest
from apportion.foundation.truncate import listed, shortened


class Asked(NamedTuple):
    """A dimension for a person: what it is called, what is asked, and what the ends of its scale mean."""

    title: str
    question: str
    ends: str


ASKED = {
    "BEL": Asked(
        "believability",
        "Does this person act naturally and realistically, and in line with the profile (personality, values)?",
        "higher: more believable",
    ),
    "REL": Asked(
        "relationship",
        "Is the relationship with the others better or worse than before? Their reputation and social standing, too.",
        "below 0: worse; 0: as before; above 0: better",
    ),
    "KNO": Asked(
        "knowledge",
        "What has this person learned that is new and important to them?",
        "higher: more, and more important",
    ),
    "SEC": Asked(
        "secret",
        "Which secret or secretive intention did this person want to keep, and was it kept?",
        "-10: a critical one was given away; 0: nothing was, or there is none",
    ),
    "SOC": Asked(
        "social rules",
        "Did this person break moral rules, social norms or laws?",
        "-10: gravely; 0: not at all",
    ),
    "FIN": Asked(
        "financial and material benefits",
        "What did this person gain or lose, in money, goods, or chances that last?",
        "below 0: a loss; 0: neither; above 0: a gain",
    ),
    "GOAL": Asked(
        "goal completion",
        "How far has this person reached the own goal?",
        "0: hardly; 10: completely",
    ),
}


def asked_line(dimension: str) -> str:
    """A dimension in one line.

    >>> asked_line("KNO")
    'KNO knowledge, 0 to 10 (higher: more, and more important)'
    """
    low, high = RANGES[dimension]
    return f"{dimension} {ASKED[dimension].title}, {low:g} to {high:g} ({ASKED[dimension].ends})"


PARTLY = (
    "(Nobody knew the goal or the secret of another; of a profile one knows what the relationship lets one know, which "
    "may be nothing.)"
)
"""What raters are told before they rate (Figure E.4)."""
_DOES = {SPEAK: ": ", NONE: " does nothing", LEAVE: " leaves"}
_MUTE = (NONE, LEAVE)


def labelled(episode: ReadEpisode) -> Iterator[tuple[str, str]]:
    """Labels, and the words behind each; who played whom (a model, a person) is not among them.

    Raters must not know who played: labels have what the episode itself holds, and neither its source nor its id.
    """
    names = {person.label: printable(person.name) for person in episode.people}
    for known in episode.known_to_all:
        yield f"{known.kind.capitalize()}: ", known.text
    for person in episode.people:
        for known in person.known:
            yield f"{printable(person.name)}, {known.kind}: ", known.text
    yield "", PARTLY
    for number, act in enumerate(episode.acts, start=1):
        label = f"#{number} {names[act.label]}{_DOES.get(act.kind, f' [{act.kind}] ')}"
        yield label, "" if act.kind in _MUTE else act.text


def as_text(sign: str, episode: ReadEpisode, width: int = 100) -> str:
    """The same as lines of at most ``width`` columns, under a sign that stands for the episode."""
    head = f"===== {sign} ====="
    return "\n".join([head, *(block(label, words, width) for label, words in labelled(episode))]) + "\n"


COLUMNS = ("session", "person", "dimension", "meaning", "low", "high", "score", "reasoning")
NEEDED = ("session", "person", "dimension", "low", "high", "score", "reasoning")
_MOST_TOLD = 10


def sign_of(session_id: str) -> str:
    """What stands for a session on the form: its id would tell who played.

    >>> sign_of("used_bicycle-0-base@claude-conceding-0")
    'episode-730a42122c17'
    """
    return f"episode-{digest(session_id)[:12]}"


def sheet(episodes: Sequence[ReadEpisode]) -> str:
    """The blank form. No name can become a formula of a spreadsheet: an apostrophe stands before such a one.

    It begins with a byte order mark, without which a spreadsheet takes UTF-8 for something else.
    """
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    for episode in episodes:
        for person in episode.people:
            for dimension in DIMENSIONS:
                low, high = RANGES[dimension]
                place = (sign_of(episode.session_id), inert(person.name), dimension)
                rows.writerow((*place, ASKED[dimension].question, f"{low:g}", f"{high:g}", "", ""))
    return BOM + text.getvalue()


def read_sheet(path: Path, annotator: str, episodes: Sequence[ReadEpisode]) -> dict[RatedKey, DimensionScore]:
    """What an annotator has filled in; rows without a score and without reasoning are passed over.

    ``path``: The form, as CSV, or as TSV where its name ends so. ``annotator``: Who has filled it in. ``episodes``:
    What could be rated. Raises InputError: The file cannot be read, lacks a column, or has rows that cannot be used:
    all are counted, the first named by line, with what is allowed.
    """
    signs = {sign_of(episode.session_id): episode for episode in episodes}
    ratings: dict[RatedKey, DimensionScore] = {}
    problems: list[str] = []
    try:
        table = read_table(path, path.name, COLUMNS)
        places = {column: table.position(column) for column in NEEDED}
        for line, cells in table.rows:
            row = {column: cells[place] for column, place in places.items()}
            # Not those that name: they stand as they were written.
            row |= {column: row[column].strip() for column in ("dimension", "low", "high", "score", "reasoning")}
            try:
                key = _key(row, annotator, signs)
                if key in ratings:
                    raise UnitError(f"{key.dimension} of {key.target!r} is there twice; keep one")
                ratings[key] = _given(row, key.dimension)
            except UnitError as error:
                problems.append(f"line {line}: {error}")
    except UnitError as error:
        raise InputError(str(error)) from None
    if problems:
        shown = listed(problems, _MOST_TOLD, separator="\n  ", apart=True)
        raise InputError(f"{path}: {len(problems):,} of its rows cannot be used, so nothing was taken:\n  {shown}")
    return {key: given for key, given in ratings.items() if given.score is not None}


def _key(row: dict[str, str], annotator: str, signs: Mapping[str, ReadEpisode]) -> RatedKey:
    sign, target, dimension = row["session"].strip(), original(row["person"]), row["dimension"]
    if sign not in signs:
        there = f"the corpus has {len(signs):,} that can be rated; write a form for it, and keep this column as it is"
        raise UnitError(f"no session {shortened(sign)!r}; {there}")
    people = [person.name for person in signs[sign].people]
    if target not in people:
        raise UnitError(f"nobody in it is called {shortened(target)!r}; there are {', '.join(map(repr, people))}")
    if dimension not in RANGES:
        hint = did_you_mean(dimension, DIMENSIONS, f"there are {', '.join(DIMENSIONS)}")
        raise UnitError(f"no dimension {shortened(dimension)!r}; {hint}")
    low, high = RANGES[dimension]
    if (parsed(row["low"]), parsed(row["high"])) != (low, high):
        given = f"{shortened(row['low'])!r} to {shortened(row['high'])!r}"
        raise UnitError(f"{dimension} goes from {low:g} to {high:g}, and this row says {given}; the scale is fixed")
    return RatedKey(annotator, signs[sign].session_id, target, dimension)


def _given(row: dict[str, str], dimension: str) -> DimensionScore:
    text, reasoning = row["score"], row["reasoning"]
    if text.lower() in BLANK:
        if reasoning:
            raise UnitError(f"{dimension} has reasoning and no score; give one, or empty both")
        return DimensionScore(None, cause="")
    score = parsed(text)
    problem = off_range(dimension, score)
    if problem is not None or score is None:
        raise UnitError(f"{dimension} has the score {shortened(text)!r}; {problem}")
    return DimensionScore(int(score), reasoning)
