"""Chat logs with a score: JSON Lines, JSON, tables, and the traces of observability tools.

``{"messages": [{"role", "content"}, ...], "score": 4}`` or ``{"conversations": [{"from", "value"}, ...], "score": 4}``,
optionally with ``id``, ``name``, ``low``, ``high``, ``language``. The user rates the assistant. Messages of the system,
of tools and functions are nobody's utterance: they are left out and counted. Other keys are mapped by options, or by
what they seem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, SkippedSession
from apportion.corpus.files.jsontext import identifier, kind_of, number, shown
from apportion.corpus.importers.chats.keys import IDS, LISTS, NONE, KeyFinder, Keys, all_differ, find, score_keys
from apportion.corpus.importers.chats.log import ImportLog
from apportion.corpus.importers.chats.messages import (
    RATER,
    SHAPES,
    TARGET,
    Chat,
    Message,
    MessageReader,
    Score,
    leave_out,
    settle,
)
from apportion.corpus.importers.chats.row_groups import DataSet, data_set
from apportion.corpus.importers.chats.scales import SCALES, NoScaleError, Scale, check_values, is_blank, scale_option
from apportion.corpus.importers.chats.sources import chat_files, read_items
from apportion.corpus.importers.chats.tables import (
    OF_CHATS,
    ORDER,
    ROWS,
    are_turns,
    chats_of,
    moment,
    written_list,
)
from apportion.corpus.importers.chats.trace_records import OTEL, of_table, tool_of
from apportion.corpus.importers.chats.traces import conversations_of, is_traces
from apportion.corpus.importers.reading.json_items import Item, first_fault
from apportion.corpus.importers.reading.sources import check_options, numbered, stem
from apportion.corpus.languages.names import said_language
from apportion.corpus.session import ENVIRONMENT
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.safe_text import is_seen
from apportion.foundation.truncate import counted, listed, shortened

OPTIONS = {
    "low": "the low end of the scale of all scores, where the rows do not say it",
    "high": "the high end of the scale",
    "scale": f"what the scores are, instead of low and high: {SCALES}",
    "name": "what the score is called (default: the row's name, else the key of the score)",
    "score": "the key of the score, outer.inner for one inside another (messages.rating: of each message); of traces, "
    f"its name; {NONE}: there is none",
    "id": "the key that tells one chat from another",
    "messages": "the key of the list of messages",
    "text": "the key of what was said, in a message or a row",
    "speaker": "the key of who said it",
    "order": "the column by which the rows of a chat are sorted",
    "rater": "the role of who rates (default: user, human, customer, ...)",
    "target": "the role of who is rated (default: assistant, gpt, agent, ...)",
}
MOST_KEYS = 12
MORE = ", and in others"
MARKS = ("deleted", "is_deleted", "hidden", "retracted", "error", "is_error")
"""Keys of a message that say that it may not have been seen."""
OURS = ("id", "score", "low", "high", "name", "language", "lang", *SHAPES)


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions of ``user`` and ``assistant``, with one rating where the row has a ``score``.

    ``src``: a file, or a folder of them: ``*.jsonl``, ``*.json``, ``*.csv``, ``*.tsv`` (plain or gzip), ``*.parquet``,
    ``*.arrow``, or what Langfuse, LangSmith or OpenTelemetry export. ``options``: `OPTIONS`. Raises ``InputError``: a
    file that cannot be read or holds no chats; keys that are not sure; scores without a scale anywhere; a scale where
    there is no score.
    """
    check_options("chat", options, OPTIONS)
    log = ImportLog(options, scale_option("chat", options))
    paths = chat_files(src)
    are_parquet = all(path.suffix.lower() == ".parquet" for path in paths)
    large = data_set(src, paths, options, log.scale) if are_parquet else None
    files = [(path, *read_items(path)) for path in paths] if large is None else []
    log.stems.update(stem(path) for path, _, _ in files)
    if large is not None:
        _import_parts(log, large)
    elif any(
        is_traces(strange) for _, items, _ in files if (strange := [one for one in items if not _is_ours(one.found)])
    ):
        _import_traces(log, src, files)
    else:
        for path, items, is_table in files:
            _import_file(log, path, items, is_table=is_table)
    if log.scale is not None and log.ids and not log.scored and options.get("score") != NONE:
        keys = listed(sorted(map(shortened, log.keys)), MOST_KEYS) or "none"
        raise InputError(
            f'{src}: a scale is given, and no chat has a score. Found the keys: {keys}. Wanted: "score".{log.odd} '
            f"Say which key holds it: -o score=KEY, or -o score={NONE} to import unrated chats."
        )
    return CorpusBuild(log.rows.tables(), log.notes(), tuple(log.left_out), answers=log.answers)


