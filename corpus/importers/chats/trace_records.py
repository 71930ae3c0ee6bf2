"""What Langfuse, LangSmith and OpenTelemetry export, as the calls of a model and what was thought of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion.corpus import account
from apportion.corpus.files.jsontext import JsonError, parse
from apportion.corpus.importers.chats.messages import LANGCHAIN
from apportion.corpus.importers.chats.scales import is_blank
from apportion.corpus.importers.chats.tables import moment
from apportion.corpus.importers.reading.json_items import Item

LANGFUSE, LANGSMITH, OTEL = "Langfuse", "LangSmith", "OpenTelemetry"
THREADS = ("thread_id", "session_id", "conversation_id")
ASKED = ("messages", "input", "question", "query", "prompt", "message", "text", "user_input", "args")
ANSWERED = (
    "messages", "generations", "choices", "message", "output", "answer", "response", "content", "text", "result",
)  # fmt: skip
EVALUATION = "gen_ai.evaluation.result"
_NUMBERED = re.compile(
    r"(?:llm\.(?:in|out)put_messages|gen_ai\.(?:prompt|completion))\.(\d{1,9})\.(?:message\.)?(role|content)"
)
_OF_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_OF_TRACES = {"htmlpath", "projectid", "bookmarked", "release", "scores", "environment", "userid"}
MOST_MESSAGES = 10_000
RECORDS = "records"


@dataclass(frozen=True)
class Call:
    """One observation, run or span: what went in, what came out, and what it is part of."""

    place: str
    id: str
    parent: str | None
    trace: str
    session: str | None
    start: float | None
    asked: list[dict[str, Any]]
    answered: list[dict[str, Any]]
    also: str | None = None
    """Another id that feedback may name."""


@dataclass(frozen=True)
class Feedback:
    """A score, and what it is about: ids of a call, a trace or a session."""

    place: str
    name: str
    value: Any
    about: Mapping[str, str] = field(default_factory=dict)
    by: str | None = None
    by_model: bool = False
    summed_up: bool = False
    """Whether it is a mean that stands beside the call, which the scores themselves go before."""


def tool_of(found: Mapping[str, Any]) -> str | None:
    """Which tool exported an object; None where none did."""
    if "resourceSpans" in found or "resourceLogs" in found or _is_span(found):
        return OTEL
    if ("run_type" in found and "inputs" in found) or ("run_id" in found and "key" in found):
        return LANGSMITH
    keys = {_plain(key) for key in found}
    nested = any(isinstance(found.get(key), list) for key in ("observations", "traces"))
    if nested and keys & {"id", "trace", "projectid", "traces"}:
        return LANGFUSE
    about = keys & {"traceid", "sessionid", "observationid"}
    # A log of questions and answers may name its sessions, too; a trace has more of Langfuse's own keys.
    is_call = {"input", "output"} <= keys and ("traceid" in keys or ("id" in keys and about and keys & _OF_TRACES))
    return LANGFUSE if is_call or (about and {"name", "value"} <= keys) else None


def records_of(item: Item) -> Iterator[Call | Feedback]:
    """The calls and the feedback that an exported object holds; what becomes of a call, whoever takes it says.

    Feedback has a value or none.
    """
    tool, found = tool_of(item.found), item.found
    if tool == OTEL:
        for span in _spans(found):
            yield from _of_span(item.place, span)
    elif tool == LANGSMITH:
        yield from _of_langsmith(item.place, found)
    elif tool == LANGFUSE:
        yield from _of_langfuse(item.place, found, {})


def _of_langfuse(place: str, found: Mapping[str, Any], around: Mapping[str, Any]) -> Iterator[Call | Feedback]:
    own = {_plain(key): _json(value) for key, value in found.items()}
    inner = [(key, own.pop(key)) for key in ("trace", "traces", "observations", "scores") if key in own]
    is_trace = "traceid" not in own and ("input" in own or "observations" in dict(inner)) and "id" in own
    if is_trace:
        own |= {"traceid": own["id"]}
    own = {**{key: around[key] for key in ("traceid", "sessionid") if key in around}, **own}
    if isinstance(trace := dict(inner).get("trace"), dict):
        around = {"traceid": trace.get("id"), "sessionid": trace.get("sessionId")}
        own = {**around, **own}
    if "value" in own and "name" in own:
        yield _langfuse_score(place, own)
    elif "traceid" in own and ("input" in own or "output" in own):
        parent = _id(own.get("parentobservationid"))
        parent = parent if parent or is_trace else _id(own["traceid"])
        yield _call(place, own, own["traceid"], parent, own.get("sessionid"), (own.get("input"), own.get("output")))
    else:
        _is_one(place, bool(inner))
    if "traces" in dict(inner) and "id" in own and "sessionid" not in own:
        own["sessionid"] = own["id"]
        own.pop("traceid", None)
    for _, values in inner:
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                yield from _of_langfuse(place, value, own)


def _langfuse_score(place: str, own: Mapping[str, Any]) -> Feedback:
    _is_one(place)
    # Of a category the number is a place in a list, or 0.
    is_category = str(own.get("datatype")).upper() == "CATEGORICAL" and own.get("stringvalue") is not None
    value = own.get("stringvalue") if own["value"] is None or is_category else own["value"]
    source = str(own.get("source") or "").upper()
    by = _id(own.get("authoruserid")) or ("annotation" if source == "ANNOTATION" else None)
    about = {"call": own.get("observationid"), "trace": own.get("traceid"), "session": own.get("sessionid")}
    is_model = source == "EVAL"
    return Feedback(place, str(own["name"]), value, _about(about), "eval" if is_model else by, is_model)


def _of_langsmith(place: str, found: Mapping[str, Any]) -> Iterator[Call | Feedback]:
    if "run_type" not in found:
        value = found.get("value") if is_blank(found.get("score")) else found["score"]
        source = _json(found.get("feedback_source"))
        kind = source.get("type") if isinstance(source, dict) else None
        about = _about({"call": found["run_id"], "trace": found.get("trace_id")})
        _is_one(place)
        yield Feedback(place, str(found["key"]), value, about, "model" if kind == "model" else None, kind == "model")
        return
    extra = _json(found.get("extra"))
    metadata = _json(extra.get("metadata")) if isinstance(extra, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    # The run's own session_id is the project, never the conversation.
    thread = next((metadata[key] for key in THREADS if metadata.get(key)), None)
    trace = found.get("trace_id") or found.get("id")
    own = {"id": found.get("id"), "starttime": found.get("start_time")}
    yield _call(place, own, trace, _id(found.get("parent_run_id")), thread, (found["inputs"], found.get("outputs")))
    stats = _json(found.get("feedback_stats"))
    for name, figures in (stats if isinstance(stats, dict) else {}).items():
        if isinstance(figures, dict) and not is_blank(figures.get("avg")):
            yield Feedback(place, name, figures["avg"], _about({"call": found.get("id")}), summed_up=True)
    children = found.get("child_runs")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict) and "run_type" in child and "inputs" in child:
            yield from _of_langsmith(place, {"trace_id": trace, "parent_run_id": found.get("id"), **child})
        else:
            _is_one(place, False)


def _spans(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if _is_span(found):
        yield found
    for outer, middle, inner in (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")):
        for resource in _dicts(found.get(outer)):
            for scope in _dicts(resource.get(middle)):
                yield from _dicts(scope.get(inner))


def _is_span(found: Mapping[str, Any]) -> bool:
    keys = _attributes(found.get("attributes"))
    return any(key.startswith(("gen_ai.", "llm.", "openinference.", "session.id")) for key in keys)


def _of_span(place: str, span: Mapping[str, Any]) -> Iterator[Call | Feedback]:
    values = _attributes(span.get("attributes"))
    context = span.get("context")
    ids = {_plain(key): value for key, value in ((context if isinstance(context, dict) else {}) | {**span}).items()}
    about = {"call": ids.get("spanid"), "trace": ids.get("traceid"), "also": values.get("gen_ai.response.id")}
    if EVALUATION in (span.get("name"), span.get("eventName"), values.get("event.name")):
        _is_one(place)
        yield _evaluation(place, values, about)
        return
    named = (value for key, value in values.items() if value and key.endswith(("session.id", *THREADS)))
    session = values.get("gen_ai.conversation.id") or values.get("session.id") or next(named, None)
    own = {"id": ids.get("spanid"), "starttime": ids.get("starttimeunixnano") or ids.get("starttime")}
    said_in_events = [_said_in_event(event) for event in _dicts(span.get("events"))]
    values = {**values, **{key: value for side, held in said_in_events if not side for key, value in held.items()}}
    asked = (
        _first(values, "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "input.value")
        or _numbered(values, "in", "prompt")
        or [message for side, message in said_in_events if side == "asked"]
    )
    answered = (
        _first(values, "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "output.value")
        or _numbered(values, "out", "completion")
        or [message for side, message in said_in_events if side == "answered"]
    )
    parent = _id(ids.get("parentspanid") or ids.get("parentid"))
    yield _call(place, own, ids.get("traceid"), parent, session, (asked, answered), _id(about["also"]))
    for event in _dicts(span.get("events")):
        if event.get("name") == EVALUATION:
            yield _evaluation(place, _attributes(event.get("attributes")), about)


def _said_in_event(event: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """What an event of a span says, as the conventions before 1.36 put it: a message, or attributes of the span."""
    name, values = str(event.get("name")), _attributes(event.get("attributes"))
    if name == "gen_ai.choice":
        message = _json(values.get("message", values.get("content")))
        return "answered", message if isinstance(message, dict) else {"role": "assistant", "content": message}
    role = _OF_EVENT.fullmatch(name)
    if role:
        return "asked", {"role": role[1], "content": _json(values.get("content"))}
    return "", values if name.startswith("gen_ai.content.") else {}


def _evaluation(place: str, values: Mapping[str, Any], about: Mapping[str, Any]) -> Feedback:
    value = _first(values, "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label")
    about = {**about, "also": values.get("gen_ai.response.id") or about["also"]}
    return Feedback(place, str(values.get("gen_ai.evaluation.name") or "evaluation"), value, _about(about))


def _numbered(values: Mapping[str, Any], side: str, kind: str) -> list[dict[str, Any]]:
    """Messages whose parts stand under keys with a number each, as OpenInference and OpenLLMetry write them."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in values.items():
        match = _NUMBERED.fullmatch(key)
        if match and (f"{side}put_messages" in key or f"gen_ai.{kind}." in key) and int(match[1]) < MOST_MESSAGES:
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [found[number] for number in sorted(found)]


