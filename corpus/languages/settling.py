"""The language of each session of a corpus: as it was asked for, as the data have it, or by the words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.builder import CorpusBuild
from apportion.corpus.files.tablefile import parts
from apportion.corpus.languages.identifier import spoken_in
from apportion.corpus.languages.names import codes, in_words, read_language
from apportion.corpus.session import Session
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import counted, listed

SAMPLE = 300
"""Sessions, evenly over a corpus whose language is known, that are looked at; all where one of them is in another."""
MOST, FEWEST = 0.9, 0.5
"""Sessions too short to tell are taken to be in the language of 9 of 10 others, where those are half of all."""


def with_languages(made: CorpusBuild, given: str | None = None) -> CorpusBuild:
    """A corpus that is being imported, each session with its language and a note of how that is known.

    ``given`` is that of all sessions, as `read_language` gives it. Without it, what the data say counts, then
    `CorpusBuild.usual_language` unless the words are another's, then the words. Words of another language than was said
    are told.
    """
    table = made.tables["sessions"]
    ids = table.column("session_id").to_pylist()
    notes: list[str] = []
    if given is not None:
        found: Mapping[str, str | None] = dict.fromkeys(ids, given)
        notes += _contradicted(dict.fromkeys(ids, given), made.tables["utterances"])
    else:
        said, notes = _as_said(ids, table.column("language").to_pylist())
        by_words = _by_words([id_ for id_ in ids if id_ not in said], made.tables["utterances"], made.usual_language)
        notes += [*_told(by_words, made.usual_language), *_contradicted(said, made.tables["utterances"])]
        found = {**by_words, **said}
    place = table.schema.get_field_index("language")
    column = pa.array([found[id_] for id_ in ids], table.schema.field(place).type)
    tables = {**made.tables, "sessions": table.set_column(place, table.schema.field(place), column)}
    return replace(made, tables=tables, notes=(*made.notes, *notes))


def languages_found(sessions: Mapping[str, Session]) -> dict[str, Session]:
    """The sessions, those of which no language is said with the one that their words tell, if they do."""
    said, _ = _as_said(list(sessions), [one.language for one in sessions.values()])
    silent = (one for name, one in sessions.items() if name not in said)
    found = _filled({one.session_id: spoken_in([turn.text for turn in one.turns]) for one in silent}, None)
    return {name: replace(one, language=found[name]) if name in found else one for name, one in sessions.items()}


def _as_said(ids: Sequence[str], column: Sequence[str | None]) -> tuple[dict[str, str], list[str]]:
    """What the data say, and a note on what is no language: those go by their words."""
    said, faults = {}, {}
    for id_, value in zip(ids, column, strict=True):
        try:
            if (language := read_language(value)) is not None:
                said[id_] = language
        except UnitError as error:
            faults[id_] = str(error)
    told = f"{counted(list(faults), 'session')}: {next(iter(faults.values()))} Told by the words." if faults else None
    return said, [told] if told else []


def _contradicted(said: Mapping[str, str], utterances: pa.Table) -> list[str]:
    """A note on sessions whose words are of another language than was said: often that of a program's menus."""
    spoken = _spoken(list(said)[:: max(1, len(said) // SAMPLE)], utterances)
    odd = {id_: words for id_, words in spoken.items() if words and codes(words).isdisjoint(codes(said[id_]))}
    if not odd:
        return []
    first = next(iter(odd))
    return [
        f"{counted(list(odd), 'session')}: said to be {in_words(said[first])}, but the words look "
        f"{in_words(odd[first])}; what was said counts. Correct it if it is wrong."
    ]


def _by_words(ids: Sequence[str], utterances: pa.Table, usual: str | None) -> dict[str, str | None]:
    looked_at = ids if usual is None else ids[:: max(1, len(ids) // SAMPLE)]
    found = _spoken(looked_at, utterances)
    if len(looked_at) < len(ids) and any(language not in (usual, None) for language in found.values()):
        found = _spoken(ids, utterances)
    return _filled({id_: found.get(id_) for id_ in ids}, usual)


def _spoken(ids: Sequence[str], utterances: pa.Table) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    wanted = pa.array(ids, pa.string())
    for _, part in parts(utterances):
        rows = part.filter(pc.is_in(part.column("session_id"), wanted))
        texts: defaultdict[str, list[str]] = defaultdict(list)
        for id_, text in zip(rows.column("session_id").to_pylist(), rows.column("text").to_pylist(), strict=True):
            texts[id_].append(text)
        found |= {id_: spoken_in(said) for id_, said in texts.items()}
    return {id_: found.get(id_) for id_ in ids}


def _filled(found: Mapping[str, str | None], usual: str | None) -> dict[str, str | None]:
    """``found``; where the words are too few, what nearly all others speak, or else ``usual``."""
    counts = Counter(language for language in found.values() if language is not None)
    sure, most = counts.total(), max(counts, key=counts.__getitem__, default=usual)
    others = most if most and counts[most] >= MOST * sure >= MOST * FEWEST * len(found) else usual
    return {id_: language or others for id_, language in found.items()}


def _told(found: Mapping[str, str | None], usual: str | None) -> list[str]:
    """Nothing where all is as it usually is."""
    if not found or (usual is not None and set(found.values()) == {usual}):
        return []
    return [f"language, by the words: {languages_listed(found.values())}; -o language=CODE says it for all sessions"]


def languages_listed(languages: Iterable[str | None]) -> str:
    """Sessions by language, most first: ``20 German (de), 1 of no known language``."""
    counts = Counter(languages).most_common()
    return listed(
        [f"{many:,} {in_words(one)} ({one})" if one else f"{many:,} too short to tell" for one, many in counts], 6
    )