def _import_parts(log: ImportLog, large: DataSet) -> None:
    """A data set of which some chats at a time are in memory."""
    log.told += large.told.notes
    told: dict[str, str] = {}
    for items, log.options in large.parts():
        before = len(log.told)
        _import_file(log, large.folder, items, is_table=True)
        for note in log.told[before:]:
            what = note.partition(": in ")[0]
            told[what] = f"{told[what].removesuffix(MORE)}{MORE}" if told.get(what, note) != note else note
        del log.told[before:]
        log.rows.spill()
    log.told += told.values()


def _import_traces(log: ImportLog, src: Path, files: Sequence[tuple[Path, list[Item], bool]]) -> None:
    items = [
        Item(f"{path.name}, {one.place}", of_table(one.found) if is_table else one.found, one.fault)
        for path, found, is_table in files
        for one in found
    ]
    log.keys |= {key for item in items for key in item.found}
    tool = next(tool for item in items if (tool := tool_of(item.found)))
    reader, wanted = log.reader(), log.options.get("score")
    conversations, told = conversations_of(items, tool, wanted)
    log.left_out += [SkippedSession(item.place, item.fault) for item in items if item.fault]
    log.told += [f"these are traces of {tool}: a chat is a session, or a trace that is in none", *told]
    scores = [score.value for one in conversations for score, _ in one.scores]
    if tool == OTEL and scores:
        log.told.append("who gave the scores is not said in such traces: they are taken for the user's")
    _check_scale(log, str(src), scores)
    edited: list[str] = []
    for one in conversations:
        _import_chat(log, one.place, one.id, f"chat/{tool.lower()}", one.holds, partial(one.chat, reader, edited))
    if edited:
        log.told.append(f"edited, and kept in the later version: {counted(edited, 'chat')}")


def _import_file(log: ImportLog, path: Path, items: list[Item], *, is_table: bool) -> None:
    log.keys |= {key for item in items for key in item.found}
    finder = KeyFinder(str(path), [item.found for item in items if not item.fault], log.options)
    is_table = is_table or (not any(map(_is_ours, finder.rows)) and are_turns(finder))
    objects = Keys()
    listed_under = None if is_table else _keys_of_objects(path, items, finder, objects)
    of_messages = None if is_table else _score_of_messages(log, finder)
    listed_under, label = of_messages or (listed_under, None)
    keys = Keys() if label else finder.score(log.scale)
    score = keys.of.get("score")
    scores = 0 if score is None else len(finder.values(score))
    if is_table:
        items, objects = chats_of(path, items, finder, score)
        of_turns = "text" in objects.of
        reader = log.reader(of_rows=of_turns)
        where = _Keys("messages", "id", score and "score", score, reader, is_table=True, of_turns=of_turns)
    else:
        titled = len(finder.values("name")) > 1 and all_differ(finder.values("name"))
        if titled:
            objects.notes.append(
                "'name' differs in each chat: it is taken for a title, not for what the score is called"
            )
        where = _Keys(listed_under, objects.of.get("id"), score, score, log.reader(), label=label, titled=titled)
    account.current().read("chats", len(items))
    account.current().read("scores", scores)
    keys.of |= objects.of
    keys.notes += objects.notes
    _tell_keys(log, path, finder, keys, is_table=is_table)
    scored = [item.found for item in items if not is_blank(where.value(item.found))]
    has_own = any(row.get("low") is not None and row.get("high") is not None for row in scored)
    _check_scale(log, str(path), [where.value(row) for row in scored], score, has_own=has_own)
    for position, item in enumerate(items, start=1):
        _import_item(log, path, position, item, where)


