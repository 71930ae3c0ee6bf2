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
from tests.corpus.strangers.row import Row

SCALE = ("low=1", "high=5")
Write = Callable[[Path], list[str]]
Look = Callable[[Corpus], bool]
Said = tuple[str, str]
ASK, ANSWER = {"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Until six."}
SAID = [("user", "Is it open?"), ("assistant", "Until six.")]


def given(*options: str) -> list[str]:
    return [word for option in options for word in ("-o", option)]


def file(name: str, content: str | bytes, *options: str) -> Write:
    """A file of these bytes, or of this text."""

    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return ["chat", str(folder / name), *given(*options)]

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
        return ["chat", str(folder / "chats.parquet"), *given(*options)]

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
        return ["chat", str(folder), *given(*SCALE)]

    return write


def holds(said: Sequence[Said] = SAID, *scores: float, id_: str | None = None) -> Look:
    """The first session says this, and has these scores."""

    def look(corpus: Corpus) -> bool:
        session = next(iter(corpus.iter_sessions()))
        spoken = [(turn.speaker, turn.text) for turn in session.turns]
        found = [rating.score for rating in session.ratings]
        return spoken == list(said) and found == list(scores) and id_ in (None, session.session_id)

    return look


def recovered(fault: str, write: Write, look: Look, says: str = "") -> Row:
    return Row("chats", fault, "recovered", write, says, look)


def told(fault: str, write: Write, says: str, look: Look | None = None) -> Row:
    return Row("chats", fault, "told", write, says, look)


