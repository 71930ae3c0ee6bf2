"""A ConvoKit corpus folder: utterances.jsonl, speakers.json, conversations.json (and the older names and keys).

Layout: CornellNLP/ConvoKit, convokit/model/corpus_helpers.py. Pickled fields (``*-bin.p``) are never read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.importers.options import check_options, scale_options
from corpus.rows import CorpusRows, LeftOut, NewCorpus
from corpus.textfile import read_json, read_jsonl
from foundation.errors import InputError, UnitError

OPTIONS = ("score", "low", "high", "name", "rater", "target", "label")
PICKLED = "<##bin{"


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for."""

    score: str | None
    scale: tuple[float, float]
    name: str
    rater: str | None
    target: str | None
    label: str | None


def import_corpus(src: Path, options: Mapping[str, str]) -> NewCorpus:
    """Conversations with the ratings that a key of their metadata holds.

    Parameters
    ----------
    src : Path
        The corpus folder.
    options : Mapping
        ``score``: key of the conversations' metadata, ``outer.inner`` for a key inside it. Its value is a number, a
        list of numbers or objects (one an annotator), or ``{speaker id: answer}`` (each speaker rates the other, the
        convention of the CANDOR converter). ``low``, ``high``: the ends of its scale. ``name``: what to call it.
        ``rater``, ``target``: a speaker's id or a value of the speaker's metadata such as a role (default: who speaks
        first rates the other). ``label``: key of the utterances' metadata with a number that people gave the turn.

    Raises
    ------
    InputError
        A folder that is not ConvoKit's, a score without a scale, a pickled score, a key that nothing has.
    """
    check_options("convokit", options, OPTIONS)
    wanted = _wanted(options)
    conversations = _entries(src, ("conversations.json",))
    speakers = _entries(src, ("speakers.json", "users.json"))
    utterances = _by_conversation(_utterances(src))
    _check_key(src, wanted, conversations)
    rows, left_out, skipped = CorpusRows(), [], 0
    for id_, spoken in utterances.items():
        try:
            skipped += _session(rows, id_, spoken, conversations.get(id_, {}), speakers, wanted)
        except UnitError as error:
            left_out.append(LeftOut(id_, str(error)))
    notes = [f"{skipped} answers are missing and were skipped"] if skipped else []
    if wanted.score is None:
        notes.append("no ratings were imported: say -o score=KEY -o low=1 -o high=5 for a key of the conversations")
    return NewCorpus(rows.tables(), tuple(notes), tuple(left_out))


def _wanted(options: Mapping[str, str]) -> _Wanted:
    score, scale = options.get("score"), scale_options("convokit", options)
    if score is not None and scale is None:
        raise InputError(f"import convokit: score={score} has no scale. Give its ends: -o low=1 -o high=5.")
    name = options.get("name") or (score or "").rpartition(".")[2]
    people = (options.get("rater"), options.get("target"))
    return _Wanted(score, scale or (0.0, 1.0), name, *people, options.get("label"))


def _utterances(src: Path) -> list[dict[str, Any]]:
    if (src / "utterances.jsonl").is_file():
        return [row for _, row in read_jsonl(src / "utterances.jsonl")]
    if (src / "utterances.json").is_file():
        utterances = read_json(src / "utterances.json")
        if isinstance(utterances, list) and all(isinstance(item, dict) for item in utterances):
            return utterances
        raise InputError(
            f"{src / 'utterances.json'}: a list of objects is needed. Dump the corpus with ConvoKit again."
        )
    raise InputError(
        f"{src}: no utterances.jsonl in it, so this is not a ConvoKit corpus folder. Name the folder itself."
    )