@dataclass(frozen=True)
class _Keys:
    """Where the parts of a chat stand; ``score_name``: what its key is called in the file, ``label``: that of a
    message's score."""

    lists: str | None
    id: str | None
    score: str | None
    score_name: str | None
    reader: MessageReader
    is_table: bool = False
    of_turns: bool = False
    label: str | None = None
    titled: bool = False
    """Whether ``name`` is what each chat is called, not what its score is."""

    def value(self, row: Mapping[str, Any]) -> Any:
        """The score of a chat, None where it has none."""
        return None if self.score is None else find(row, self.score)


def _import_item(log: ImportLog, path: Path, position: int, item: Item, keys: _Keys) -> None:
    place = f"{path.name}, {item.place}"
    given = None if keys.id is None else find(item.found, keys.id)
    has_id = isinstance(given, str | int) and str(given).strip()
    session_id = str(given) if has_id else numbered(log.prefix(path), position)
    holds = {"scores": 0 if is_blank(keys.value(item.found)) else 1, **(item.holds or {})}
    source = f"chat/{log.prefix(path)}"
    _import_chat(log, place, session_id, source, holds, partial(_chat, log, place, session_id, item, keys))


def _chat(log: ImportLog, place: str, session_id: str, item: Item, keys: _Keys) -> Chat:
    lists = _lists(item.found or item.value(), keys)
    log.turned += [session_id] * any(map(_is_newest_first, lists.values()))
    lists = {name: found[::-1] if _is_newest_first(found) else found for name, found in lists.items()}
    log.marked.update(_marks(lists))
    said = _said(lists, keys, place)
    row = item.value()  # What is wrong with its rows is told when its words are counted.
    given = None if keys.id is None else find(row, keys.id)
    if given not in (None, ""):
        identifier(given, "id")
    value = keys.value(row)
    scores = [] if is_blank(value) else [Score(_name(log, row, keys), value)]
    if keys.label is not None and keys.lists is not None:
        scores = _labels(lists[keys.lists], said, keys.label, place)
    book, holds = account.current(), item.holds or {}
    book.kept(ROWS, len(said) if keys.of_turns else holds.get(ROWS, 0))
    book.joined("scores", "stand in several rows of a chat", max(0, holds.get("scores", 0) - 1))
    scale = log.scale or (_own_scale(row) if scores else None)
    return Chat(session_id, said, scores, said_language(row), scale)


def _import_chat(
    log: ImportLog, place: str, session_id: str, source: str, holds: Mapping[str, int], read: Callable[[], Chat]
) -> None:
    """Add one chat, all or nothing; ``holds``: what of the account's rows, scores and records is in it."""
    try:
        with account.session("chats", place, holds):
            chat = read()
            _add(log, chat, source)
            settle(chat.said, place)
    except UnitError as error:
        log.scored += bool(holds["scores"])
        log.left_out.append(SkippedSession(session_id, f"{place}: {error}"))
    else:
        log.scored += bool(chat.scores)
        log.unrated += not chat.scores


def _add(log: ImportLog, chat: Chat, source: str) -> None:
    if chat.id in log.ids:
        raise UnitError(f"the id {chat.id!r} is there already. Give each chat an id of its own, or none.")
    scale = log.scale or chat.scale
    values = [(score, scale.score(score.value)) for score in chat.scores] if scale else []
    log.ids.add(chat.id)
    log.rows.session(chat.id, source, language=chat.language)
    spoken = [(one.speaker, one.text) for one in chat.said if one.speaker is not None and one.text is not None]
    names = {(one.speaker, one.name) for one in chat.said if one.text is not None and one.name}
    if len(names) > len({speaker for speaker, _ in names}):
        log.shared[chat.id] = listed(sorted(str(name) for _, name in names))
    for turn, (speaker, text) in enumerate(spoken):
        log.rows.utterance(chat.id, turn, speaker, text)
        log.blank += not is_seen(text)
    for score, value, annotator in _annotated(values):
        if scale is None:
            continue
        ends, name = (scale.low, scale.high), log.options.get("name")
        if score.turn is not None:
            log.rows.label(chat.id, score.turn, name or score.name, value, ends, annotator)
            continue
        rater = ENVIRONMENT if score.by_model else RATER
        log.rows.rating(chat.id, (rater, TARGET), name or log.named(score.name), value, ends, annotator=annotator)