def refused(fault: str, write: Write, says: str) -> Row:
    return Row("chats", fault, "refused", write, says)


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
    told("ChatGPT's export, in which an answer was made again",
        chats({"conversation_id": "k", "current_node": "c", "mapping": TREE}, options=()),
        "1 in other versions of an edited chat", holds(SAID, id_="k")),
    recovered("a refusal", chats(chat(ASK, answer(content=None, refusal="I will not."))),
        holds([SAID[0], ("assistant", "I will not.")], 4)),
    recovered("a refusal as a part", chats(chat(ASK, answer(content=[{"type": "refusal", "refusal": "No."}]))),
        holds([SAID[0], ("assistant", "No.")], 4)),
    recovered(
        "input_text and output_text",
        chats(
            chat(
                {"role": "user", "content": [{"type": "input_text", "text": "Is it open?"}]},
                answer(content=[{"type": "output_text", "text": "Until six."}]),
            )
        ),
        holds(SAID, 4),
    ),
    told("an empty turn beside a tool call", chats(chat(ASK, answer(content="", tool_calls=[CALL]), ANSWER)),
        "1 tool calls without text", holds(SAID, 4)),
    told("an empty turn before what a tool said",
        chats(chat(ASK, answer(content=""), {"role": "tool", "content": "6"}, ANSWER)),
        "1 blank before a tool's answer", holds(SAID, 4)),
    told("a turn of blanks", chats(chat(ASK, answer(content="  "), ANSWER)), "blank messages, .*: 1",
        holds([SAID[0], ("assistant", "  "), SAID[1]], 4)),
    told("unknown parts are named", chats(chat({"role": "user", "content": PARTS}, ANSWER)),
        "1 input_audio .*1 video_url", holds([("user", "Is"), SAID[1]], 4)),
    told("parts of more types than anybody reads",
        chats(chat(ASK, answer(content=[{"type": f"t{n}"} for n in range(40)]), ANSWER)),
        "1 t0 and t1 and t10 and t11 and 36 more without text.*1 t7 .*and 23 more", holds(SAID, 4)),
    told("reasoning beside the answer", chats(chat(ASK, answer(content="Until six.", reasoning_content="Hm."))),
        "1 reasoning", holds(SAID, 4)),
    told("reasoning in the answer", chats(chat(ASK, answer(content="<think>Hm.</think>\nUntil six."))),
        "1 reasoning, which nobody heard", holds(SAID, 4)),
    told("reasoning of which the template wrote the begin",
        chats(chat(ASK, answer(content="Hm, six.\n</think>\n\nUntil six."))), "3 reasoning, which nobody heard",
        holds(SAID, 4)),
    told("reasoning that was cut off", chats(chat(ASK, ANSWER, ASK, answer(content="<think>Hm, six"))),
        "3 reasoning, which nobody heard|1 reasoning without text", holds([*SAID, SAID[0]], 4)),
    told(
        "a part of thinking",
        chats(
            chat(ASK, answer(content=[{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Until six."}]))
        ),
        "1 reasoning",
        holds(SAID, 4),
    ),
    recovered("a spoken answer with its transcript",
        chats(chat(ASK, answer(content=None, audio={"id": "a", "transcript": "Until six."}))), holds(SAID, 4)),
    told("items of a newer list without a role",
        chats(chat(ASK, {"type": "function_call", "name": "hours"}, {"type": "reasoning", "summary": []}, ANSWER)),
        "2 of the system, tools", holds(SAID, 4)),
    recovered("messages and conversations say the same",
        chats(chat(conversations=[{"from": "human", "value": "Is it open?"}, {"from": "gpt", "value": "Until six."}])),
        holds(SAID, 4)),
    refused("messages and conversations differ", chats(chat(conversations=[{"from": "human", "value": "Hi"}])),
        "say different things.*-o messages="),
    recovered("conversations with role and content", chats({"conversations": [ASK, ANSWER], "score": 4}),
        holds(SAID, 4)),
    recovered("roles in capitals",
        chats(chat({"role": "User", "content": "Is it open?"}, {"role": "Assistant", "content": "Until six."})),
        holds(SAID, 4)),
    refused("a bot and an agent",
        chats(chat(ASK, {"role": "bot", "content": "Wait."}, {"role": "agent", "content": "Yes."})),
        "agent and bot speak. Say who is rated: -o target="),
    recovered(
        "roles that an option names",
        chats(
            chat({"role": "guest", "content": "Is it open?"}, {"role": "host", "content": "Until six."}),
            options=(*SCALE, "rater=guest", "target=host"),
        ),
        holds(SAID, 4),
    ),
    refused("a text under a key of its own", chats(chat({"role": "user", "words": "Hi"})),
        "Found the keys: role, words.*-o text="),
    recovered(
        "the same, mapped",
        chats(
            chat({"who": "user", "words": "Is it open?"}, {"who": "bot", "words": "Until six."}),
            options=(*SCALE, "text=words", "speaker=who"),
        ),
        holds(SAID, 4),
    ),
    recovered("one chat over many lines", file("chat.json", json.dumps(chat(), indent=1), *SCALE), holds(SAID, 4)),
    recovered("chats in an object", file("chats.json", json.dumps({"data": [chat()]}, indent=1), *SCALE),
        holds(SAID, 4)),
    told("two lists of chats in an object",
        file("chats.json", json.dumps({"data": [chat()], "held_out": [chat(), chat()]}), *SCALE),
        "2 in other lists than 'data' .held_out", holds(SAID, 4)),
    recovered("messages as a JSON text", chats({"messages": json.dumps([ASK, ANSWER]), "score": 4}), holds(SAID, 4)),
]  # fmt: skip
KEYS = [
    refused("a score of a name that nobody knows", chats(unscored(verdict=2), unscored(verdict=5), unscored(verdict=2)),
        "no chat has a score.*On the scale lies what is in verdict"),
    told("a thumb on a message", chats(chat(ASK, ANSWER | {"rating": 1})), "1 'rating' of a message: see -o score",
        holds(SAID, 4)),
    recovered(
        "the same, named by an option",
        chats(
            unscored(),
            {"messages": [{"role": "system", "content": "Hm.", "rating": 2}, ASK, ANSWER | {"rating": 5}]},
            options=(*SCALE, "score=messages.rating"),
        ),
        lambda corpus: (
            [(one["turn"], one["value"], one["name"]) for one in corpus.tables["turn_labels"].to_pylist()]
            == [(1, 5.0, "rating")]
        ),
        says="1 of messages that are no turns",
    ),
    told("csat and session_id", chats(unscored(session_id="s7", csat=2)), "read from 'csat'.*id from 'session_id'",
        holds(SAID, 2, id_="s7")),
    told("a score inside metadata", chats(unscored(metadata={"csat": 3})), "read from 'metadata.csat'", holds(SAID, 3)),
    refused("two scores", chats(unscored(csat=3, nps=9)), "not sure: csat, nps.*Found the keys.*-o score=csat"),
    recovered("two scores, one chosen", chats(unscored(csat=3, nps=9), options=(*SCALE, "score=csat")), holds(SAID, 3)),
    refused("a score that is a model's", chats(unscored(toxicity_score=0.1)), "toxicity_score.*-o score=none"),
    refused("no score at all beside a scale", chats(unscored(topic="hours")),
        "no chat has a score. Found the keys: messages, topic"),
    refused("feedback in words", chats(unscored(feedback="great help")), "no chat has a score"),
    refused("an option with a slip", chats(unscored(csat=3), options=(*SCALE, "score=cast")), "did you mean 'csat'"),
    told("some chats without a score", chats(chat(), unscored()), "unrated chats, .*: 1 of 2", holds(SAID, 4)),
    told("keys that nobody reads", chats(chat(topic="hours")), "keys that were not read: topic", holds(SAID, 4)),
    recovered("a customer's name beside csat", chats(unscored(name="Ann", csat=2)),
        lambda corpus: next(iter(corpus.iter_sessions())).ratings[0].name == "csat"),
    refused("scores without a scale", chats(unscored(csat=2), unscored(csat=5), options=()),
        "the scores of .csat. have no scale. They lie from 2 to 5"),
]  # fmt: skip
SCALES = [
    recovered(f"{value!r} on {scale}", chats(unscored(rating=value), options=(f"scale={scale}",)), holds(SAID, score))
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
    refused(fault, chats(*(unscored(rating=value) for value in values), options=(f"scale={scale}",)), says)
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
    refused("a score whose point may stand between thousands",
        file("c.csv", "chat_id;role;text;csat\na;user;Is it open?;4\na;assistant;Until six.;1.234\n", *SCALE),
        "c.csv, line 3, column csat: '1.234'.*Write 5.0 or 5000"),
    refused("ids that pandas has made floats",
        parquet({"chat_id": [2.0**60] * 2, "role": ["user", "bot"], "text": ["Hi", "Ho"], "csat": [4, 4]}),
        "row 1, column chat_id: .*several chats may have one id"),
    refused("a column twice in Parquet", parquet([("id", [1]), ("id", [2])]), "column 'id' is there twice"),
    refused("a cell of Python that is no list", table("session_id messages rating", ("s1", "[{1, 2}]", 4)),
        "column messages: not valid JSON"),
    recovered("columns, as pandas writes JSON",
        file("df.json", json.dumps({"messages": {"0": [ASK, ANSWER]}, "score": {"0": 4}}), *SCALE), holds(SAID, 4)),
    told("a data set that was saved", dataset({"messages": [[ASK, ANSWER]], "csat": [3]}), "csat",
        lambda corpus: [id_.partition("-")[0] for id_ in corpus.session_ids()] == ["test", "train"]),
    refused(
        "two columns that may be the chat's",
        table(
            "session_id conversation_id role text",
            ("s", 1, "user", "Hi"),
            ("s", 1, "bot", "Ho"),
            ("s", 2, "user", "Hi"),
        ),
        "not sure: conversation_id, session_id say different things.*-o id=conversation_id",
    ),
    refused("a transcript", file("c.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nHi"), "import media"),
    told("JSON Lines, an object a turn",
        chats(*({"conversation_id": "k", **message, "csat": 4} for message in (ASK, ANSWER))),
        "id from 'conversation_id'", holds(SAID, 4, id_="k")),
    told("a row a turn", table("conversation_id turn role text csat", *TURNS),
        "id from 'conversation_id'.*speaker from 'role'", holds(SAID, 4, id_="c0")),
    told("a row a turn, tabs", table("conversation_id turn role text csat", *TURNS, name="c.tsv"), "read",
        holds(SAID, 4)),
    told("a row a turn, gzip", table("conversation_id turn role text csat", *TURNS, name="c.csv.gz"), "read",
        holds(SAID, 4)),
    told("rows out of order", table("chat_id turn role text score", *TURNS[::-1]), "sorted by 'turn'", holds(SAID, 4)),
    refused("rows twice, scored otherwise", table("chat_id turn role text score", *TURNS, (*TURNS[1][:-1], 2)),
        "several values of 'score': 4, 2"),
    told("rows twice", table("chat_id turn role text score", *TURNS, *TURNS), "2 repeat another", holds(SAID, 4)),
    told(
        "chats between each other",
        table(
            "chat_id role text score",
            ("a", "user", "Is it open?", 4),
            ("b", "user", "Hi", 2),
            ("a", "bot", "Until six.", 4),
        ),
        "read",
        holds(SAID, 4, id_="a"),
    ),
    told("a score on one row",
        table("chat_id role text score", ("a", "user", "Is it open?", ""), ("a", "bot", "Until six.", 3)), "read",
        holds(SAID, 3)),
    refused("several scores in a chat",
        table("chat_id role text score", ("a", "user", "Hi", 1), ("a", "bot", "Hello", 3)),
        "several values of 'score': 1, 3"),
    refused("no column of chats", table("role text score", ("user", "Hi", 1)),
        "no key 'id'.*Found the keys: role, text, score.*-o id="),
    refused("no column of speakers", table("chat_id text score", ("a", "Hi", 1), ("a", "Ho", 1)), "no key 'speaker'"),
    refused("an id on the first row alone",
        table("chat_id role text score", ("a", "user", "Hi", 1), ("", "bot", "Ho", ""), ("a", "user", "x", "")),
        "line 3, column chat_id: empty"),
    refused("more cells than columns", file("c.csv", "chat_id,role,text\na,user,Yes, please\n"), "line 2: 4 cells"),
    told("JSON in a cell", table("session_id messages rating", ("s1", json.dumps([ASK, ANSWER]), 4)), "read",
        holds(SAID, 4, id_="s1")),
    told("Python's list in a cell", table("session_id messages rating", ("s1", str([ASK, ANSWER]), 4)), "read",
        holds(SAID, 4)),
    refused("a cell that is neither", table("session_id messages rating", ("s1", "[{'role'", 4)),
        "column messages: not valid JSON"),
    told("Parquet, a row a chat", parquet({"id": ["s1"], "messages": [[ASK, ANSWER]], "stars": [4.0]}), "read",
        holds(SAID, 4)),
    told(
        "Parquet, a row a turn",
        parquet(
            {"chat_id": [3.0, 3.0], "role": ["user", "bot"], "text": ["Is it open?", "Until six."], "score": [None, 5]}
        ),
        "read",
        holds(SAID, 5, id_="3"),
    ),
    refused("damaged Parquet", file("c.parquet", b"PAR1 no more"), "not a readable Parquet file"),
    refused("a spreadsheet", file("c.xlsx", b"PK\x03\x04xl"), "Save the sheet as CSV"),
    refused("a pickle", file("c.pkl", b"\x80\x04K\x01."), "a pickle.*never opened"),
]  # fmt: skip


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
        return ["chat", str(folder), *given(*options)]

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
    told(
        "Langfuse: the history comes again",
        langfuse(
            observation("t1", [ASK], ANSWER),
            observation("t2", json.dumps({"messages": HISTORY}), "Closed."),
            scores=[csat(4, session_id="s1")],
        ),
        "traces of Langfuse",
        holds(SAID + MORE, 4, id_="s1"),
    ),
    told(
        "Langfuse: only what is new",
        langfuse(
            observation("t2", HISTORY[-1:], "Closed."),
            observation("t1", [ASK], ANSWER),
            scores=[csat(4, session_id="s1")],
        ),
        "traces",
        holds(SAID + MORE, 4),
    ),
    told(
        "Langfuse: spans in spans",
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
    told(
        "Langfuse: tool calls",
        langfuse(
            observation("t1", [ASK, answer(content=None, tool_calls=[CALL]), {"role": "tool", "content": "6"}], ANSWER),
            options=(),
        ),
        "1 tool calls without text.*1 of the system",
        holds(SAID),
    ),
    refused(
        "Langfuse: scores of several names",
        langfuse(
            observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="s1"), csat(0, session_id="s1", name="toxic")]
        ),
        "several names: csat, toxic.*-o score=csat",
    ),
    told("Langfuse: a judge's score",
        langfuse(observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="s1", source="EVAL")]), "traces",
        lambda corpus: next(iter(corpus.iter_sessions())).ratings[0].rater == "environment"),
    told(
        "Langfuse: a score of one trace of two",
        langfuse(
            observation("t1", [ASK], ANSWER), observation("t2", HISTORY, "Closed."), scores=[csat(2, trace_id="t1")]
        ),
        "traces",
        lambda corpus: corpus.tables["turn_labels"].column("turn").to_pylist() == [1],
    ),
    refused("Langfuse: a score of nothing",
        langfuse(observation("t1", [ASK], ANSWER), scores=[csat(4, session_id="gone")]), "no chat has a score"),
    told("LangSmith: the project is no session",
        chats(run("r1", {"messages": [ASK]}, {"output": "Until six."}, feedback_stats={"csat": {"n": 1, "avg": 4}})),
        "traces of LangSmith", holds(SAID, 4, id_="t1")),
    told("LangSmith: a batch of chats in a run",
        chats(run("r1", {"messages": [[ASK], [ASK, ANSWER]]}, {"output": "Until six."}), options=()),
        "2 of other chats of a batch", holds(SAID)),
    told("LangSmith: messages of LangChain",
        chats(run("r1", LANGCHAIN, GENERATED), {"run_id": "r1", "key": "csat", "score": 3}), "traces", holds(SAID, 3)),
    told("OpenTelemetry: spans and an evaluation", chats(span("a", RATED, **LONG)), "traces of OpenTelemetry",
        holds(SAID, 4, id_="k1")),
    told(
        "OpenInference: keys with numbers",
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
]  # fmt: skip
REFUSED = [
    refused(fault, chats(*found, options=options), says)
    for fault, found, options, says in (
        ("a thumb that is none", [chat(score="maybe")], ("scale=thumbs",), "score = 'maybe': no thumb"),
        ("a scale twice", [chat()], (*SCALE, "scale=nps"), "give one of the two"),
        ("messages that are no list", [unscored(said="Hi")], ("messages=said",), "not valid JSON"),
        ("messages that are a number", [unscored(said=3)], ("messages=said",), "said = 3: a list of messages"),
        ("a score that no message has", [chat()], (*SCALE, "score=messages.stars"), "no message has it"),
        ("messages' scores without a scale", [chat(ANSWER | {"stars": 5})], ("score=messages.stars",), "have no scale"),
        ("a trace without words", [run("r1", {}, {})], (), "no call in it holds words"),
        ("a trace without such a score", [run("r1", {"messages": [ASK]}, "Six.")], ("score=csat",),
         "no score of this name"),
        ("traces without a scale", [run("r1", {"messages": [ASK]}, "Six.", feedback_stats={"csat": {"avg": 4}})], (),
         "no scale"),
        ("a trace of strange roles", [run("r1", {"messages": [{"role": "boss", "content": "x"}]}, "y")], (),
         "role 'boss'"),
    )
]  # fmt: skip
MORE_TRACES = [
    told(
        "Langfuse: texts of a table in quotes",
        table(
            "id timestamp sessionId userId input output",
            ("t", "2026-05-01", "s", "u", '"Is it open?"', '"Until six."'),
            options=(),
        ),
        "traces",
        holds(SAID),
    ),
    told(
        "Langfuse: two calls at one moment, the later one first",
        langfuse(
            observation("t2", HISTORY, "Closed."),
            observation("t1", [ASK], ANSWER, start_time="2026-05-02 10:00:00.0"),
            options=(),
        ),
        "2 repeat",
        holds(SAID + MORE),
    ),
    told("OpenTelemetry: two chats in one trace",
        chats(span("a", **LONG), span("b", **LONG | {"gen_ai.conversation.id": "k2"}), options=()), "chats +2 +2",
        holds(SAID, id_="k1")),
    told(
        "OpenTelemetry: OpenLLMetry's name of a session",
        chats(
            span("a", **LONG | {"gen_ai.conversation.id": "", "traceloop.association.properties.session_id": "s7"}),
            options=(),
        ),
        "traces",
        holds(SAID, id_="s7"),
    ),
    told("Langfuse: no times",
        langfuse(observation("t1", [ASK], ANSWER, start_time=None), observation("t2", HISTORY, "Closed."), options=()),
        "do not say when they began", holds(SAID + MORE)),
    told(
        "Langfuse: an answer that was edited",
        langfuse(
            observation("t1", [ASK], ANSWER),
            observation("t2", [ASK, {"role": "assistant", "content": "Until five."}, *HISTORY[2:]], "Closed."),
            options=(),
        ),
        "edited, .*: 1 chat .s1",
        holds([SAID[0], ("assistant", "Until five."), *MORE]),
    ),
    told(
        "Langfuse: one trace as the page saves it",
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
    told(
        "Langfuse: two people who scored",
        langfuse(
            observation("t1", [ASK], ANSWER),
            scores=[csat(4, session_id="s1", author_user_id="ann"), csat(2, session_id="s1", author_user_id="bob")],
        ),
        "traces",
        holds(SAID, 3),
    ),
    told(
        "Langfuse: a score in words",
        langfuse(
            observation("t1", [ASK], ANSWER),
            scores=[csat(None, session_id="s1", string_value="thumbs_up")],
            options=("scale=thumbs",),
        ),
        "traces",
        holds(SAID, 1),
    ),
    told(
        "LangSmith: runs in a run",
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
    recovered("LangSmith: runs in a run that are no list",
        chats(run("r1", {"messages": [ASK]}, {"output": "Until six."}, child_runs=3), options=()),
        holds(SAID, id_="t1")),
    told(
        "LangSmith: Parquet",
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
]  # fmt: skip
ROWS = [*MESSAGES, *KEYS, *SCALES, *TABLES, *TRACES, *MORE_TRACES, *REFUSED]
