"""A small good source of every kind of import, and the command that imports it."""

import gzip
import io
import json
import wave
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.corpus import Corpus
from tests.behaviour.small import write_small_corpus
from tests.corpus.strangers.test_rows import ROWS
from tests.corpus.strangers.trust_rows import LARGE
from tests.fuzz.mutations import Files

IDS = ("0020a0c5-1658-4747-99c1-2839e736b481", "a" * 24, "b" * 24)
SCALE = ("-o", "low=1", "-o", "high=5")


@dataclass(frozen=True)
class Seed:
    """A source and what is said to `apportion` about it: SOURCE and OUT stand for the two folders or files."""

    name: str
    files: Files
    commands: tuple[tuple[str, ...], ...]


def importing(kind: str, source: str, *options: str) -> tuple[tuple[str, ...], ...]:
    """Import ``source``, then look at what came of it."""
    return (("import", kind, f"SOURCE/{source}".rstrip("/"), "OUT", *options), ("inspect", "OUT"))


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def lines(*values: Any) -> bytes:
    return b"".join(dumped(value) + b"\n" for value in values)


def chat() -> list[Seed]:
    openai = [
        {
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": [{"type": "text", "text": "an answer"}]},
                {"role": "user", "content": "thanks"},
            ],
            "score": 1 + number,
            "id": f"c{number}",
        }
        for number in range(4)
    ]
    sharegpt = [
        {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}], "score": number}
        | {"name": "csat", "low": 0, "high": 5}
        for number in range(3)
    ]
    return [
        Seed("chat-lines", {"a.jsonl": lines(*openai)}, importing("chat", "a.jsonl", *SCALE)),
        Seed("chat-array", {"a.json": dumped(sharegpt)}, importing("chat", "a.json")),
        Seed(
            "chat-folder",
            {"a.jsonl.gz": gzip.compress(lines(*openai), mtime=0), "b.json": dumped(sharegpt)},
            importing("chat", "", *SCALE),
        ),
    ]


def uss() -> list[Seed]:
    text = (
        "USER\tI want a train\tINFORM\t3,3,2\nSYSTEM\tWhere to?\tREQUEST\t\nUSER\tOslo\tINFORM\t4,3,3\n"
        "SYSTEM\tBooked.\tINFORM\t\nUSER\tOVERALL\t\t4,4,3\n\nUSER\tHi\t\t2\nSYSTEM\tHello\t\t\nUSER\tOVERALL\t\t5\n"
    )
    return [
        Seed("uss", {"SGD.txt": text.encode()}, importing("uss", "SGD.txt")),
        Seed(
            "uss-folder",
            {"ReDial.txt": text.encode(), "JDDC.txt.gz": gzip.compress(text.encode(), mtime=0)},
            importing("uss", ""),
        ),
    ]


def conture() -> list[Seed]:
    dialogs = [
        {
            "dialog_id": number,
            "turns": [{"user": "User: hi", "chatbot": "Chatbot: hello", "overall impression": 2}] * 2,
            "dialog_ratings": [{"human (overall)": 4, "consistent": 1, "likeable": "N/A"}] * 2,
        }
        for number in range(3)
    ]
    return [Seed("conture", {"data.json": dumped(dialogs)}, importing("conture", "data.json"))]