def _annotated(values: Sequence[tuple[Score, float]]) -> Iterator[tuple[Score, float, str | None]]:
    """Each score with who gave it; several of nobody in particular are numbered."""
    same = Counter((score.name, score.turn, score.by, score.by_model) for score, _ in values)
    seen: Counter[Any] = Counter()
    for score, value in values:
        key = (score.name, score.turn, score.by, score.by_model)
        seen[key] += 1
        who = f"{score.by}-{seen[key]}" if score.by else str(seen[key])
        yield score, value, who if same[key] > 1 else score.by


def _is_newest_first(messages: list[Any]) -> bool:
    """Whether every message has a time or a number, and they count down."""
    if not all(isinstance(message, dict) for message in messages):
        return False
    for key in (key for key in ORDER if all(key in message for message in messages)):
        when = [moment(message[key]) for message in messages]
        if None not in when and len(set(when)) > 1:
            return when == sorted(when, key=lambda one: one or 0.0, reverse=True)
    return False


def _is_ours(row: Mapping[str, Any]) -> bool:
    return any(shape in row for shape in SHAPES)


def _keys_of_objects(path: Path, items: list[Item], finder: KeyFinder, keys: Keys) -> str | None:
    """The key of the messages where it is none of ours; it and the id's are put into ``keys``."""
    id_ = finder.named("id", ("id",)) or finder.named("id", IDS, all_differ)
    if id_ is not None:
        keys.of["id"] = id_
    if "messages" not in finder.options and any(map(_is_ours, finder.rows)):
        return None
    lists = finder.named("messages", LISTS) or finder.lists()
    if lists is None:
        raise InputError(
            f'{path}: no chat in it: each object needs "messages" (OpenAI) or "conversations" (ShareGPT), '
            f"or -o messages=KEY. Found the keys: {listed(sorted(finder.present()), MOST_KEYS) or 'none'}."
            f"{first_fault(items)}"
        )
    keys.of["messages"] = lists
    return lists


def _tell_keys(log: ImportLog, path: Path, finder: KeyFinder, keys: Keys, *, is_table: bool) -> None:
    mapped = {
        what: key for what, key in keys.of.items() if what not in (key, "score") and (is_table or key not in SHAPES)
    }
    log.told += keys.notes
    log.odd = log.odd or keys.odd
    if mapped:
        pairs = ", ".join(f"{what} from {key!r}" for what, key in mapped.items())
        log.told.append(f"{path.name}: read {pairs} (an option says otherwise: -o {next(iter(mapped))}=KEY)")
    used = {key.partition(".")[0] for key in keys.of.values()} | set(keys.of.values())
    used |= set(OF_CHATS if is_table else OURS)
    unread = [shortened(key) for key in finder.present() if key and key not in used]
    if unread:
        log.told.append(f"{path.name}: keys that were not read: {listed(unread, MOST_KEYS)}")


def _check_scale(
    log: ImportLog, place: str, values: list[Any], key: str | None = None, *, has_own: bool = False
) -> None:
    if not values:
        return
    which = f" of {key!r}" if key not in (None, "score") else ""
    if log.scale is None and not has_own:
        raise NoScaleError(f"{place}: the scores{which} have no scale", values)
    wrong = None if log.scale is None else check_values(log.scale, values)
    if wrong:
        raise InputError(f"{place}: the scores are not {log.scale and log.scale.name}: {wrong}.")


