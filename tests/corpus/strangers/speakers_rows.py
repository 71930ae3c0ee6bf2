"""Who spoke: transcripts as tools and people write them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from apportion.corpus.corpus import Corpus
from tests.corpus.importers.recorded import wav
from tests.corpus.strangers.row import Row

HEADER = "session_id,rater,target,name,score,low,high\n"
ANN, BEN = "ann: Is it ready?", "ben: No, it broke."


def session(
    name: str,
    text: str,
    *options: str,
    rated: str = "ann,ben",
    files: Mapping[str, str] | None = None,
    sound: Sequence[str] = (),
    folder: str = "s1",
) -> Callable[[Path], list[str]]:
    """A folder of one session with a transcript, whose rater and target are ``rated``."""

    def write(source: Path) -> list[str]:
        (source / folder).mkdir()
        (source / folder / name).write_text(text, encoding="utf-8", newline="")
        if rated:
            (source / "ratings.csv").write_text(f"{HEADER}s1,{rated},fun,4,1,5\n", encoding="utf-8")
        for path, content in (files or {}).items():
            (source / path).write_text(content, encoding="utf-8")
        for one in sound:
            wav(source / folder / one, seconds=20)
        given = [part for option in options for part in ("-o", option.replace("SRC", str(source)))]
        return ["media", str(source), *given]

    return write


def srt(*cues: str, counted: bool = True) -> str:
    heads = (f"{i + 1}\n" * counted + f"00:00:{2 * i:02d},000 --> 00:00:{2 * i + 1:02d},500" for i in range(len(cues)))
    return "\n".join(f"{head}\n{cue}\n" for head, cue in zip(heads, cues, strict=True))


def vtt(*cues: str) -> str:
    times = (f"00:{2 * i:02d}.000 --> 00:{2 * i + 1:02d}.500" for i in range(len(cues)))
    return "WEBVTT\n\n" + "\n".join(f"{time}\n{cue}\n" for time, cue in zip(times, cues, strict=True))


def whisperx(*segments: tuple[str | None, str, Sequence[tuple[str, object]]]) -> str:
    """(speaker, text, its words with their speakers) of every segment; a word takes half a second."""
    made = []
    for i, (speaker, text, words) in enumerate(segments):
        timed = [
            {"word": word, "start": 4 * i + j / 2, "end": 4 * i + j / 2 + 0.4, **({"speaker": by} if by else {})}
            for j, (word, by) in enumerate(words)
        ]
        segment = {"start": 4 * i, "end": 4 * i + 3.5, "text": f" {text}", "words": timed}
        made.append(segment | ({"speaker": speaker} if speaker else {}))
    return json.dumps({"segments": made})


def turns(*expected: str) -> Callable[[Corpus], bool]:
    """Whether these are the turns, each as ``speaker: text``."""
    return lambda corpus: (
        [f"{turn.speaker}: {turn.text}" for id_ in corpus.session_ids() for turn in corpus.session(id_).turns]
        == list(expected)
    )


def rated(rater: str, target: str) -> Callable[[Corpus], bool]:
    """Whether the one rating is between them, who are both there."""

    def holds(corpus: Corpus) -> bool:
        (id_,) = corpus.session_ids()
        (rating,) = corpus.session(id_).ratings
        speakers = {turn.speaker for turn in corpus.session(id_).turns}
        return (rating.rater, rating.target) == (rater, target) and {rater, target} <= speakers

    return holds


DYAD = turns(ANN, BEN)
ANNE = "Rene\u0301e"
"""In the decomposed form, as macOS writes the names of files."""
COMPOSED = unicodedata.normalize("NFC", ANNE)
FILE = "speakers=SRC/who.csv"
SPLIT = whisperx(
    ("A", "Is it ready? No.", [("Is", "A"), ("it", "A"), ("ready?", "A"), ("No.", "B")]), ("B", "It broke.", [])
)

SRT = [
    Row("srt", fault, "recovered", session("t.srt", text), holds=holds)
    for fault, text, holds in (
        ("two labelled lines in one cue", srt(f"{ANN}\n{BEN}", "ben: Sorry."), turns(ANN, BEN, "ben: Sorry.")),
        ("dashes before two labels in one cue", srt(f"- {ANN}\n- {BEN}"), DYAD),
        ("a label, its text on the next lines", srt("ann:\nIs it\nready?", BEN), DYAD),
        ("a place on the screen before the label", srt("{\\an8}" + ANN, BEN), DYAD),
        ("slanted names", srt("<i>ann</i>: Is it ready?", "{\\i1}ben:{\\i0} No, it broke."), DYAD),
        ("coloured names", srt(f'<font color="#ffff00">{ANN}</font>', f"<b>{BEN}</b>"), DYAD),
        ("the style of another format", srt("{y:i}" + ANN, "{b}ben{/b}: No, it broke."), DYAD),
        ("the line break of another format", srt(f"{ANN}\\N{BEN}"), DYAD),
        ("names in brackets and stars", srt("[ann]: Is it ready?", "**ben**: No, it broke."), DYAD),
        ("no counters", srt(ANN, BEN, counted=False), DYAD),
        ("a blank line in a cue", srt("ann: Is\n\nit ready?", BEN), DYAD),
        ("counters without a blank line before", srt(ANN, BEN).replace("\n\n", "\n"), DYAD),
        ("what somebody does beside the name", srt("ann (laughs): Hi.", BEN, ANN), turns("ann: Hi.", BEN, ANN)),
        ("a number that was said", srt("ann: How many?", "ben: These:\n42"), turns("ann: How many?", "ben: These: 42")),
        ("lines of Windows", srt(ANN, BEN).replace("\n", "\r\n"), DYAD),
        ("no space after the colon", srt("ann:Is it ready?", "ben:No, it broke."), DYAD),
        ("a space before the colon", srt("ann : Is it ready?", "ben : No, it broke."), DYAD),
        ("colons of Chinese", srt("ann：Is it ready?", "ben：No, it broke."), DYAD),
        ("names in two spellings", srt(ANN, BEN, "ANN: Oh."), turns(ANN, BEN, "ann: Oh.")),
        ("letters nobody sees in a name", srt(f"\u200e{ANN}", BEN, "ann\u200b: Oh."), turns(ANN, BEN, "ann: Oh.")),
        ("a space that does not break", srt("an\u00a0x: Hi.", "an x: So?", BEN), turns("an x: Hi.", "an x: So?", BEN)),
    )
]
VTT = [
    Row("vtt", fault, "recovered", session("t.vtt", text), holds=holds)
    for fault, text, holds in (
        ("a heart, and signs of comparison",
         vtt("<v ann>I <3 this, it is > that</v>", "<v ben>2 < 3 and 5 > 4, a<b>c</b>"),
         turns("ann: I <3 this, it is > that", "ben: 2 < 3 and 5 > 4, ac")),
        ("what is no tag", vtt("ann: <sighs> No.", "ben: <no idea>"), turns("ann: <sighs> No.", "ben: <no idea>")),
        ("what is no entity", vtt("ann: R&notes", "ben: Q&amp;A"), turns("ann: R&notes", "ben: Q&A")),
        ("tags of words as they are sung", vtt("ann: Is <00:00.500><c.loud>it</c> ready?", BEN), DYAD),
        ("classes of a voice", vtt("<v.first.loud ann>Is it ready?</v>", "<v ben>No, it broke."), DYAD),
        ("a label after a voice", vtt(f"<v ann>Is it ready?</v>\n{BEN}", "<v ben>Oh."), turns(ANN, BEN, "ben: Oh.")),
        ("a comment and a style", vtt(ANN, BEN).replace("\n00:02", "\nNOTE eve: she\nlied\n\nSTYLE\n::cue{}\n\n00:02"),
         DYAD),
        ("names of cues", vtt(ANN, BEN).replace("00:0", "7b-0\n00:0", 1).replace("\n00:02", "\nlast\n00:02"), DYAD),
        ("smiles, hours and addresses", vtt("ann: hm :) at 10:30", "ben: see https://x.org"),
         turns("ann: hm :) at 10:30", "ben: see https://x.org")),
        ("a label in what was said", vtt(ANN, "ben: Note: it broke."), turns(ANN, "ben: Note: it broke.")),
        ("a speaker that another cue knows", vtt(ANN, BEN, "eve: Hi.", "eve: Oh."),
         turns(ANN, BEN, "eve: Hi.", "eve: Oh.")),
    )
]  # fmt: skip
TOLD = [
    Row("vtt", fault, "told", session("t.vtt", text), says, holds)
    for fault, text, says, holds in (
        ("a sentence with a colon", vtt(ANN, "so we go at 10: 30 then", BEN),
         "1 labels .* are text, .*'so we go at 10'.* to 'ann'", turns(f"{ANN} so we go at 10: 30 then", BEN)),
        ("a word with a colon", vtt(ANN, "Remember: the keys", BEN), "'Remember' at t.vtt, cue 2",
         turns(f"{ANN} Remember: the keys", BEN)),
        ("labels where the speaker changes", vtt(ANN, "Or not?", BEN, "Sorry."),
         "2 cues have no label and go on the turn before", turns(f"{ANN} Or not?", f"{BEN} Sorry.")),
        ("text before anybody is named", vtt("Recording started", ANN, BEN),
         r"cues 3 2 1 before anybody is named \(t\.vtt, cue 1", DYAD),
        ("words before the first cue", vtt(ANN, BEN).replace("\n\n", "\n\nWelcome!\n\n", 1),
         r"lines 6 5 1 before the first cue \(t\.vtt\)", DYAD),
        ("cues without text", vtt(ANN, "", "ben: ", BEN), r"cues 4 2 2 without text \(t\.vtt, cue 2", DYAD),
        ("a second label in a line", vtt(f"{ANN} ben: No.", "ben: Oh."),
         "1 turns name a speaker in the middle, .*'ben:'", turns(f"{ANN} ben: No.", "ben: Oh.")),
        ("who spoke", vtt(ANN, BEN),
         r"speaker sessions turns words labels known by ann 1 1 3 ann ratings ben 1 1 3 ben ratings", DYAD),
    )
]  # fmt: skip
REFUSED = [
    Row(kind, fault, "refused", session(f"t.{kind}", text, rated=who), says)
    for kind, fault, text, who, says in (
        ("vtt", "labels that nothing knows", vtt(ANN, BEN, "ann: Oh.", "ben: So.", "Eve: Hi."), "",
         "not sure: 1 labels .* s1 Eve 1 t.vtt, cue 5 .* Eve: Hi. .*-o speakers=FILE"),
        ("vtt", "a name that ratings spell otherwise", vtt(ANN, "Benny: No."), "ann,ben", "s1 Benny 1 t.vtt, cue 2"),
        ("vtt", "a label with a slip", vtt(ANN, BEN, "amn: Oh.", "ben: Hi."), "ann,ben", "s1 amn 1 t.vtt, cue 3"),
        ("vtt", "a label with a title", vtt(ANN, BEN, "Dr. Ben: Oh."), "ann,ben", "s1 Dr. Ben 1 t.vtt, cue 3"),
        ("vtt", "a sentence with a colon, twice", vtt(ANN, BEN, "so I said to: go", "so I said to: stay"), "ann,ben",
         "so I said to 2"),
        ("vtt", "no label at all", vtt("Is it ready?", "No."), "ann,ben", r"cue 1 \(00:00.000\): no speaker. Write"),
        ("vtt", "times of no clock", vtt(ANN, BEN).replace("00:02.000", "00:02.0x"), "ann,ben",
         "t.vtt, line 6: 1 cues have times that cannot be read"),
        ("vtt", "no head", vtt(ANN, BEN).removeprefix("WEBVTT"), "ann,ben", "line 1 is ''; \"WEBVTT\" is needed"),
        ("srt", "dashes without names", srt(ANN, "- Is it?\n- No."), "ann,ben",
         "cue 2 .*another person begins, and no name says who: '- Is it\\?'"),
        ("srt", "a mark of another speaker", srt(ANN, ">> No."), "ann,ben", "cue 2 .*another person begins"),
        ("srt", "text before the first cue", "ann says hello\n\n" + srt(ANN, BEN), "ann,ben",
         "'ann says hello' stands before the first cue"),
        ("json", "a word that is not in its segment", SPLIT.replace('"ready?"', '"steady?"'), "A,B",
         "segment 1: the word 'steady\\?' is not in the segment's text"),
        ("json", "a speaker that is a number", SPLIT.replace('"speaker": "B"}]', '"speaker": 1}]'), "A,B",
         "segment 1: a word's speaker is 1; a text is needed"),
        ("json", "words that are no list", SPLIT.replace('"words": []', '"words": 3'), "A,B",
         'segment 2: "words" must be a list'),
    )
]  # fmt: skip
NAMES = [
    Row("names", "another Unicode form in ratings", "recovered",
        session("t.vtt", vtt(f"<v {COMPOSED}>Hi.", BEN), rated=f"{ANNE},ben"), holds=rated(COMPOSED, "ben")),
    Row("names", "another Unicode form in the transcript", "recovered",
        session("t.vtt", vtt(f"{ANNE}: Hi.", BEN), rated=f"{COMPOSED},ben"), holds=rated(COMPOSED, "ben")),
    Row(
        "names",
        "another Unicode form of a file and of a map",
        "recovered",
        session(
            "t.vtt",
            vtt(f"{COMPOSED}: Hi.", BEN),
            rated="",
            files={"s1/channel_map.json": json.dumps({"L": "ben", "R": ANNE})},
            sound=[f"{ANNE}.wav"],
        ),
        holds=lambda corpus: {one.speaker for one in corpus.session("s1").media} == {COMPOSED},
    ),
    Row("names", "a label once, known to a recording", "recovered",
        session("t.vtt", vtt(ANN, BEN), rated="", sound=["ann.wav", "BEN.wav"]), holds=DYAD),
]  # fmt: skip
WHISPERX = [
    Row("json", fault, "recovered", session("t.json", text, rated=who), holds=turns(*expected))
    for fault, text, who, expected in (
        ("words of two in one segment", SPLIT, "A,B", ("A: Is it ready?", "B: No.", "B: It broke.")),
        ("words without a speaker", SPLIT.replace(', "speaker": "A"}, {"word": "ready?"', '}, {"word": "ready?"'),
         "A,B", ("A: Is it ready?", "B: No.", "B: It broke.")),
        ("a segment whose words alone have one", whisperx((None, "Hi you.", [("Hi", "A"), ("you.", "B")])), "A,B",
         ("A: Hi", "B: you.")),
        ("words without spaces", whisperx(("A", "好吗不好", [("好", "A"), ("吗", "A"), ("不", "B"), ("好", "B")])),
         "A,B",
         ("A: 好吗", "B: 不好")),
    )
]  # fmt: skip
WHO = [
    Row("speakers", fault, outcome, session("t.vtt", text, FILE, rated="ann,ben", files={"who.csv": who}), says, holds)
    for fault, outcome, text, who, says, holds in (
        ("labels of a tool", "recovered", vtt("<v S0>Is it ready?", "<v S1>No, it broke."),
         "label,name\nS0,ann\nS1,ben\n", "", DYAD),
        ("a label for one session", "recovered", vtt("<v S0>Is it ready?", BEN),
         "session_id,label,name\ns1,S0,ann\ns2,S0,ben\n", "", DYAD),
        ("a label once", "recovered", vtt(ANN, BEN, "Eve: Hi."), "label,name\neve,Eve\n", "",
         turns(ANN, BEN, "Eve: Hi.")),
        ("a label that is text", "told", vtt(ANN, "Also: why?", "Also: now?", BEN), "label,name\nAlso,\n",
         "'Also' at t.vtt, cue 2", turns(f"{ANN} Also: why? Also: now?", BEN)),
        ("a label that is nowhere", "told", vtt(ANN, BEN), "label,name\nEve,Eve\n",
         "labels that no transcript has: eve", DYAD),
        ("a column that is missing", "refused", vtt(ANN, BEN), "label,who\nEve,Eve\n", "no column 'name'", None),
        ("a label that is empty", "refused", vtt(ANN, BEN), "label,name\n,Eve\n", "line 2, column label: empty", None),
        ("a label with two names", "refused", vtt(ANN, BEN), "label,name\nEve,Eve\neve,Eva\n",
         "line 3: 'eve' is 'Eve' above and 'Eva' here", None),
    )
]  # fmt: skip
OTHER = vtt("eve: Hi.", "ann: So?", "eve: Oh.", "ben: Ah.")
OTHERS = session("t.vtt", vtt(ANN, BEN, "eve: Go."), files={"t.vtt": OTHER})


def others(source: Path) -> list[str]:
    """A second, unrated session, in which a label comes twice that comes once in the first."""
    given = OTHERS(source)
    (source / "s2").mkdir()
    (source / "t.vtt").rename(source / "s2" / "t.vtt")
    return given


HEARD = turns(ANN, BEN, "eve: Go.", "eve: Hi.", "ann: So?", "eve: Oh.", "ben: Ah.")
NAMES.append(Row("names", "a label once, known to another session", "recovered", others, holds=HEARD))
ROWS = [*SRT, *VTT, *TOLD, *REFUSED, *NAMES, *WHISPERX, *WHO]