def _entries(src: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Metadata by id; old corpora hold it plainly, newer ones under "meta"."""
    path = next((src / name for name in names if (src / name).is_file()), None)
    if path is None:
        return {}
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise InputError(f"{path}: an object by id is needed. Dump the corpus with ConvoKit again.")
    return {id_: entry.get("meta", entry) if isinstance(entry, dict) else {} for id_, entry in entries.items()}


def _by_conversation(utterances: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The utterances of each conversation in the order in which they were said."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for utterance in utterances:
        id_ = utterance.get("conversation_id", utterance.get("root", utterance.get("id")))
        grouped.setdefault(str(id_), []).append(utterance)
    return {id_: _in_order(spoken) for id_, spoken in grouped.items()}


def _in_order(spoken: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By timestamp where all have one; else as in the file, but nothing before what it replies to."""
    if all(_is_number(utterance.get("timestamp")) for utterance in spoken):
        return sorted(spoken, key=lambda utterance: float(utterance["timestamp"]))
    by_id = {utterance.get("id"): utterance for utterance in spoken}
    if len(by_id) < len(spoken):
        return spoken
    placed: dict[Any, dict[str, Any]] = {}
    for utterance in spoken:
        chain: list[dict[str, Any]] = []
        current = utterance
        while current.get("id") not in placed and all(current is not earlier for earlier in chain):
            chain.append(current)
            parent = by_id.get(current.get("reply_to", current.get("reply-to")))
            if parent is None:
                break
            current = parent
        placed.update((item.get("id"), item) for item in reversed(chain))
    return list(placed.values())


def _check_key(src: Path, wanted: _Wanted, conversations: Mapping[str, dict[str, Any]]) -> None:
    if wanted.score is None or any(_find(meta, wanted.score) is not None for meta in conversations.values()):
        return
    keys = sorted({key for meta in conversations.values() for key in meta})
    raise InputError(
        f"{src}: no conversation has score={wanted.score} in its metadata. Found the keys: {', '.join(keys) or 'none'}."
    )


def _session(
    rows: CorpusRows,
    id_: str,
    spoken: list[dict[str, Any]],
    meta: Mapping[str, Any],
    speakers: Mapping[str, dict[str, Any]],
    wanted: _Wanted,
) -> int:
    """Add one conversation, all or nothing; returns how many of its answers are missing."""
    turns = [_said(utterance) for utterance in spoken]
    present = list(dict.fromkeys(speaker for speaker, _ in turns))
    answers = [] if wanted.score is None else list(_answers(_find(meta, wanted.score), present, speakers, wanted))
    scores = [(pair, annotator, _score(value)) for pair, annotator, value in answers]
    rows.session(id_, "convokit")
    for turn, ((speaker, text), utterance) in enumerate(zip(turns, spoken, strict=True)):
        meta_of_turn = utterance.get("meta") or {}
        rows.utterance(id_, turn, speaker, text, *_times(utterance.get("timestamp"), meta_of_turn.get("stop")))
        if wanted.label is not None and _is_number(meta_of_turn.get(wanted.label)):
            rows.label(id_, turn, wanted.label, float(meta_of_turn[wanted.label]), (None, None))
    for pair, annotator, score in scores:
        if score is not None:
            rows.rating(id_, pair, wanted.name, score, wanted.scale, annotator=annotator)
    return sum(score is None for _, _, score in scores)


def _times(start: Any, stop: Any) -> tuple[float, float] | tuple[None, None]:
    """Start and end in seconds where both are known; a lone timestamp may be a date and only orders the turns."""
    return (float(start), float(stop)) if _is_number(start) and _is_number(stop) else (None, None)


def _said(utterance: Mapping[str, Any]) -> tuple[str, str]:
    speaker, text = utterance.get("speaker", utterance.get("user")), utterance.get("text")
    if not isinstance(speaker, str) or not isinstance(text, str):
        raise UnitError(f"utterance {utterance.get('id')!r}: no speaker or no text.")
    return speaker, text


def _answers(
    value: Any, present: list[str], speakers: Mapping[str, dict[str, Any]], wanted: _Wanted
) -> Iterator[tuple[tuple[str, str], str | None, Any]]:
    """((rater, target), annotator, answer) of every answer that ``value`` holds."""
    if isinstance(value, dict):
        for rater, answer in value.items():
            others = [name for name in present if name != rater]
            if len(others) != 1:
                raise UnitError(f"{wanted.score} has an answer of {rater!r}, and the session's speakers are {present}.")
            yield (rater, others[0]), None, answer
        return
    if value is None:
        return
    pair = _pair(present, speakers, wanted)
    if isinstance(value, list):
        yield from ((pair, str(i), answer) for i, answer in enumerate(value))
    else:
        yield pair, None, value


def _pair(present: list[str], speakers: Mapping[str, dict[str, Any]], wanted: _Wanted) -> tuple[str, str]:
    rater, target = (_speaker(given, present, speakers) for given in (wanted.rater, wanted.target))
    if len(present) == 2:
        rater = rater or next(name for name in present if name != target)
        target = target or next(name for name in present if name != rater)
    if rater is None or target is None:
        raise UnitError(f"who rates whom? Its speakers are {present}: say -o rater=... -o target=....")
    return rater, target


def _speaker(given: str | None, present: list[str], speakers: Mapping[str, dict[str, Any]]) -> str | None:
    """The speaker of that id, or with that value (such as a role) in the metadata."""
    if given is None:
        return None
    named = [name for name in present if name == given or given in map(str, speakers.get(name, {}).values())]
    if len(named) != 1:
        raise UnitError(f"{len(named)} of its speakers {present} are {given!r}; one is needed.")
    return named[0]


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
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UnitError(f"answer {value!r}: a number is needed.")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