def _lists(row: Mapping[str, Any], keys: _Keys) -> dict[str, list[Any]]:
    """The lists of messages of a chat, in whichever shape they are."""
    if keys.lists is not None:
        found = find(row, keys.lists)
        found = written_list(found) if isinstance(found, str) else found
        if not isinstance(found, list):
            raise UnitError(f"{keys.lists} = {shown(found)}: a list of messages is needed.")
        return {keys.lists: found}
    values = {name: row[name] for name in SHAPES if isinstance(row.get(name), str | list)}
    values = {name: written_list(value) if isinstance(value, str) else value for name, value in values.items()}
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    if not lists:
        raise UnitError('no list "messages" or "conversations".')
    return {name: value for name, value in lists.items() if value} or lists


def _marks(lists: Mapping[str, list[Any]]) -> Iterator[str]:
    """The marks of the messages of a chat's first list."""
    for message in next(iter(lists.values())):
        if isinstance(message, dict):
            yield from (key for key in MARKS if message.get(key))


def _said(lists: Mapping[str, list[Any]], keys: _Keys, place: str) -> list[Message]:
    """The messages of a chat; the account counts their scores."""
    for message in (message for messages in lists.values() for message in messages if isinstance(message, dict)):
        account.current().read("scores", keys.label is not None and not is_blank(find(message, keys.label)))
        for key in score_keys(message):
            if key != keys.label:
                account.current().read("scores")
                account.current().left_out("scores", f"{shortened(key)!r} of a message: see -o score", place=place)
    first, *others = [keys.reader.read(found, SHAPES.get(name, SHAPES["messages"])) for name, found in lists.items()]
    for other in others:
        if [(one.speaker, one.text) for one in first] != [(one.speaker, one.text) for one in other]:
            names = list(lists)
            raise UnitError(f"{' and '.join(names)} say different things. Say which holds: -o messages={names[0]}.")
        leave_out(other, "said again in the chat's other list", place)
    return first


def _score_of_messages(log: ImportLog, finder: KeyFinder) -> tuple[str, str] | None:
    """The list and the key in its messages that the option ``score`` names, if it names such a one.

    Raises ``InputError``: there is no such key, or no scale.
    """
    lists, _, key = finder.options.get("score", "").partition(".")
    found = [row.get(lists) for row in finder.rows if key]
    found = [written_list(value) if isinstance(value, str) else value for value in found]
    messages = [one for value in found if isinstance(value, list) for one in value]
    values = [value for one in messages if isinstance(one, dict) and not is_blank(value := find(one, key))]
    if messages and not values:
        raise InputError(f"{finder.place}: option score={lists}.{key}: no message has it. Look at what they hold.")
    _check_scale(log, finder.place, values, key)
    return (lists, key) if messages else None


def _labels(messages: Sequence[Any], said: Sequence[Message], key: str, place: str) -> list[Score]:
    """The scores of single messages, each with the turn that it is of."""
    scores = []
    turn = -1
    for message, read in zip(messages, said, strict=True):
        is_turn = read.speaker is not None and read.text is not None
        turn += is_turn
        if is_blank(value := find(message, key)):
            continue
        if is_turn:
            scores.append(Score(key.rpartition(".")[2], value, turn=turn))
        else:
            account.current().left_out("scores", "of messages that are no turns", place=place)
    return scores


def _own_scale(row: Mapping[str, Any]) -> Scale:
    if row.get("low") is None or row.get("high") is None:
        raise UnitError('its score has no scale. Add "low" and "high" to the row, or -o low=1 -o high=5 for all.')
    return Scale(number(row["low"], "low", texts=True), number(row["high"], "high", texts=True))


def _name(log: ImportLog, row: Mapping[str, Any], keys: _Keys) -> str:
    """What the score is called: beside a key of another name, or in a table, ``name`` may be anybody's."""
    if keys.score_name != "score":
        return (keys.score_name or "score").rpartition(".")[2]
    name = (None if keys.is_table or keys.titled else row.get("name")) or "score"
    if not isinstance(name, str):
        raise UnitError(f"name = {shown(name)}: a text is needed, got {kind_of(name)}.")
    return name
