"""Chats out of the traces of observability tools: the calls of a session put together to one conversation.

Each call's input usually repeats the conversation so far, and spans in spans repeat each other. A trace gives one
exchange: that of its outermost call in which a user asks and the assistant answers in words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from apportion.corpus.builder import SkippedSession
from apportion.corpus.importers.chats.keys import NONE
from apportion.corpus.importers.chats.messages import RATER, TARGET, Chat, Message, MessageReader, Score
from apportion.corpus.importers.chats.trace_records import Call, Feedback, records_of, tool_of
from apportion.corpus.importers.reading.asking import choose
from apportion.corpus.importers.reading.json_items import Item
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed


@dataclass
class _Told:
    """What is told of the traces."""

    inner: int = 0
    repeated: int = 0
    silent: int = 0
    edited: list[str] = field(default_factory=list)
    timeless: list[str] = field(default_factory=list)
    lost: int = 0
    others: Counter[str] = field(default_factory=Counter)

    def notes(self) -> list[str]:
        notes = []
        if self.inner:
            notes.append(f"{self.inner:,} calls inside other calls of their trace, or before its last, were left out")
        if self.repeated:
            notes.append(f"{self.repeated:,} messages repeat what was said before them: taken once")
        if self.silent:
            notes.append(f"{self.silent:,} traces hold no words of a user and an answer: left out")
        if self.edited:
            notes.append(f"{len(self.edited):,} chats ({listed(self.edited)}) were edited: the later version was kept")
        if self.timeless:
            who = f"{len(self.timeless):,} chats ({listed(self.timeless)})"
            notes.append(f"calls in {who} do not say when they began: they stay in the order of the files")
        if self.lost:
            notes.append(f"{self.lost:,} scores are about nothing that is in these files: left out")
        if self.others:
            names = listed([f"{name} {many:,}" for name, many in self.others.most_common()], 8)
            notes.append(f"other scores were left out: {names}; -o score=NAME chooses")
        return notes


def is_traces(items: Iterable[Item]) -> bool:
    """Whether an observability tool exported one of these objects."""
    return any(tool_of(item.found) for item in items)


def chats_of_traces(
    items: Iterable[Item], reader: MessageReader, wanted: str | None
) -> tuple[list[Chat], list[SkippedSession], list[str]]:
    """The chats of all sessions, those left out, and what is told; ``wanted``: the name of the scores.

    Raises ``InputError``: several names of scores, and nobody says which; or none of that name.
    """
    told, calls, scores = _Told(), [], []
    left_out: list[SkippedSession] = []
    for item in items:
        if item.fault:
            left_out.append(SkippedSession(item.place, item.fault))
        for record in records_of(item):
            calls.append(record) if isinstance(record, Call) else scores.append(record)
    feedback = _chosen(_first_hand(scores), wanted, told)
    session_of = _sessions(calls)
    chats, turn_of, trace_of = [], {}, {}
    for session, traces in _by_session(calls, session_of, told).items():
        try:
            chat, turns = _chat(session, traces, reader, told)
        except UnitError as error:
            left_out.append(SkippedSession(session, f"{traces[0][0].place}: {error}"))
            continue
        turn_of.update(turns)
        trace_of[session] = len(traces)
        chats.append(chat)
    told_scores = _scores(feedback, calls, session_of, turn_of, trace_of, told)
    chats = [replace(chat, scores=told_scores.get(chat.id or "", [])) for chat in chats]
    return chats, left_out, told.notes()


def _first_hand(scores: list[Feedback]) -> list[Feedback]:
    """The scores without the means of those that are there themselves."""
    themselves = {(one.name, one.about.get("call")) for one in scores if not one.summed_up}
    return [one for one in scores if not (one.summed_up and (one.name, one.about.get("call")) in themselves)]


def _chosen(scores: list[Feedback], wanted: str | None, told: _Told) -> list[Feedback]:
    names = Counter(one.name for one in scores)
    if wanted is None and len(names) > 1:
        wanted = choose("Which of these scores is it about?", sorted(names))
        if wanted is None:
            raise InputError(
                f"these traces hold scores of several names: {listed(sorted(names), 12)}. "
                f"Say which is meant: -o score={min(names)}, or -o score={NONE}."
            )
    if wanted is not None and wanted != NONE and wanted not in names:
        found = listed(sorted(names), 12) or "none"
        raise InputError(f"option score={wanted}: no score of this name in these traces. Found: {found}.")
    told.others = Counter({name: many for name, many in names.items() if wanted is not None and name != wanted})
    return [one for one in scores if wanted is None or one.name == wanted]


def _sessions(calls: list[Call]) -> dict[str, str]:
    """The session of each trace: what one of its calls says, else the trace itself."""
    session_of = {call.trace: call.trace for call in calls}
    session_of.update({call.trace: call.session for call in calls if call.session})
    return session_of


def _by_session(calls: list[Call], session_of: Mapping[str, str], told: _Told) -> dict[str, list[list[Call]]]:
    """The traces of each session, in their order."""
    traces: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        traces[call.trace].append(call)
    sessions: dict[str, list[list[Call]]] = defaultdict(list)
    for trace in traces.values():
        sessions[session_of[trace[0].trace]].append(trace)
    for session, of_session in sessions.items():
        if any(call.start is None for trace in of_session for call in trace):
            told.timeless += [session] * (len(of_session) > 1)
            continue
        for trace in of_session:
            trace.sort(key=_start)
        of_session.sort(key=lambda trace: _start(trace[0]))
    return sessions


def _start(call: Call) -> float:
    return call.start or 0.0


def _chat(session: str, traces: list[list[Call]], reader: MessageReader, told: _Told) -> tuple[Chat, dict[str, int]]:
    """The conversation of a session, and the turn in which each of its traces answered."""
    said: list[Message] = []
    answered: dict[str, int] = {}
    for trace in traces:
        exchange = _exchange(trace, reader, told)
        if exchange is None:
            told.silent += 1
            continue
        before, said = said, _merged(said, exchange)
        if said is exchange and before:
            told.edited.append(session)
        else:
            told.repeated += len(before) + len(exchange) - len(said)
        answered[trace[0].trace] = len(_spoken(said)) - 1
    if not said:
        raise UnitError("no call in it holds words of a user and an answer. Export inputs and outputs, too.")
    return Chat(traces[0][0].place, session, said), answered


def _exchange(trace: list[Call], reader: MessageReader, told: _Told) -> list[Message] | None:
    """What was said in the outermost call that asks and answers in words; of several, in the longest and last."""
    depth = _depths(trace)
    best: tuple[tuple[int, int], list[Message]] | None = None
    fault: UnitError | None = None
    for call in trace:
        try:
            asked = reader.read(call.asked) if call.asked else []
            answered = reader.read(call.answered) if call.answered else []
        except UnitError as error:
            fault = error
            continue
        if not any(one.text and one.speaker == RATER for one in asked):
            continue
        answer = [one for one in answered if one.speaker == TARGET and one.text][-1:]
        # Frameworks give back the whole conversation as their output.
        said = asked + (_rest(asked, answered) if len(answered) > 1 else answered)
        rank = (-depth[call.id], len(_spoken(said)))
        if answer and (best is None or rank >= best[0]):
            best = rank, said
    if best is None and fault is not None:
        raise fault
    told.inner += len(trace) - 1
    return None if best is None else best[1]


def _rest(asked: list[Message], answered: list[Message]) -> list[Message]:
    return _after(answered, _overlap(_spoken(asked), _spoken(answered)))


def _depths(trace: list[Call]) -> dict[str, int]:
    parents = {call.id: call.parent for call in trace}
    depths = {}
    for call in trace:
        seen, above = {call.id}, call.parent
        while above in parents and above not in seen:
            seen.add(above)
            above = parents[above]
        depths[call.id] = len(seen)
    return depths


def _merged(said: list[Message], exchange: list[Message]) -> list[Message]:
    """What was said so far and in the next exchange, whose input may repeat all of it, or the end of it."""
    old, new = _spoken(said), _spoken(exchange)
    overlap = _overlap(old, new)
    if old and not overlap and len(new) > 2 and old[0] == new[0]:
        return exchange
    return said + (_after(exchange, overlap) if overlap else exchange)


def _overlap(old: list[tuple[str | None, str]], new: list[tuple[str | None, str]]) -> int:
    """How many of the first of ``new`` are the last of ``old``."""
    lengths = range(min(len(old), len(new)), 0, -1)
    return next((many for many in lengths if old[-many] == new[0] and old[-many:] == new[:many]), 0)


def _after(messages: list[Message], spoken: int) -> list[Message]:
    """The messages behind the first ``spoken`` turns."""
    left = spoken
    for position, message in enumerate(messages):
        if left == 0:
            return messages[position:]
        left -= message.text is not None
    return []


def _spoken(messages: list[Message]) -> list[tuple[str | None, str]]:
    return [(one.speaker, one.text.strip()) for one in messages if one.text is not None]


def _scores(
    feedback: list[Feedback],
    calls: list[Call],
    session_of: Mapping[str, str],
    turn_of: Mapping[str, int],
    traces: Mapping[str, int],
    told: _Told,
) -> dict[str, list[Score]]:
    """The scores by session: one of a whole trace is about its answer, unless the session is that one trace."""
    trace_of = {call.id: call.trace for call in calls} | {call.also: call.trace for call in calls if call.also}
    scores: dict[str, list[Score]] = defaultdict(list)
    for one in feedback:
        ids = [one.about[what] for what in ("call", "also") if what in one.about]
        trace = next((trace_of[id_] for id_ in ids if id_ in trace_of), one.about.get("trace"))
        session = session_of.get(trace or "", one.about.get("session"))
        turn = turn_of.get(trace or "") if trace and traces.get(session or "", 0) > 1 else None
        if session is None or session not in traces or (trace in session_of and trace not in turn_of):
            told.lost += 1
            continue
        scores[session].append(Score(one.name, one.value, one.by, one.by_model, turn))
    return scores