def esconv() -> list[Seed]:
    survey = {"seeker": {"empathy": "5", "relevance": "4", "final_emotion_intensity": "2"}, "supporter": {}}
    split = {
        "survey_score": survey,
        "dialog": [{"text": "Hello", "speaker": "usr"}, {"text": "Hi", "speaker": "sys", "strategy": "Question"}],
    }
    release = {
        "survey_score": survey,
        "dialog": [
            {"speaker": "seeker", "annotation": {}, "content": "sad"},
            {"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "why?"},
            {"speaker": "seeker", "annotation": {"feedback": "4"}, "content": "job"},
        ],
    }
    return [
        Seed("esconv-lines", {"train.jsonl": lines(*[split] * 3)}, importing("esconv", "train.jsonl")),
        Seed("esconv-array", {"ESConv.json": dumped([release] * 3)}, importing("esconv", "ESConv.json")),
    ]


def convokit() -> list[Seed]:
    said = [
        {
            "id": f"{talk}{turn}",
            "conversation_id": f"{talk}0",
            "text": f"turn {turn}",
            "speaker": "uv"[turn % 2],
            "meta": {"stop": turn + 1.0, "good": turn},
            "reply-to": None if turn == 0 else f"{talk}{turn - 1}",
            "timestamp": None if talk == "a" else float(turn),
            "vectors": [],
        }
        for talk in "abc"
        for turn in range(3)
    ]
    talks = {f"{talk}0": {"meta": {"stars": {"u": 2, "v": 4} if talk == "c" else 3}, "vectors": []} for talk in "abc"}
    people = {"u": {"meta": {"role": "user"}, "vectors": []}, "v": {"meta": {"role": "bot"}, "vectors": []}}
    new = {
        "utterances.jsonl": lines(*said),
        "conversations.json": dumped(talks),
        "speakers.json": dumped(people),
        "index.json": b"{}",
    }
    old_said = [{"id": row["id"], "root": row["conversation_id"], "user": row["speaker"], "text": "x"} for row in said]
    old = {
        "utterances.json": dumped(old_said),
        "conversations.json": dumped({id_: value["meta"] for id_, value in talks.items()}),
        "users.json": dumped({name: value["meta"] for name, value in people.items()}),
    }
    options = ("-o", "score=stars", *SCALE)
    return [
        Seed("convokit", new, importing("convokit", "", *options, "-o", "label=good", "-o", "rater=user")),
        Seed("convokit-old", old, importing("convokit", "", *options)),
    ]


def soda() -> list[Seed]:
    rows = [{"dialogue": ["Hi.", "Hello!", "Bye."], "speakers": ["Ann", "Bob", "Ann"], "head": "x"}] * 3
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return [
        Seed("soda-lines", {"train.jsonl": lines(*rows)}, importing("soda", "train.jsonl")),
        Seed("soda-parquet", {"train.parquet": sink.getvalue().to_pybytes()}, importing("soda", "train.parquet")),
    ]


def negotiations() -> list[Seed]:
    def person(*wanted: str, points: int) -> dict[str, Any]:
        wants = dict(zip(("High", "Medium", "Low"), wanted, strict=True))
        answers = {"points_scored": points, "satisfaction": "Undecided", "opponent_likeness": "Slightly like"}
        own = {"demographics": {"age": 36}, "personality": {"svo": "prosocial", "big-five": {"openness": 1.5}}}
        return {"value2issue": wants, "value2reason": wants, "outcomes": answers, **own}

    deal = {"issue2youget": {"Food": "3", "Water": "1", "Firewood": "0"}}
    deal["issue2theyget"] = {"Food": "0", "Water": "2", "Firewood": "3"}
    said = [("a", "Hi!", {}), ("b", "Take it.", {}), ("a", "Submit-Deal", deal), ("b", "Accept-Deal", {})]
    dialogues = [
        {
            "dialogue_id": number,
            "chat_logs": [{"id": who, "text": text, "task_data": data} for who, text, data in said],
            "participant_info": {
                "a": person("Food", "Water", "Firewood", points=19),
                "b": person("Firewood", "Water", "Food", points=23),
            },
        }
        for number in range(3)
    ]
    row = "1 0 4 2 1 2 YOU: hats {} <eos> THEM: deal <eos> YOU: <selection> "
    row += "item0=0 item1=4 item2=0 <eos> reward=8 agree 1 4 4 1 1 2\n"
    rows = "".join(row.format(number) for number in range(3)).encode()
    return [
        Seed("casino", {"casino.json": dumped(dialogues)}, importing("casino", "casino.json")),
        Seed("dealornodeal", {"data.txt": rows}, importing("dealornodeal", "")),
    ]


VTT = "WEBVTT\n\n00:00.000 --> 00:00.100\n<v Alice>Hello there.\n\n00:00.120 --> 00:00.300\n<v Bob>Hi, <i>Alice</i>.\n"
SRT = "1\n00:00:00,000 --> 00:00:00,100\nAlice: Hello.\n\n2\n00:00:00,120 --> 00:00:00,300\nBob: Hi.\n"
TABLE = "speaker,start,stop,utterance\nAlice,0.0,0.1,Hello\nBob,0.12,0.3,Hi\n"
WHISPERX = {
    "segments": [
        {"speaker": "Alice", "start": 0.0, "end": 0.1, "text": "Hello", "words": [{"word": "Hello"}]},
        {"speaker": "Bob", "start": 0.12, "end": 0.3, "text": "Hi"},
        {"start": 0.3, "end": 0.31, "text": "?"},
    ]
}
TEXTGRID = (
    'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 0.3\ntiers? <exists>\nsize = 1\nitem []:\n'
    '    item [1]:\n        class = "IntervalTier"\n        name = "Alice"\n        xmin = 0\n        xmax = 0.3\n'
    "        intervals: size = 2\n        intervals [1]:\n            xmin = 0\n            xmax = 0.1\n"
    '            text = "Hello"\n        intervals [2]:\n            xmin = 0.1\n            xmax = 0.3\n'
    '            text = ""\n'
)
RATINGS = (
    "session_id,rater,target,name,score,low,high,annotator,higher_is_better\n"
    "call-1,Alice,Bob,liking,3,1,5,,true\ncall-2,Bob,Alice,liking,4,1,5,x,false\n"
)


def sound(seconds: float, channels: int = 1) -> bytes:
    """A quiet recording."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(bytes(int(8000 * seconds) * 2 * channels))
    return file.getvalue()


def media() -> list[Seed]:
    alone: Files = {
        "ratings.csv": RATINGS.encode(),
        "call-1/transcript.vtt": VTT.encode(),
        "call-1/alice.wav": sound(0.3),
        "call-2/transcript.srt": SRT.encode(),
        "call-2/call.wav": sound(0.3, 2),
        "call-2/channel_map.json": dumped({"L": "alice", "R": "bob"}),
    }
    others: Files = {
        "one/talk.csv": TABLE.encode(),
        "two/talk.json": dumped(WHISPERX),
        "three/talk.TextGrid": TEXTGRID.encode(),
        "four/talk.tsv": TABLE.replace(",", "\t").encode(),
        "one/ratings.csv": b"rater,target,name,score,low,high\nAlice,Bob,liking,3,1,5\n",
    }
    return [
        Seed("media", alone, importing("media", "")),
        Seed("media-transcripts", others, importing("media", "", "-o", "language=en")),
    ]


def candor() -> list[Seed]:
    files: Files = {}
    rows = "speaker,start,stop,utterance,backchannel\n" + "".join(
        f"{IDS[1 + turn % 2]},{turn}.0,{turn + 0.9},turn {turn},\n" for turn in range(4)
    )
    survey = "user_id,partner_id,overall_affect,how_enjoyable\n" + "".join(
        f"{one},{other},{score},7\n" for one, other, score in ((IDS[1], IDS[2], 7), (IDS[2], IDS[1], 5))
    )
    people = {"speakers": [{"user_id": IDS[1], "channel": "L"}, {"user_id": IDS[2], "channel": "R"}]}
    for id_ in (IDS[0], IDS[0].replace("0020", "0021")):
        files |= {
            f"{id_}/metadata.json": dumped(people),
            f"{id_}/survey.csv": survey.encode(),
            f"{id_}/transcription/transcript_cliffhanger.csv": rows.encode(),
            f"{id_}/processed/channel_map.json": dumped({"L": IDS[1], "R": IDS[2]}),
            f"{id_}/audio_video_features.csv": f"timedelta,user_id,gaze_on\n0,{IDS[1]},1\n0,{IDS[2]},0\n".encode(),
        }
    whole_rows = "convo_id\t" + rows.replace(",", "\t").replace("\n", f"\n{IDS[0]}\t").rsplit("\n", 1)[0] + "\n"
    whole_survey = "convo_id\t" + survey.replace(",", "\t").replace("\n", f"\n{IDS[0]}\t").rsplit("\n", 1)[0] + "\n"
    whole = {"survey.tsv": whole_survey.encode(), "transcript_cliffhanger.tsv": whole_rows.encode()}
    return [
        Seed("candor", files, importing("candor", "", "-o", "features=precomputed")),
        Seed("candor-whole", whole, importing("candor", "")),
    ]


def written() -> list[Seed]:
    """A corpus folder itself, in both formats of its tables."""
    seeds = []
    with TemporaryDirectory() as folder:
        corpus = Corpus.open(write_small_corpus(Path(folder) / "corpus", sessions=6))
        for kind in ("parquet", "jsonl"):
            corpus.write(Path(folder) / kind, kind)  # type: ignore[arg-type]
            files = {path.name: path.read_bytes() for path in (Path(folder) / kind).iterdir()}
            if kind == "jsonl":
                files["media.jsonl"] = lines(
                    {"session_id": "s00", "speaker": "user", "kind": "audio", "path": "a.wav", "offset_s": 0.0}
                )
                files["a.wav"] = sound(0.1)
            commands = (("inspect", "SOURCE"), ("init", "SOURCE", "-o", "OUT.toml"), ("run", "OUT.toml", "--dry-run"))
            seeds.append(Seed(f"corpus-{kind}", files, commands))
    return seeds


def strangers() -> list[Seed]:
    """What strangers brought, which is good or odd before it is damaged: tables of chats, traces, captions, films."""
    found = []
    for row in ROWS:
        if row.kind == LARGE:  # To damage it would take what to read it must not.
            continue
        with TemporaryDirectory() as folder:
            command = ("import", *(word.replace(folder, "SOURCE") for word in row.write(Path(folder))), "OUT")
            paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
            found.append(Seed(f"strangers: {row}", files, (command, ("inspect", "OUT"))))
    return found


@cache
def seeds() -> tuple[Seed, ...]:
    makers: tuple[Callable[[], list[Seed]], ...] = (
        chat, uss, conture, esconv, convokit, soda, negotiations, media, candor, written, strangers,
    )  # fmt: skip
    return tuple(seed for make in makers for seed in make())
