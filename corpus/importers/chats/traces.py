"""Chats out of the traces of observability tools: the calls of a session put together to one conversation.

Each call's input usually repeats the conversation so far, and spans in spans repeat each other. A trace gives one
exchange: that of its outermost call in which a user asks and the assistant answers in words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from apportion.corpus import account
from apportion.corpus.importers.chats.keys import NONE
from apportion.corpus.importers.chats.messages import RATER, TARGET, Chat, Message, MessageReader, Score, leave_out
from apportion.corpus.importers.chats.scales import is_blank
from apportion.corpus.importers.chats.trace_records import RECORDS, Call, Feedback, records_of, tool_of
from apportion.corpus.importers.reading.asking import choose
from apportion.corpus.importers.reading.json_items import Item
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import counted, listed, shortened

REPEATED = "repeat what was said before"
INNER = "in calls inside other calls of their trace, or before its last"
SILENT = "in calls without words of a user and an answer"


@dataclass(frozen=True)
class Conversation:
    """A session of a tool: its traces in their order, and its scores, each with the trace that it is about."""

    id: str
    traces: list[list[Call]]
    scores: list[tuple[Feedback, str | None]]

    @property
    def place(self) -> str:
        """Where it begins."""
        return self.traces[0][0].place

    @property
    def holds(self) -> dict[str, int]:
        """What of the account's records and scores is in it."""
        return {RECORDS: sum(map(len, self.traces)), "scores": len(self.scores)}

    def chat(self, reader: MessageReader, edited: list[str]) -> Chat:
        """What was said, each thing once; ``edited`` is told if a later trace changes what an earlier one said.

        Raises ``UnitError``: nothing was.
        """
        said: list[Message] = []
        answered: dict[str, int] = {}
        for trace in self.traces:
            exchange = _exchange(trace, reader)
            if exchange is None:
                continue
            before, said = said, _merged(said, exchange)
            if said is exchange and before:
                edited.append(self.id)
                answered.clear()
                leave_out(before, "earlier versions of an edited chat", trace[0].place)
            else:
                leave_out(exchange[: len(before) + len(exchange) - len(said)], REPEATED, trace[0].place)
            answered[trace[0].trace] = len(_spoken(said)) - 1
        if not said:
            raise UnitError("no call in it holds words of a user and an answer. Export inputs and outputs, too.")
        return Chat(self.id, said, self._scores(answered))

    def _scores(self, answered: Mapping[str, int]) -> list[Score]:
        """One of a whole trace is about its answer, unless the session is that one trace."""
        scores = []
        for one, trace in self.scores:
            if trace is not None and trace not in answered:
                account.current().left_out("scores", "about calls that are not in the chat", place=one.place)
                continue
            turn = answered[trace] if trace is not None and len(self.traces) > 1 else None
            scores.append(Score(one.name, one.value, one.by, one.by_model, turn))
        return scores


def is_traces(items: Iterable[Item]) -> bool:
    """Whether an observability tool exported one of these objects."""
    return any(tool_of(item.found) for item in items)


def conversations_of(items: Iterable[Item], tool: str, wanted: str | None) -> tuple[list[Conversation], list[str]]:
    """The sessions, and what is told of them; ``wanted``: the name of the scores.

    Raises ``InputError``: several names of scores, and nobody says which; or none of that name.
    """
    calls: list[Call] = []
    scores: list[Feedback] = []
    for item in items:
        if item.fault or tool_of(item.found) is None:
            account.current().read(RECORDS)
            reason = "broken" if item.fault else f"neither a call nor a score of {tool}"
            account.current().left_out(RECORDS, reason, place=item.place)
        for record in records_of(item):
            calls.append(record) if isinstance(record, Call) else scores.append(record)
    calls = _one_session_a_trace(calls)
    session_of = {call.trace: call.trace for call in calls}
    session_of.update({call.trace: call.session for call in calls if call.session})
    feedback = _by_conversation(_chosen(_first_hand(scores), wanted), calls, session_of)
    traces, timeless = _by_session(calls, session_of)
    account.current().read("chats", len(traces))
    told = []
    if timeless:
        told.append(
            f"calls that do not say when they began stay in the order of the files: {counted(timeless, 'chat')}"
        )
    return [Conversation(session, found, feedback.get(session, [])) for session, found in traces.items()], told


def _one_session_a_trace(calls: list[Call]) -> list[Call]:
    """The calls; a trace in which several sessions are named, as of a batch, becomes a trace of each."""
    sessions = defaultdict(set)
    for call in calls:
        sessions[call.trace].update({call.session} - {None})
    return [
        replace(call, trace=f"{call.trace}/{call.session}") if call.session and len(sessions[call.trace]) > 1 else call
        for call in calls
    ]