def _attributes(attributes: Any) -> dict[str, Any]:
    """Attributes as one level of dotted keys, whichever way they are written."""
    if isinstance(attributes, list):
        return {str(one.get("key")): _any_value(one.get("value")) for one in _dicts(attributes)}
    flat: dict[str, Any] = {}
    for key, value in attributes.items() if isinstance(attributes, dict) else ():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": kept for inner, kept in _attributes(value).items()}
        else:
            flat[key] = value
    return flat


def _any_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind, inner = next(iter(value.items()), ("", None))
    inner_values = _dicts(inner.get("values")) if isinstance(inner, dict) else []
    if kind == "arrayValue":
        return [_any_value(one) for one in inner_values]
    if kind == "kvlistValue":
        return {str(one.get("key")): _any_value(one.get("value")) for one in inner_values}
    return inner


def _call(
    place: str,
    own: Mapping[str, Any],
    trace: Any,
    parent: str | None,
    session: Any,
    said: tuple[Any, Any],
    also: str | None = None,
) -> Call:
    account.current().read(RECORDS)
    id_ = _id(own.get("id")) or ""
    start = moment(own.get("starttime", own.get("timestamp")))
    asked, answered = _messages(said[0], "user", ASKED), _messages(said[1], "assistant", ANSWERED)
    return Call(place, id_, parent, _id(trace) or id_, _id(session), start, asked, answered, also)


