"""A ConvoKit corpus folder: utterances.jsonl, speakers.json, conversations.json (and the older names and keys).

Layout: CornellNLP/ConvoKit, convokit/model/corpus_helpers.py. Pickled fields (``*-bin.p``) are never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.jsontext import is_number, kind_of, number, shown
from apportion.corpus.files.textfile import read_json
from apportion.corpus.importers.convokit_utterances import Utterance, in_order, read_utterances
from apportion.corpus.importers.reading.json_items import SkipCounter
from apportion.corpus.importers.reading.sources import check_options, scale_options
from apportion.corpus.languages.names import said_language
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed

OPTIONS = {
    "score": "key of the conversations' metadata, outer.inner for one inside it",
    "low": "the low end of its scale",
    "high": "the high end of its scale",
    "name": "what to call it (default: the key)",
    "rater": "a speaker's id, or a value of their metadata such as a role (default: who speaks first)",
    "target": "the same of who is rated",
    "label": "key of the utterances' metadata with a number that people gave the turn",
}
UNSPOKEN = "without an utterance"
PICKLED = "<##bin{"
MOST_KEYS = 12


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for."""

    score: str | None
    scale: tuple[float, float]
    name: str
    rater: str | None
    target: str | None
    label: str | None


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Conversations with the ratings that a key of their metadata holds.

    ``src``: the corpus folder. ``options``: those of `OPTIONS`. The score's value is a number, a list of numbers or
    objects (one an annotator), or ``{speaker id: answer}`` (each speaker rates the other, the convention of the CANDOR
    converter). Raises ``InputError``: a folder that is not ConvoKit's, a score without a scale, a pickled score, a key
    that nothing has.
    """
    check_options("convokit", options, OPTIONS)
    wanted = _wanted(options)
    conversations = _entries(src, ("conversations.json",))
    speakers = _entries(src, ("speakers.json", "users.json"))
    told = read_utterances(src)
    _check_key(src, wanted, conversations)
    rows, odd, read = CorpusRows(), SkipCounter(), account.current()
    left_out = list(told.left_out)
    unspoken = [id_ for id_ in conversations if id_ not in told.by_conversation]
    read.read("conversations", len(told.by_conversation) + len(unspoken))
    for id_ in unspoken:
        read.left_out("conversations", UNSPOKEN, place=id_)
        read.left_out("scores", UNSPOKEN, _count((), conversations[id_], wanted), id_)
    for id_, spoken in told.by_conversation.items():
        try:
            with account.session("conversations", id_):
                _count(spoken, conversations.get(id_), wanted)
                if id_ in told.torn:
                    raise UnitError(told.torn[id_])
                meta = _object(conversations.get(id_, {}), "its metadata in conversations.json")
                ordered = in_order(spoken)
                _session(rows, id_, ordered.spoken, meta, speakers, wanted)
            for what, many in ordered.odd.items():
                odd.add(what, id_, many)
        except UnitError as error:
            left_out.append(SkippedSession(id_, str(error)))
    notes = []
    if wanted.score is None:
        notes.append(
            "no ratings were imported: say -o score=KEY -o low=1 -o high=5 for a key of the conversations "
            f"(found: {_keys(conversations)})"
        )
    return CorpusBuild(rows.tables(), (*notes, *odd.notes()), tuple(left_out))


def _count(spoken: Sequence[Utterance], meta: Any, wanted: _Wanted) -> int:
    """Tell the account what a conversation has, whatever its shape; returns how many answers."""
    texts = [text if isinstance(text := utterance.values.get("text"), str) else "" for utterance in spoken]
    account.current().said("turns", texts)
    found = None if wanted.score is None else _find(meta, wanted.score)
    answers = 0 if found is None else len(found) if isinstance(found, dict | list) else 1
    account.current().read("scores", answers)
    return answers


def _wanted(options: Mapping[str, str]) -> _Wanted:
    score, scale = options.get("score"), scale_options("convokit", options)
    if score is not None and scale is None:
        raise InputError(f"import convokit: score={score} has no scale. Give its ends: -o low=1 -o high=5.")
    name = options.get("name") or (score or "").rpartition(".")[2]
    people = (options.get("rater"), options.get("target"))
    return _Wanted(score, scale or (0.0, 1.0), name, *people, options.get("label"))


def _entries(src: Path, names: Sequence[str]) -> dict[str, Any]:
    """Metadata by id; old corpora hold it plainly, newer ones under "meta"."""
    path = next((src / name for name in names if (src / name).is_file()), None)
    if path is None:
        return {}
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise InputError(f"{path}: an object by id is needed. Dump the corpus with ConvoKit again.")
    return {id_: entry.get("meta", entry) if isinstance(entry, dict) else entry for id_, entry in entries.items()}


def _object(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnitError(f"{what} is {kind_of(value)}, {shown(value)}; an object is needed.")
    return value


def _check_key(src: Path, wanted: _Wanted, conversations: Mapping[str, Any]) -> None:
    if wanted.score is None or any(_find(meta, wanted.score) is not None for meta in conversations.values()):
        return
    raise InputError(
        f"{src}: no conversation has score={wanted.score} in its metadata. Found the keys: {_keys(conversations)}."
    )


def _keys(conversations: Mapping[str, Any]) -> str:
    keys = sorted({key for meta in conversations.values() if isinstance(meta, dict) for key in meta})
    return listed(keys, MOST_KEYS) or "none"


def _session(
    rows: CorpusRows,
    id_: str,
    spoken: Sequence[Utterance],
    meta: Mapping[str, Any],
    speakers: Mapping[str, Any],
    wanted: _Wanted,
) -> None:
    """Add one conversation, all or nothing."""
    turns = [(utterance, *utterance.said(), utterance.meta()) for utterance in spoken]
    present = list(dict.fromkeys(speaker for _, speaker, _, _ in turns))
    found = None if wanted.score is None else _find(meta, wanted.score)
    answers = list(_answers(found, present, speakers, wanted))
    scores = [(pair, annotator, _score(value)) for pair, annotator, value in answers]
    rows.session(id_, "convokit", language=said_language(meta))
    for turn, (utterance, speaker, text, meta_of_turn) in enumerate(turns):
        rows.utterance(id_, turn, speaker, text, *_times(utterance.timestamp, meta_of_turn.get("stop")))
        if wanted.label is not None and (label := meta_of_turn.get(wanted.label)) is not None:
            _label(rows, id_, turn, wanted.label, label, utterance.place)
    for pair, annotator, score in scores:
        if score is not None:
            rows.rating(id_, pair, wanted.name, score, wanted.scale, annotator=annotator)
        else:
            account.current().left_out("scores", "missing answers", place=id_)


def _label(rows: CorpusRows, id_: str, turn: int, name: str, label: Any, place: str) -> None:
    account.current().read("labels")
    if is_number(label):
        rows.label(id_, turn, name, float(label), (None, None))
    else:
        account.current().left_out("labels", "no number", place=f"{place}: {shown(label)}")


def _times(start: float | None, stop: Any) -> tuple[float, float] | tuple[None, None]:
    """Start and end in seconds where both are known; a lone timestamp may be a date and only orders the turns."""
    return (start, float(stop)) if start is not None and is_number(stop) else (None, None)


def _answers(
    value: Any, present: list[str], speakers: Mapping[str, Any], wanted: _Wanted
) -> Iterator[tuple[tuple[str, str], str | None, Any]]:
    """((rater, target), annotator, answer) of every answer that ``value`` holds."""
    if isinstance(value, dict):
        for rater, answer in value.items():
            others = [name for name in present if name != rater]
            if len(others) != 1:
                raise UnitError(
                    f"{wanted.score} has an answer of {shown(rater)}, and the session's speakers are {_names(present)}."
                )
            yield (rater, others[0]), None, answer
        return
    if value is None:
        return
    pair = _pair(present, speakers, wanted)
    if isinstance(value, list):
        yield from ((pair, str(i), answer) for i, answer in enumerate(value))
    else:
        yield pair, None, value


def _pair(present: list[str], speakers: Mapping[str, Any], wanted: _Wanted) -> tuple[str, str]:
    rater, target = (_speaker(given, present, speakers) for given in (wanted.rater, wanted.target))
    if len(present) == 2:
        rater = rater or next(name for name in present if name != target)
        target = target or next(name for name in present if name != rater)
    if rater is None or target is None:
        raise UnitError(f"who rates whom? Its speakers are {_names(present)}: say -o rater=... -o target=....")
    return rater, target


def _speaker(given: str | None, present: list[str], speakers: Mapping[str, Any]) -> str | None:
    """The speaker of that id, or with that value (such as a role) in the metadata."""
    if given is None:
        return None
    named = [name for name in present if name == given or given in _texts(speakers.get(name))]
    if len(named) != 1:
        raise UnitError(f"{len(named)} of its speakers {_names(present)} are {given!r}; one is needed.")
    return named[0]


def _texts(meta: Any) -> list[str]:
    return [str(value) for value in meta.values()] if isinstance(meta, dict) else []


def _names(present: Sequence[str]) -> str:
    return f"[{listed([shown(name) for name in present], MOST_KEYS)}]"


def _find(meta: Any, path: str) -> Any:
    """The value at ``path``; keys may hold dots themselves; a list on the way is searched item by item."""
    if isinstance(meta, list):
        return [_find(item, path) for item in meta]
    if not isinstance(meta, dict):
        return None
    if path in meta:
        return meta[path]
    parts = path.split(".")
    for i in range(len(parts) - 1, 0, -1):
        key = ".".join(parts[:i])
        if key in meta:
            return _find(meta[key], ".".join(parts[i:]))
    return None


def _score(value: Any) -> float | None:
    """A number (or its text), None where there is no answer."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.startswith(PICKLED):
        raise InputError(
            "its score is a pickled field (*-bin.p), and those are never read. Dump it as JSON with ConvoKit."
        )
    try:
        return number(value, "answer", texts=True)
    except UnitError:
        raise UnitError(f"answer {shown(value)}: a number is needed.") from None