def _first_hand(scores: list[Feedback]) -> list[Feedback]:
    """The scores that have a value, without the means of those that are there themselves."""
    book = account.current()
    book.read("scores", len(scores))
    valued = [one for one in scores if not is_blank(one.value)]
    themselves = {(one.name, one.about.get("call")) for one in valued if not one.summed_up}
    kept = []
    for one in scores:
        if is_blank(one.value):
            book.left_out("scores", "without a value", place=one.place)
        elif one.summed_up and (one.name, one.about.get("call")) in themselves:
            book.left_out("scores", "means of scores that are there themselves", place=one.place)
        else:
            kept.append(one)
    return kept


def _chosen(scores: list[Feedback], wanted: str | None) -> list[Feedback]:
    names = sorted({one.name for one in scores})
    if wanted is None and len(names) > 1:
        wanted = choose("Which of these scores is it about?", names)
        if wanted is None:
            raise InputError(
                f"these traces hold scores of several names: {listed(names, 12)}. "
                f"Say which is meant: -o score={names[0]}, or -o score={NONE}."
            )
    if wanted is not None and wanted != NONE and wanted not in names:
        found = listed(names, 12) or "none"
        raise InputError(f"option score={wanted}: no score of this name in these traces. Found: {found}.")
    for one in scores:
        if wanted not in (None, one.name):
            account.current().left_out("scores", "of other names: -o score=NAME chooses", place=shortened(one.name))
    return [one for one in scores if wanted in (None, one.name)]


def _by_session(calls: list[Call], session_of: Mapping[str, str]) -> tuple[dict[str, list[list[Call]]], list[str]]:
    """The traces of each session, in their order; and the sessions in which nothing says what it is."""
    traces: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        traces[call.trace].append(call)
    sessions: dict[str, list[list[Call]]] = defaultdict(list)
    for trace in traces.values():
        sessions[session_of[trace[0].trace]].append(trace)
    timeless = []
    for session, of_session in sessions.items():
        if any(call.start is None for trace in of_session for call in trace):
            timeless += [session] * (len(of_session) > 1)
            continue
        for trace in of_session:
            trace.sort(key=_start)
        # Of two at one moment, the one that repeats less of the conversation comes first.
        of_session.sort(key=lambda trace: (_start(trace[0]), max(len(call.asked) for call in trace)))
    return sessions, timeless


def _start(call: Call) -> float:
    return call.start or 0.0


def _exchange(trace: list[Call], reader: MessageReader) -> list[Message] | None:
    """What was said in the outermost call that asks and answers in words; of several, in the longest and last."""
    depth, book = _depths(trace), account.current()
    read: list[tuple[Call, list[Message], list[Message], list[Message]]] = []
    ranks: list[tuple[int, int, int]] = []
    fault: UnitError | None = None
    for call in trace:
        try:
            with account.session(RECORDS, call.place):
                asked, answered = reader.read(call.asked), reader.read(call.answered)
        except UnitError as error:
            fault = error
            continue
        # Frameworks give back the whole conversation as their output.
        rest = _rest(asked, answered) if len(answered) > 1 else answered
        if any(one.text and one.speaker == RATER for one in asked) and any(
            one.text and one.speaker == TARGET for one in answered
        ):
            ranks.append((-depth[call.id], len(_spoken(asked + rest)), len(read)))
        read.append((call, asked, answered, rest))
    if not ranks and fault is not None:
        raise fault
    chosen = max(ranks)[-1] if ranks else None
    for position, (call, asked, answered, rest) in enumerate(read):
        if position == chosen:
            book.kept(RECORDS)
            leave_out(answered[: len(answered) - len(rest)], REPEATED, call.place)
        else:
            reason = SILENT if chosen is None else INNER
            book.left_out(RECORDS, reason.removeprefix("in "), place=call.place)
            leave_out(asked + answered, reason, call.place)
    return None if chosen is None else read[chosen][1] + read[chosen][3]


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


def _by_conversation(
    feedback: list[Feedback], calls: list[Call], session_of: Mapping[str, str]
) -> dict[str, list[tuple[Feedback, str | None]]]:
    """The scores of each session, each with the trace that it is about, if it is about one."""
    trace_of = {call.id: call.trace for call in calls} | {call.also: call.trace for call in calls if call.also}
    sessions = set(session_of.values())
    found: dict[str, list[tuple[Feedback, str | None]]] = defaultdict(list)
    for one in feedback:
        ids = [one.about[what] for what in ("call", "also") if what in one.about]
        trace = next((trace_of[id_] for id_ in ids if id_ in trace_of), one.about.get("trace"))
        session = session_of.get(trace or "", one.about.get("session"))
        if session is None or session not in sessions:
            account.current().left_out("scores", "about nothing that is in these files", place=one.place)
            continue
        found[session].append((one, trace if trace in session_of else None))
    return found
