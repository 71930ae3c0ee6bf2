"""Chats as strangers keep them: parts of messages, keys, scales, tables, traces."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from tests.corpus.strangers.row import Outcome, Row

SCALE = ("low=1", "high=5")
Write = Callable[[Path], list[str]]
Said = tuple[str, str]
ASK, ANSWER = {"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Until six."}
SAID = [("user", "Is it open?"), ("assistant", "Until six.")]


def told(*options: str) -> list[str]:
    return [word for option in options for word in ("-o", option)]


def file(name: str, content: str | bytes, *options: str) -> Write:
    """A file of these bytes, or of this text."""

    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return ["chat", str(folder / name), *told(*options)]

    return write


def chats(*found: Any, options: Sequence[str] = SCALE) -> Write:
    """A file of JSON Lines."""
    return file("log.jsonl", lines(found), *options)


def lines(found: Iterable[Any]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages) or [ASK, ANSWER], "score": 4} | more


def unscored(**more: Any) -> dict[str, Any]:
    return {"messages": [ASK, ANSWER], **more}


def table(header: str, *rows: Sequence[object], name: str = "chats.csv", options: Sequence[str] = SCALE) -> Write:
    """A table; the header's columns stand with blanks between them."""
    text = io.StringIO()
    csv.writer(text, delimiter="\t" if ".tsv" in name else ",").writerows([header.split(), *rows])
    content = text.getvalue().encode()
    return file(name, gzip.compress(content) if name.endswith(".gz") else content, *options)


def parquet(columns: dict[str, list[Any]] | list[tuple[str, list[Any]]], options: Sequence[str] = SCALE) -> Write:
    def write(folder: Path) -> list[str]:
        names, values = zip(*(columns.items() if isinstance(columns, dict) else columns), strict=True)
        pq.write_table(pa.table(list(map(pa.array, values)), names=list(names)), folder / "chats.parquet")
        return ["chat", str(folder / "chats.parquet"), *told(*options)]

    return write


def dataset(columns: dict[str, list[Any]]) -> Write:
    """A folder as `datasets` saves a data set of two splits."""

    def write(folder: Path) -> list[str]:
        (folder / "dataset_dict.json").write_text('{"splits": ["test", "train"]}')
        table = pa.table(columns)
        for split in ("test", "train"):
            (folder / split).mkdir()
            (folder / split / "state.json").write_text("{}")
            path = folder / split / "data-00000-of-00001.arrow"
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
                stream.write_table(table)
        return ["chat", str(folder), *told(*SCALE)]

    return write


def holds(said: Sequence[Said] = SAID, *scores: float, id_: str | None = None) -> Callable[[Corpus], bool]:
    """The first session says this, and has these scores."""

    def look(corpus: Corpus) -> bool:
        session = next(iter(corpus.iter_sessions()))
        spoken = [(turn.speaker, turn.text) for turn in session.turns]
        found = [rating.score for rating in session.ratings]
        return spoken == list(said) and found == list(scores) and id_ in (None, session.session_id)

    return look


def row(
    fault: str, outcome: Outcome, write: Write, says: str = "", look: Callable[[Corpus], bool] | None = None
) -> Row:
    return Row("chats", fault, outcome, write, says, look)


def answer(**message: Any) -> dict[str, Any]:
    return {"role": "assistant", **message}


