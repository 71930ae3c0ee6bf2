"""More of each kind, as a stranger thought of them: written, tried, and mended where they went wrong in silence."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from apportion.corpus.corpus import Corpus
from tests.corpus.strangers import chats_rows as chats
from tests.corpus.strangers import recordings_rows as recordings
from tests.corpus.strangers import speakers_rows as speakers
from tests.corpus.strangers import tables_rows as tables
from tests.corpus.strangers.row import Row
from tests.features.clips import write_wav

ANN, BEN, DYAD = speakers.ANN, speakers.BEN, speakers.DYAD
ARROWS = "1\n00:00:00,000 --> 00:00:01,000\nann: Hi.\n\n2\n00:00:02,000 {} 00:00:03,000\nben: No.\n"
NO_TIMES = r"line 6: 1 cues have times that cannot be read"
WORDS = "ann,{},{},Is it ready?\nben,{},{},No it is not.\n"
SIGNS = "1 turns name a speaker in the middle"
SWAP, NO_S1 = ({"who.csv": f"label,name\n{rows}"} for rows in ("S0,S1\nS1,S0\n", "S1,\n"))


def in_german(corpus: Corpus) -> bool:
    return [corpus.session(id_).language for id_ in corpus.session_ids()] == ["de"]


CAPTIONS = [
    Row("speakers", "labels that change places", "recovered",
        speakers.session("t.vtt", speakers.vtt("<v S0>Hi.", "<v S1>No."), speakers.FILE, rated="S0,S1", files=SWAP),
        holds=speakers.rated("S1", "S0")),
    Row("speakers", "a tier of notes is no person", "told",
        speakers.session("t.vtt", speakers.vtt(ANN, "<v S1>loud", BEN), speakers.FILE, files=NO_S1),
        "cues 3 2 1 of no person, as the file of speakers says", DYAD),
    *(
        Row("srt", f"{arrow} between the times", "refused", speakers.session("t.srt", ARROWS.format(arrow)), NO_TIMES)
        for arrow in ("—>", "->", "→")
    ),
    *(
        Row(kind, fault, outcome, speakers.session(f"t.{kind}", text, rated=rated), says, holds)
        for kind, fault, outcome, text, rated, says, holds in (
            ("srt", "text that nobody can see", "told", speakers.srt(ANN, BEN, "ann: \u200b"), "ann,ben",
             "cues 3 2 1 without text", DYAD),
            ("srt", "a line that nobody can see in a cue", "recovered", speakers.srt(ANN + "\n\u200b", BEN), "ann,ben",
             "", DYAD),
            ("srt", "a file joined to itself", "refused", speakers.srt(ANN, BEN) * 2, "ann,ben",
             "t.srt, line 8: the times begin anew, as if two files were joined", None),
            ("vtt", "two files in one", "refused", speakers.vtt(ANN, BEN) + "\n" + speakers.vtt("ann: Two."), "ann,ben",
             "t.vtt, line 9: the times begin anew", None),
            ("vtt", "the beginning of a sentence, twice", "refused",
             speakers.vtt(ANN, "I mean: yes", BEN, "I mean: no"), "ann,ben", "s1 I mean 2 t.vtt, cue 2", None),
            ("vtt", "a label with the same slip twice", "refused",
             speakers.vtt(ANN, BEN, "anm: Oh.", BEN, "anm: So."), "ann,ben", "s1 anm 2 t.vtt, cue 3", None),
            ("vtt", "a third person beside those who are rated", "told", speakers.vtt(ANN, BEN, "Note: so", "Note: no"),
             "ann,ben", "1 of those who speak are known neither to ratings nor to recordings.*'Note'", None),
            ("vtt", "a language in the header", "recovered",
             "WEBVTT\nKind: captions\nLanguage: de\n\n" + speakers.vtt("ann: Ja.", "ben: Nein.")[8:], "ann,ben", "",
             in_german),
            ("json", "a language beside the segments", "recovered",
             speakers.SPLIT.replace('{"segments"', '{"language": "german", "segments"'), "A,B", "", in_german),
            ("srt", "a known name in brackets within a turn", "told", speakers.srt(f"{ANN}\n[ben] No.", BEN), "ann,ben",
             SIGNS, None),
            ("srt", "one dash under a labelled line", "refused", speakers.srt(f"{ANN}\n- No.", BEN), "ann,ben",
             "another person begins, and no name says who", None),
            ("srt", "hard blanks before a name", "recovered", speakers.srt("\\h\\h" + ANN, BEN), "ann,ben", "", DYAD),
            ("vtt", "a voice in quotes", "recovered", speakers.vtt('<v "ann">Is it ready?', BEN), "ann,ben", "", DYAD),
            ("vtt", "captions that roll", "told",
             "WEBVTT\n\n00:00.000 --> 00:01.000\nann: Is it\n\n00:01.000 --> 00:02.000\nann: Is it\nready?\n\n"
             "00:03.000 --> 00:04.000\nben: No.\n", "ann,ben", "1 turns say again", None),
            ("vtt", "names in letters of full width", "recovered", speakers.vtt("ａｎｎ: Is it ready?", BEN), "ann,ben",
             "", speakers.turns("ａｎｎ: Is it ready?", BEN)),
            ("vtt", "a Turkish I", "recovered", speakers.vtt("İnci: Hi.", BEN), "inci,ben", "",
             speakers.rated("İnci", "ben")),
            ("vtt", "another apostrophe in ratings", "recovered", speakers.vtt("O\u2019Neil: Hi.", BEN), "O'Neil,ben",
             "",
             speakers.rated("O\u2019Neil", "ben")),
        )
    ),
    *(
        Row("table", fault, "refused", tables.talk(tables.HEAD + WORDS.format(*times)), says)
        for fault, times, says in (
            ("times in minutes", (0.01, 0.02, 0.03, 0.04), "nobody speaks so fast"),
            ("times of a calendar", (1.7e9, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3), "as if on a calendar"),
        )
    ),
    Row("table", "microseconds that are said to be milliseconds", "refused",
        tables.talk(tables.HEAD + WORDS.format(0, 10**6, 2 * 10**6, 3 * 10**6), "transcript.csv", "-o", "time_unit=ms"),
        "milliseconds. Divide them"),
    tables.told("somebody who rates themself", tables.rated(tables.RATINGS.replace("ann,ben", "ann,ann")),
                "rater and target are one person"),
    tables.told("a file of an unknown kind beside the transcript",
                tables.written({"s1/transcript.csv": tables.TALK, "s1/ann.xyz": "?", "ratings.csv": tables.RATINGS}),
                "ann.xyz is not used"),
]  # fmt: skip


def _call(left: np.ndarray, right: np.ndarray) -> Callable[..., list[str]]:
    def files(folder) -> None:
        write_wav(folder / "call.wav", np.stack([left, right]), codec="pcm_s16le")
        (folder / "channel_map.json").write_text('{"L": "alice", "R": "bob"}')

    return recordings.session(files)


RECORDINGS = [
    Row("recordings", fault, "told", _call(left, right), says)
    for fault, left, right, says in (
        ("one side of a call is silent", recordings.SILENCE, recordings.VOICE,
         r"alice: sound 0 %.*bob: sound 100 %.*call\.wav, channel L: the sound is silent"),
        ("both sides of a call are one", recordings.VOICE, recordings.VOICE, "both channels play the same sound"),
        ("both sides of a call are one, turned", recordings.VOICE, -recordings.VOICE, "both channels play the same"),
    )
]  # fmt: skip
RECORDINGS.append(
    recordings.told(
        "a film without a track of sound",
        "alice: face not looked for, no sound, words 5 of 5",
        lambda folder: recordings.write_movie(folder / "alice.mp4", recordings.PICTURES),
    )
)

ASK, ANSWER, SAID = chats.ASK, chats.ANSWER, chats.SAID
RATED = chats.holds(SAID, 4)


def _message(*held: dict, **more: object) -> Callable[..., list[str]]:
    return chats.chats(chats.chat(ASK, *held, **more))


def _span(events: list[dict] = (), **attributes: object) -> Callable[..., list[str]]:
    span = {"traceId": "t", "spanId": "s", "startTimeUnixNano": 1, "attributes": {"gen_ai.system": "x", **attributes}}
    return chats.chats(span | {"events": events}, options=())


def _shortened(corpus: Corpus) -> bool:
    return [rating.name for session in corpus.iter_sessions() for rating in session.ratings] == ["score", "score"]


LC = [
    {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": {"content": one["content"]}}
    for kind, one in (("HumanMessage", ASK), ("AIMessage", ANSWER))
]
EVENTS = [
    {"name": "gen_ai.user.message", "attributes": {"content": ASK["content"]}},
    {"name": "gen_ai.choice", "attributes": {"message": json.dumps(ANSWER)}},
]
TRACE = {"id": "t", "projectId": "p", "sessionId": "s", "input": "Is it open?", "output": "Until six."}
MOOD = {"id": "f", "name": "mood", "value": 0, "stringValue": "happy", "dataType": "CATEGORICAL", "traceId": "t"}
GERMAN = [
    {"role": "user", "content": "Ich habe gestern meine Bestellung bekommen, aber leider ist die Tasse zerbrochen."},
    {"role": "assistant", "content": "Das tut mir sehr leid, ich schicke Ihnen sofort eine neue Tasse ohne Kosten."},
]
TWO_NAMES = [{**ASK, "name": "Ann"}, {**ASK, "name": "Ben"}, ANSWER]
CHATS = [
    Row("chats", fault, outcome, write, says, look)
    for fault, outcome, write, says, look in (
        ("a call beside letters nobody sees", "told",
         _message({**ANSWER, "content": "\u200b", "tool_calls": [chats.CALL]}, ANSWER), "1 tool calls without", RATED),
        ("a call written into the text", "told",
         _message({**ANSWER, "content": '<tool_call>\n{"name": "hours"}\n</tool_call>'}, ANSWER),
         "4 tool calls, which nobody heard", RATED),
        ("calls without end, 20,000 of them", "recovered",
         _message({**ANSWER, "content": "<tool_call>" * 20_000}), "", lambda corpus: len(corpus.session_ids()) == 1),
        ("parts without a type", "told",
         _message({"role": "model", "parts": [{"functionCall": {}}, {"text": "Hm.", "thought": True}]}, ANSWER),
         "1 functionCall .*; 1 reasoning", RATED),
        ("an empty content beside parts", "recovered",
         _message({**ANSWER, "content": "", "parts": [{"type": "text", "text": "Until six."}]}), "", RATED),
        ("an item of a type that is new", "told", _message({"type": "item_reference", "id": "x"}, ANSWER),
         "messages 3 2 1 of the system", RATED),
        ("messages as LangChain dumps them", "recovered", chats.chats({"messages": LC, "score": 4}), "", RATED),
        ("a list called conversation", "told", chats.chats({"conversation": [ASK, ANSWER], "score": 4}),
         "messages from 'conversation'", RATED),
        ("messages that are texts", "refused", chats.chats({"messages": ["Hi", "Ho"], "score": 4}),
         "-o speaker=KEY", None),
        ("newest first", "told",
         chats.chats({"messages": [{**ANSWER, "timestamp": 2}, {**ASK, "timestamp": 1}], "score": 4}),
         "newest first by their times, turned round: in 1 chat", RATED),
        ("an answer that was deleted", "told", _message({**ANSWER, "deleted": True}), "marked as 'deleted'", RATED),
        ("German that is said to be English", "told", chats.chats(chats.chat(*GERMAN, language="en_US")),
         "said to be English, but the words look German", None),
        ("several people of one role", "told", chats.chats({"messages": TWO_NAMES, "score": 4}), "Ann, Ben", None),
        ("a title called name", "told", chats.chats(chats.chat(name="Monday"), chats.chat(name="Trip")),
         "taken for a title", _shortened),
        ("a key twice", "refused", chats.file("c.jsonl", '{"score": 1, "score": 5, "messages": []}', *chats.SCALE),
         "the key 'score' is there twice", None),
        ("percent, and shares among them", "refused",
         chats.chats(*(chats.unscored(rating=one) for one in ("85 %", "0.9")), options=("scale=percent",)),
         "are shares", None),
        ("semicolons and decimal commas", "told",
         chats.file("c.csv", "id;role;text;csat\n1;user;Is it open?;4,5\n1;bot;Until six.;4,5\n", *chats.SCALE),
         "read from 'csat'", chats.holds(SAID, 4.5)),
        ("ids that a spreadsheet has cut", "refused",
         chats.table("session_id role text csat", *[("1.70E+11", "user", "Hi", 4)] * 2), "or pandas has cut", None),
        ("blanks behind an id", "told",
         chats.table("session_id role text csat", ("a", "user", "Is it open?", 4), ("a ", "bot", "Until six.", 4),
                     ("b", "bot", "Hi", 4), ("b", "user", "Hi", 4)), "read", chats.holds(SAID, 4, id_="a")),
        ("a category of Langfuse", "refused", chats.chats(TRACE, MOOD, options=("scale=0..1",)),
         "'happy': no score", None),
        ("objects that are no calls beside scores", "refused", chats.chats({"id": "t", "input": "Hi"}, MOOD),
         "1 neither a call nor a score of Langfuse", None),
        ("spans with a prompt as JSON", "told",
         _span(**{"gen_ai.prompt": json.dumps([ASK]), "gen_ai.completion": json.dumps([ANSWER])}),
         "OpenTelemetry", chats.holds(SAID)),
        ("spans with messages as events", "told", _span(EVENTS), "OpenTelemetry", chats.holds(SAID)),
        ("spans without words", "refused", _span(), "Export inputs and outputs, too", None),
    )
]  # fmt: skip
ROWS = [*CAPTIONS, *RECORDINGS, *CHATS]
