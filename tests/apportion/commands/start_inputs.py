"""Files of people who have just come: eight small ones, and how `apportion start` is called on each."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.importers.recorded import mp4

SAID = (
    (2, "My lamp flickers.", "Please rephrase.", "That is no help at all."),
    (5, "Where is my parcel?", "It comes on Monday, between nine and noon.", "Great, thank you so much!"),
    (4, "Can I change my address?", "Yes. I have sent you the form.", "Thanks, found it."),
    (1, "You charged me twice.", "I do not know.", "This is annoying, I want my money back."),
)
VTT = """WEBVTT

00:00.000 --> 00:01.000
<v alice>I am sorry about last week.

00:01.000 --> 00:01.500
<v bob>Thank you, that means a lot to me.

00:01.500 --> 00:02.000
<v alice>Great!
"""


def messages(said: tuple) -> list[dict]:
    _, first, answer, last = said
    return [{"role": role, "content": text} for role, text in (("user", first), ("assistant", answer), ("user", last))]


def openai(folder: Path, many: int = 4) -> None:
    rows = [{"messages": messages(said), "score": said[0], "low": 1, "high": 5} for said in SAID[:many]]
    (folder / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def sharegpt(folder: Path) -> None:
    names = {"user": "human", "assistant": "gpt"}
    rows = [
        {"conversations": [{"from": names[one["role"]], "value": one["content"]} for one in messages(said)]}
        for said in SAID
    ]
    (folder / "sharegpt.json").write_text(json.dumps(rows))


def turns(folder: Path) -> None:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(("session_id", "role", "text", "csat"))
    for number, said in enumerate(SAID):
        table.writerows((f"c{number}", one["role"], one["content"], said[0]) for one in messages(said))
    (folder / "turns.csv").write_text(text.getvalue())


def parquet(folder: Path) -> None:
    columns = {"chat_id": list("abcd"), "messages": list(map(messages, SAID)), "thumbs": ["down", "up", "up", "down"]}
    pq.write_table(pa.table(columns), folder / "chats.parquet")


def films(folder: Path) -> None:
    (folder / "talk").mkdir()
    for name in ("alice", "bob"):
        mp4(folder / "talk" / f"{name}.mp4", channels=1)
    (folder / "talk" / "talk.vtt").write_text(VTT)


def langfuse(folder: Path) -> None:
    calls, scores = [], []
    for number, said in enumerate(SAID):
        first, answer, last = messages(said)
        told = [(f"t{number}", [first], answer["content"]), (f"u{number}", [first, answer, last], "You are welcome.")]
        for place, (trace, asked, answered) in enumerate(told):
            calls.append(
                {"id": f"o-{trace}", "trace_id": trace, "type": "GENERATION", "parent_observation_id": None}
                | {"session_id": f"s{number}", "start_time": f"2026-05-01 10:0{place}:00.0"}
                | {"input": asked, "output": answered}
            )
        scores.append({"id": f"r{number}", "name": "csat", "value": said[0], "session_id": f"s{number}"})
    for name, rows in (("observations_v2", calls), ("scores", scores)):
        (folder / "export" / name).mkdir(parents=True)
        (folder / "export" / name / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def empty(folder: Path) -> None:
    (folder / "empty").mkdir()


def pdf(folder: Path) -> None:
    (folder / "chats.pdf").write_bytes(b"%PDF-1.7\n")


INPUTS: dict[str, Callable[[Path], None]] = {
    "chats.jsonl": openai,
    "sharegpt.json": sharegpt,
    "turns.csv": turns,
    "chats.parquet": parquet,
    "talk": films,
    "export": langfuse,
    "empty": empty,
    "chats.pdf": pdf,
}
"""By the name of what is written: who writes it into a folder."""