TURNS = [("c0", 0, "user", "Is it open?", 4), ("c0", 1, "assistant", "Until six.", 4)]
CALL = {"id": "x", "type": "function", "function": {"name": "hours", "arguments": "{}"}}
TREE = {
    id_: {"parent": parent, "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}}
    for id_, parent, role, text in (
        ("a", "root", *SAID[0]),
        ("b", "a", "assistant", "Until five."),
        ("c", "a", *SAID[1]),
    )
}
PARTS = [{"type": "text", "text": "Is"}, {"type": "input_audio", "input_audio": {}}, {"type": "video_url"}]

MESSAGES = [
    row(
        "ChatGPT's export, in which an answer was made again",
        "told",
        chats({"conversation_id": "k", "current_node": "c", "mapping": TREE}, options=()),
        "1 in other versions of an edited chat",
        holds(SAID, id_="k"),
    ),
    row(
        "a refusal",
        "recovered",
        chats(chat(ASK, answer(content=None, refusal="I will not."))),
        "",
        holds([SAID[0], ("assistant", "I will not.")], 4),
    ),
    row(
        "a refusal as a part",
        "recovered",
        chats(chat(ASK, answer(content=[{"type": "refusal", "refusal": "No."}]))),
        "",
        holds([SAID[0], ("assistant", "No.")], 4),
    ),
    row(
        "input_text and output_text",
        "recovered",
        chats(
            chat(
                {"role": "user", "content": [{"type": "input_text", "text": "Is it open?"}]},
                answer(content=[{"type": "output_text", "text": "Until six."}]),
            )
        ),
        "",
        holds(SAID, 4),
    ),
    row(
        "an empty turn beside a tool call",
        "told",
        chats(chat(ASK, answer(content="", tool_calls=[CALL]), ANSWER)),
        "1 tool calls without text",
        holds(SAID, 4),
    ),
    row(
        "an empty turn before what a tool said",
        "told",
        chats(chat(ASK, answer(content=""), {"role": "tool", "content": "6"}, ANSWER)),
        "1 blank before a tool's answer",
        holds(SAID, 4),
    ),
    row(
        "a turn of blanks",
        "told",
        chats(chat(ASK, answer(content="  "), ANSWER)),
        "blank messages, .*: 1",
        holds([SAID[0], ("assistant", "  "), SAID[1]], 4),
    ),
    row(
        "unknown parts are named",
        "told",
        chats(chat({"role": "user", "content": PARTS}, ANSWER)),
        "1 input_audio .*1 video_url",
        holds([("user", "Is"), SAID[1]], 4),
    ),
    row(
        "parts of more types than anybody reads",
        "told",
        chats(chat(ASK, answer(content=[{"type": f"t{n}"} for n in range(40)]), ANSWER)),
        "1 t0 and t1 and t10 and t11 and 36 more without text.*1 t7 .*and 23 more",
        holds(SAID, 4),
    ),
    row(
        "reasoning beside the answer",
        "told",
        chats(chat(ASK, answer(content="Until six.", reasoning_content="Hm."))),
        "1 reasoning",
        holds(SAID, 4),
    ),
    row(
        "reasoning in the answer",
        "told",
        chats(chat(ASK, answer(content="<think>Hm.</think>\nUntil six."))),
        "1 reasoning, which nobody heard",
        holds(SAID, 4),
    ),
    row(
        "reasoning of which the template wrote the begin",
        "told",
        chats(chat(ASK, answer(content="Hm, six.\n</think>\n\nUntil six."))),
        "3 reasoning, which nobody heard",
        holds(SAID, 4),
    ),
    row(
        "reasoning that was cut off",
        "told",
        chats(chat(ASK, ANSWER, ASK, answer(content="<think>Hm, six"))),
        "3 reasoning, which nobody heard|1 reasoning without text",
        holds([*SAID, SAID[0]], 4),
    ),
    row(
        "a part of thinking",
        "told",
        chats(
            chat(ASK, answer(content=[{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Until six."}]))
        ),
        "1 reasoning",
        holds(SAID, 4),
    ),
    row(
        "a spoken answer with its transcript",
        "recovered",
        chats(chat(ASK, answer(content=None, audio={"id": "a", "transcript": "Until six."}))),
        "",
        holds(SAID, 4),
    ),
    row(
        "items of a newer list without a role",
        "told",
        chats(chat(ASK, {"type": "function_call", "name": "hours"}, {"type": "reasoning", "summary": []}, ANSWER)),
        "2 of the system, tools",
        holds(SAID, 4),
    ),
    row(
        "messages and conversations say the same",
        "recovered",
        chats(chat(conversations=[{"from": "human", "value": "Is it open?"}, {"from": "gpt", "value": "Until six."}])),
        "",
        holds(SAID, 4),
    ),
    row(
        "messages and conversations differ",
        "refused",
        chats(chat(conversations=[{"from": "human", "value": "Hi"}])),
        "say different things.*-o messages=",
    ),
    row(
        "conversations with role and content",
        "recovered",
        chats({"conversations": [ASK, ANSWER], "score": 4}),
        "",
        holds(SAID, 4),
    ),
    row(
        "roles in capitals",
        "recovered",
        chats(chat({"role": "User", "content": "Is it open?"}, {"role": "Assistant", "content": "Until six."})),
        "",
        holds(SAID, 4),
    ),
    row(
        "a bot and an agent",
        "refused",
        chats(chat(ASK, {"role": "bot", "content": "Wait."}, {"role": "agent", "content": "Yes."})),
        "agent and bot speak. Say who is rated: -o target=",
    ),
    row(
        "roles that an option names",
        "recovered",
        chats(
            chat({"role": "guest", "content": "Is it open?"}, {"role": "host", "content": "Until six."}),
            options=(*SCALE, "rater=guest", "target=host"),
        ),
        "",
        holds(SAID, 4),
    ),
    row(
        "a text under a key of its own",
        "refused",
        chats(chat({"role": "user", "words": "Hi"})),
        "Found the keys: role, words.*-o text=",
    ),
    row(
        "the same, mapped",
        "recovered",
        chats(
            chat({"who": "user", "words": "Is it open?"}, {"who": "bot", "words": "Until six."}),
            options=(*SCALE, "text=words", "speaker=who"),
        ),
        "",
        holds(SAID, 4),
    ),
    row(
        "one chat over many lines",
        "recovered",
        file("chat.json", json.dumps(chat(), indent=1), *SCALE),
        "",
        holds(SAID, 4),
    ),
    row(
        "chats in an object",
        "recovered",
        file("chats.json", json.dumps({"data": [chat()]}, indent=1), *SCALE),
        "",
        holds(SAID, 4),
    ),
    row(
        "two lists of chats in an object",
        "told",
        file("chats.json", json.dumps({"data": [chat()], "held_out": [chat(), chat()]}), *SCALE),
        "2 in other lists than 'data' .held_out",
        holds(SAID, 4),
    ),
    row(
        "messages as a JSON text",
        "recovered",
        chats({"messages": json.dumps([ASK, ANSWER]), "score": 4}),
        "",
        holds(SAID, 4),
    ),
]
KEYS = [
    row(
        "a score of a name that nobody knows",
        "refused",
        chats(unscored(verdict=2), unscored(verdict=5), unscored(verdict=2)),
        "no chat has a score.*On the scale lies what is in verdict",
    ),
    row(
        "a thumb on a message",
        "told",
        chats(chat(ASK, ANSWER | {"rating": 1})),
        "1 'rating' of a message: see -o score",
        holds(SAID, 4),
    ),
    row(
        "the same, named by an option",
        "recovered",
        chats(
            unscored(),
            {"messages": [{"role": "system", "content": "Hm.", "rating": 2}, ASK, ANSWER | {"rating": 5}]},
            options=(*SCALE, "score=messages.rating"),
        ),
        "1 of messages that are no turns",
        lambda corpus: (
            [(one["turn"], one["value"], one["name"]) for one in corpus.tables["turn_labels"].to_pylist()]
            == [(1, 5.0, "rating")]
        ),
    ),
    row(
        "csat and session_id",
        "told",
        chats(unscored(session_id="s7", csat=2)),
        "read from 'csat'.*id from 'session_id'",
        holds(SAID, 2, id_="s7"),
    ),
    row(
        "a score inside metadata",
        "told",
        chats(unscored(metadata={"csat": 3})),
        "read from 'metadata.csat'",
        holds(SAID, 3),
    ),
    row("two scores", "refused", chats(unscored(csat=3, nps=9)), "not sure: csat, nps.*Found the keys.*-o score=csat"),
    row(
        "two scores, one chosen",
        "recovered",
        chats(unscored(csat=3, nps=9), options=(*SCALE, "score=csat")),
        "",
        holds(SAID, 3),
    ),
    row("a score that is a model's", "refused", chats(unscored(toxicity_score=0.1)), "toxicity_score.*-o score=none"),
    row(
        "no score at all beside a scale",
        "refused",
        chats(unscored(topic="hours")),
        "no chat has a score. Found the keys: messages, topic",
    ),
    row("feedback in words", "refused", chats(unscored(feedback="great help")), "no chat has a score"),
    row(
        "an option with a slip",
        "refused",
        chats(unscored(csat=3), options=(*SCALE, "score=cast")),
        "did you mean 'csat'",
    ),
    row("some chats without a score", "told", chats(chat(), unscored()), "unrated chats, .*: 1 of 2", holds(SAID, 4)),
    row("keys that nobody reads", "told", chats(chat(topic="hours")), "keys that were not read: topic", holds(SAID, 4)),
    row(
        "a customer's name beside csat",
        "recovered",
        chats(unscored(name="Ann", csat=2)),
        "",
        lambda corpus: next(iter(corpus.iter_sessions())).ratings[0].name == "csat",
    ),
    row(
        "scores without a scale",
        "refused",
        chats(unscored(csat=2), unscored(csat=5), options=()),
        "the scores of .csat. have no scale. They lie from 2 to 5",
    ),
]
SCALES = [
    row(
        f"{value!r} on {scale}",
        "recovered",
        chats(unscored(rating=value), options=(f"scale={scale}",)),
        "",
        holds(SAID, score),
    )
    for scale, value, score in (
        ("thumbs", "👎🏽", 0),
        ("thumbs", "thumbs_up", 1),
        ("thumbs", True, 1),
        ("thumbs", -1, 0),
        ("stars", "★★★☆☆", 3),
        ("stars", "4 stars", 4),
        ("stars", "4/5", 4),
        ("nps", 9, 9),
        ("percent", "85 %", 85),
        ("1..7", "4 of 7", 4),
        ("1..5", "4", 4),
    )
] + [
    row(fault, "refused", chats(*(unscored(rating=value) for value in values), options=(f"scale={scale}",)), says)
    for fault, scale, values, says in (
        ("thumbs that are 0 and -1", "thumbs", (1, 0, -1), "-o scale=-1..1"),
        ("percent that are shares", "percent", (0.2, 0.9), "-o scale=0..1"),
        ("of another scale", "1..5", ("3 of 4",), "counts to 4, the scale to 5"),
        ("a decimal comma", "1..5", ("3,5",), "score = '3,5': no score on a scale.*with a point"),
        ("a scale that is none", "5..1", (3,), "allowed: thumbs"),
        ("no words", "thumbs", ("maybe",), "holds no scores .such as .maybe"),
    )
]
TABLES = [
    row(
        "a score whose point may stand between thousands",
        "refused",
        file("c.csv", "chat_id;role;text;csat\na;user;Is it open?;4\na;assistant;Until six.;1.234\n", *SCALE),
        "c.csv, line 3, column csat: '1.234'.*Write 5.0 or 5000",
    ),
    row(
        "ids that pandas has made floats",
        "refused",
        parquet({"chat_id": [2.0**60] * 2, "role": ["user", "bot"], "text": ["Hi", "Ho"], "csat": [4, 4]}),
        "row 1, column chat_id: .*several chats may have one id",
    ),
    row("a column twice in Parquet", "refused", parquet([("id", [1]), ("id", [2])]), "column 'id' is there twice"),
    row(
        "a cell of Python that is no list",
        "refused",
        table("session_id messages rating", ("s1", "[{1, 2}]", 4)),
        "column messages: not valid JSON",
    ),
    row(
        "columns, as pandas writes JSON",
        "recovered",
        file("df.json", json.dumps({"messages": {"0": [ASK, ANSWER]}, "score": {"0": 4}}), *SCALE),
        "",
        holds(SAID, 4),
    ),
    row(
        "a data set that was saved",
        "told",
        dataset({"messages": [[ASK, ANSWER]], "csat": [3]}),
        "csat",
        lambda corpus: [id_.partition("-")[0] for id_ in corpus.session_ids()] == ["test", "train"],
    ),
    row(
        "two columns that may be the chat's",
        "refused",
        table(
            "session_id conversation_id role text",
            ("s", 1, "user", "Hi"),
            ("s", 1, "bot", "Ho"),
            ("s", 2, "user", "Hi"),
        ),
        "not sure: conversation_id, session_id say different things.*-o id=conversation_id",
    ),
    row("a transcript", "refused", file("c.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nHi"), "import media"),
    row(
        "JSON Lines, an object a turn",
        "told",
        chats(*({"conversation_id": "k", **message, "csat": 4} for message in (ASK, ANSWER))),
        "id from 'conversation_id'",
        holds(SAID, 4, id_="k"),
    ),
    row(
        "a row a turn",
        "told",
        table("conversation_id turn role text csat", *TURNS),
        "id from 'conversation_id'.*speaker from 'role'",
        holds(SAID, 4, id_="c0"),
    ),
    row(
        "a row a turn, tabs",
        "told",
        table("conversation_id turn role text csat", *TURNS, name="c.tsv"),
        "read",
        holds(SAID, 4),
    ),
    row(
        "a row a turn, gzip",
        "told",
        table("conversation_id turn role text csat", *TURNS, name="c.csv.gz"),
        "read",
        holds(SAID, 4),
    ),
    row(
        "rows out of order",
        "told",
        table("chat_id turn role text score", *TURNS[::-1]),
        "sorted by 'turn'",
        holds(SAID, 4),
    ),
    row(
        "rows twice, scored otherwise",
        "refused",
        table("chat_id turn role text score", *TURNS, (*TURNS[1][:-1], 2)),
        "several values of 'score': 4, 2",
    ),
    row(
        "rows twice",
        "told",
        table("chat_id turn role text score", *TURNS, *TURNS),
        "2 repeat another",
        holds(SAID, 4),
    ),
    row(
        "chats between each other",
        "told",
        table(
            "chat_id role text score",
            ("a", "user", "Is it open?", 4),
            ("b", "user", "Hi", 2),
            ("a", "bot", "Until six.", 4),
        ),
        "read",
        holds(SAID, 4, id_="a"),
    ),
    row(
        "a score on one row",
        "told",
        table("chat_id role text score", ("a", "user", "Is it open?", ""), ("a", "bot", "Until six.", 3)),
        "read",
        holds(SAID, 3),
    ),
    row(
        "several scores in a chat",
        "refused",
        table("chat_id role text score", ("a", "user", "Hi", 1), ("a", "bot", "Hello", 3)),
        "several values of 'score': 1, 3",
    ),
    row(
        "no column of chats",
        "refused",
        table("role text score", ("user", "Hi", 1)),
        "no key 'id'.*Found the keys: role, text, score.*-o id=",
    ),
    row(
        "no column of speakers",
        "refused",
        table("chat_id text score", ("a", "Hi", 1), ("a", "Ho", 1)),
        "no key 'speaker'",
    ),
    row(
        "an id on the first row alone",
        "refused",
        table("chat_id role text score", ("a", "user", "Hi", 1), ("", "bot", "Ho", ""), ("a", "user", "x", "")),
        "line 3, column chat_id: empty",
    ),
    row(
        "more cells than columns",
        "refused",
        file("c.csv", "chat_id,role,text\na,user,Yes, please\n"),
        "line 2: 4 cells",
    ),
    row(
        "JSON in a cell",
        "told",
        table("session_id messages rating", ("s1", json.dumps([ASK, ANSWER]), 4)),
        "read",
        holds(SAID, 4, id_="s1"),
    ),
    row(
        "Python's list in a cell",
        "told",
        table("session_id messages rating", ("s1", str([ASK, ANSWER]), 4)),
        "read",
        holds(SAID, 4),
    ),
    row(
        "a cell that is neither",
        "refused",
        table("session_id messages rating", ("s1", "[{'role'", 4)),
        "column messages: not valid JSON",
    ),
    row(
        "Parquet, a row a chat",
        "told",
        parquet({"id": ["s1"], "messages": [[ASK, ANSWER]], "stars": [4.0]}),
        "read",
        holds(SAID, 4),
    ),
    row(
        "Parquet, a row a turn",
        "told",
        parquet(
            {"chat_id": [3.0, 3.0], "role": ["user", "bot"], "text": ["Is it open?", "Until six."], "score": [None, 5]}
        ),
        "read",
        holds(SAID, 5, id_="3"),
    ),
    row("damaged Parquet", "refused", file("c.parquet", b"PAR1 no more"), "not a readable table"),
    row("a spreadsheet", "refused", file("c.xlsx", b"PK\x03\x04xl"), "Save the sheet as CSV"),
    row("a pickle", "refused", file("c.pkl", b"\x80\x04K\x01."), "a pickle.*never opened"),
]


def observation(trace: str, asked: Any, said: Any, **more: Any) -> dict[str, Any]:
    call = {
        "id": f"o-{trace}",
        "trace_id": trace,
        "type": "GENERATION",
        "parent_observation_id": None,
        "session_id": "s1",
    }
    return call | {"start_time": f"2026-05-0{trace[-1]} 10:00:00.0", "input": asked, "output": said} | more


def langfuse(*calls: Any, scores: Sequence[Any] = (), options: Sequence[str] = SCALE) -> Write:
    """The folder that Langfuse exports."""

    def write(folder: Path) -> list[str]:
        for name, found in (("observations_v2", calls), ("scores", scores)):
            (folder / name).mkdir()
            (folder / name / "2026.jsonl").write_text(lines(found), encoding="utf-8")
        return ["chat", str(folder), *told(*options)]

    return write


def csat(value: Any, **about: Any) -> dict[str, Any]:
    return {"id": "r", "name": "csat", "value": value, "source": "API", "data_type": "NUMERIC", **about}


def run(id_: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    metadata = {"metadata": {"thread_id": "t1"}}
    return (
        {"id": id_, "trace_id": id_, "run_type": "chain", "session_id": "project", "extra": metadata, "inputs": inputs}
        | {"outputs": outputs, "start_time": f"2026-05-0{id_[-1]}T10:00:00"}
        | more
    )


def span(id_: str, *events: Any, **attributes: Any) -> dict[str, Any]:
    values = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    one = {"traceId": "t", "spanId": id_, "startTimeUnixNano": "1", "attributes": values, "events": list(events)}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


def otel(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


MORE = [("user", "And on Sunday?"), ("assistant", "Closed.")]
HISTORY = [ASK, ANSWER, {"role": "user", "content": "And on Sunday?"}]
LONG = {
    "gen_ai.conversation.id": "k1",
    "gen_ai.input.messages": json.dumps([otel("user", "Is it open?")]),
    "gen_ai.output.messages": json.dumps([otel("assistant", "Until six.")]),
}
RATED = {
    "name": "gen_ai.evaluation.result",
    "attributes": [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "csat"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 4}},
    ],
}
LANGCHAIN = {
    "messages": [[{"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "Is it open?"}}]]
}
GENERATED = {"generations": [[{"text": "Until six.", "message": {"type": "ai", "data": {"content": "Until six."}}}]]}
TRACES = [
    row(
        "Langfuse: the history comes again",
        "told",
        langfuse(
            observation("t1", [ASK], ANSWER),
            observation("t2", json.dumps({"messages": HISTORY}), "Closed."),
            scores=[csat(4, session_id="s1")],
        ),
        "traces of Langfuse",
        holds(SAID + MORE, 4, id_="s1"),
    ),
    row(
        "Langfuse: only what is new",
        "told",
        langfuse(
            observation("t2", HISTORY[-1:], "Closed."),
            observation("t1", [ASK], ANSWER),
            scores=[csat(4, session_id="s1")],
        ),
        "traces",
        holds(SAID + MORE, 4),
    ),
    row(
        "Langfuse: spans in spans",
        "told",
        langfuse(
            observation("t1", {"question": "Is it open?"}, {"answer": "Until six."}),
            observation(
                "t1",
                [{"role": "user", "content": "Classify: is it open"}],
                "hours",
                id="o2",
                parent_observation_id="o-t1",
            ),
            scores=[csat(4, trace_id="t1")],
        ),
        "1 calls inside other calls",
        holds(SAID, 4),
    ),
    row(
        "Langfuse: tool calls",
        "told",
        langfuse(
            observation("t1", [ASK, answer(content=None, tool_calls=[CALL]), {"role": "tool", "content": "6"}], ANSWER),
            options=(),
        ),
        "1 tool calls without text.*1 of the system",
        holds(SAID),
    ),
    row(
        "Langfuse: scores of several names",
        "refused",
        langfuse(
            observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="s1"), csat(0, session_id="s1", name="toxic")]
        ),
        "several names: csat, toxic.*-o score=csat",
    ),
    row(
        "Langfuse: a judge's score",
        "told",
        langfuse(observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="s1", source="EVAL")]),
        "traces",
        lambda corpus: next(iter(corpus.iter_sessions())).ratings[0].rater == "environment",
    ),
    row(
        "Langfuse: a score of one trace of two",
        "told",
        langfuse(
            observation("t1", [ASK], ANSWER), observation("t2", HISTORY, "Closed."), scores=[csat(2, trace_id="t1")]
        ),
        "traces",
        lambda corpus: corpus.tables["turn_labels"].column("turn").to_pylist() == [1],
    ),
    row(
        "Langfuse: a score of nothing",
        "refused",
        langfuse(observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="gone")]),
        "no chat has a score",
    ),
    row(
        "LangSmith: the project is no session",
        "told",
        chats(run("r1", {"messages": [ASK]}, {"output": "Until six."}, feedback_stats={"csat": {"n": 1, "avg": 4}})),
        "traces of LangSmith",
        holds(SAID, 4, id_="t1"),
    ),
    row(
        "LangSmith: a batch of chats in a run",
        "told",
        chats(run("r1", {"messages": [[ASK], [ASK, ANSWER]]}, {"output": "Until six."}), options=()),
        "2 of other chats of a batch",
        holds(SAID),
    ),
    row(
        "LangSmith: messages of LangChain",
        "told",
        chats(run("r1", LANGCHAIN, GENERATED), {"run_id": "r1", "key": "csat", "score": 3}),
        "traces",
        holds(SAID, 3),
    ),
    row(
        "OpenTelemetry: spans and an evaluation",
        "told",
        chats(span("a", RATED, **LONG)),
        "traces of OpenTelemetry",
        holds(SAID, 4, id_="k1"),
    ),
    row(
        "OpenInference: keys with numbers",
        "told",
        chats(
            {
                "name": "llm",
                "context": {"trace_id": "t", "span_id": "a"},
                "attributes": {
                    "session.id": "s9",
                    "llm.input_messages.0.message.role": "user",
                    "llm.input_messages.0.message.content": "Is it open?",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.content": "Until six.",
                },
            },
            options=(),
        ),
        "traces",
        holds(SAID, id_="s9"),
    ),
]
REFUSED = [
    row(fault, "refused", chats(*found, options=options), says)
    for fault, found, options, says in (
        ("a thumb that is none", [chat(score="maybe")], ("scale=thumbs",), "score = 'maybe': no thumb"),
        ("a scale twice", [chat()], (*SCALE, "scale=nps"), "give one of the two"),
        ("messages that are no list", [unscored(said="Hi")], ("messages=said",), "not valid JSON"),
        ("messages that are a number", [unscored(said=3)], ("messages=said",), "said = 3: a list of messages"),
        ("a score that no message has", [chat()], (*SCALE, "score=messages.stars"), "no message has it"),
        ("messages' scores without a scale", [chat(ANSWER | {"stars": 5})], ("score=messages.stars",), "have no scale"),
        ("a trace without words", [run("r1", {}, {})], (), "no call in it holds words"),
        (
            "a trace without such a score",
            [run("r1", {"messages": [ASK]}, "Six.")],
            ("score=csat",),
            "no score of this name",
        ),
        (
            "traces without a scale",
            [run("r1", {"messages": [ASK]}, "Six.", feedback_stats={"csat": {"avg": 4}})],
            (),
            "no scale",
        ),
        (
            "a trace of strange roles",
            [run("r1", {"messages": [{"role": "boss", "content": "x"}]}, "y")],
            (),
            "role 'boss'",
        ),
    )
]
MORE_TRACES = [
    row(
        "Langfuse: texts of a table in quotes",
        "told",
        table(
            "id timestamp sessionId userId input output",
            ("t", "2026-05-01", "s", "u", '"Is it open?"', '"Until six."'),
            options=(),
        ),
        "traces",
        holds(SAID),
    ),
    row(
        "Langfuse: two calls at one moment, the later one first",
        "told",
        langfuse(
            observation("t2", HISTORY, "Closed."),
            observation("t1", [ASK], ANSWER, start_time="2026-05-02 10:00:00.0"),
            options=(),
        ),
        "2 repeat",
        holds(SAID + MORE),
    ),
    row(
        "OpenTelemetry: two chats in one trace",
        "told",
        chats(span("a", **LONG), span("b", **LONG | {"gen_ai.conversation.id": "k2"}), options=()),
        "chats +2 +2",
        holds(SAID, id_="k1"),
    ),
    row(
        "OpenTelemetry: OpenLLMetry's name of a session",
        "told",
        chats(
            span("a", **LONG | {"gen_ai.conversation.id": "", "traceloop.association.properties.session_id": "s7"}),
            options=(),
        ),
        "traces",
        holds(SAID, id_="s7"),
    ),
    row(
        "Langfuse: no times",
        "told",
        langfuse(observation("t1", [ASK], ANSWER, start_time=None), observation("t2", HISTORY, "Closed."), options=()),
        "do not say when they began",
        holds(SAID + MORE),
    ),
    row(
        "Langfuse: an answer that was edited",
        "told",
        langfuse(
            observation("t1", [ASK], ANSWER),
            observation("t2", [ASK, {"role": "assistant", "content": "Until five."}, *HISTORY[2:]], "Closed."),
            options=(),
        ),
        "edited, .*: 1 chat .s1",
        holds([SAID[0], ("assistant", "Until five."), *MORE]),
    ),
    row(
        "Langfuse: one trace as the page saves it",
        "told",
        file(
            "trace.json",
            json.dumps(
                {
                    "trace": {"id": "t1", "sessionId": "s5", "input": [ASK], "output": ANSWER},
                    "observations": [{"id": "o", "traceId": "t1", "type": "SPAN", "input": "x", "output": "y"}],
                    "scores": [{"id": "r", "traceId": "t1", "name": "csat", "value": 2, "source": "API"}],
                },
                indent=1,
            ),
            *SCALE,
        ),
        "traces of Langfuse",
        holds(SAID, 2, id_="s5"),
    ),
    row(
        "Langfuse: two people who scored",
        "told",
        langfuse(
            observation("t1", [ASK], ANSWER),
            scores=[csat(4, session_id="s1", author_user_id="ann"), csat(2, session_id="s1", author_user_id="bob")],
        ),
        "traces",
        holds(SAID, 3),
    ),
    row(
        "Langfuse: a score in words",
        "told",
        langfuse(
            observation("t1", [ASK], ANSWER),
            scores=[csat(None, session_id="s1", string_value="thumbs_up")],
            options=("scale=thumbs",),
        ),
        "traces",
        holds(SAID, 1),
    ),
    row(
        "LangSmith: runs in a run",
        "told",
        chats(
            run(
                "r1",
                {"messages": [ASK]},
                {"messages": [ASK, ANSWER]},
                child_runs=[{"id": "c1", "run_type": "llm", "inputs": {"messages": [ASK]}, "outputs": "Hm."}],
            ),
            {"run_id": "r1", "key": "csat", "score": 4, "session_id": "project"},
        ),
        "1 calls inside other calls",
        holds(SAID, 4),
    ),
    row(
        "LangSmith: runs in a run that are no list",
        "recovered",
        chats(run("r1", {"messages": [ASK]}, {"output": "Until six."}, child_runs=3), options=()),
        "",
        holds(SAID, id_="t1"),
    ),
    row(
        "LangSmith: Parquet",
        "told",
        parquet(
            {
                "id": ["r1"],
                "trace_id": ["r1"],
                "run_type": ["chain"],
                "inputs": [json.dumps({"messages": [ASK]})],
                "outputs": [json.dumps({"output": "Until six."})],
                "extra": [json.dumps({"metadata": {"conversation_id": "k2"}})],
            },
            options=(),
        ),
        "traces of LangSmith",
        holds(SAID, id_="k2"),
    ),
]
ROWS = [*MESSAGES, *KEYS, *SCALES, *TABLES, *TRACES, *MORE_TRACES, *REFUSED]