def _is_one(place: str, is_read: bool = True) -> None:
    """Say in the account that a record is there which is no call; whether it is a score, or holds calls or scores."""
    book = account.current()
    book.read(RECORDS)
    if is_read:
        book.kept(RECORDS)
    else:
        book.left_out(RECORDS, "neither calls nor scores", place=place)


def _messages(value: Any, role: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The messages that an input or an output holds, in whatever it is wrapped."""
    value = _json(value)
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            others = sum(len(one) for one in value[1:] if isinstance(one, list))
            account.current().read("messages", others)
            account.current().left_out("messages", "of other chats of a batch", others)
            value = value[0]  # A batch; chats are called one by one.
        return [message for one in value for message in _messages(one, role, keys)]
    if not isinstance(value, dict):
        return []
    kind = value.get("type") if isinstance(value.get("type"), str) else None
    kwargs = value.get("kwargs") if "lc" in value else value.get("data") if kind in LANGCHAIN else None
    if isinstance(kwargs, dict):
        name = value["id"][-1] if isinstance(value.get("id"), list) and value["id"] else kind
        return [{**kwargs, "role": LANGCHAIN.get(str(name), str(name).removesuffix("Message").lower())}]
    if "message.role" in value:
        return [{"role": value["message.role"], "content": value.get("message.content")}]
    if "role" in value or "parts" in value:
        return [{"role": role, **value}]
    if kind in LANGCHAIN:
        return [{**value, "role": LANGCHAIN[kind]}]
    inner = next((value[key] for key in keys if value.get(key)), None)
    return [] if inner is None else _messages(inner, role, keys)


def _first(values: Mapping[str, Any], *keys: str) -> Any:
    return next((values[key] for key in keys if not is_blank(values.get(key))), None)


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _json(value: Any, begins: str = "{[") -> Any:
    """What a text says where it is JSON of an object or a list; else the value itself."""
    if isinstance(value, str) and value.strip() and value.lstrip()[0] in begins:
        try:
            return parse(value)
        except JsonError:
            return value
    return value


def of_table(found: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table in which a text stands as JSON writes it, in quotes, as Langfuse exports inputs and outputs."""
    return {key: _json(value, '{["') if str(value)[-1:] == '"' else value for key, value in found.items()}


def _about(ids: Mapping[str, Any]) -> dict[str, str]:
    return {what: id_ for what, value in ids.items() if (id_ := _id(value))}


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() else None


def _plain(key: str) -> str:
    return re.sub(r"[\W_]", "", key).lower()
