"""Tables (CSV, TSV) as strangers' programs write them: transcripts and ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from apportion.corpus.corpus import Corpus
from tests.corpus.strangers.row import Row

HEAD = "speaker,start,end,text\n"
TALK = f"{HEAD}ann,0,1.5,Is it ready yet?\nben,2,3.25,Nearly.\n"
SAID = [("ann", "Is it ready yet?", 0.0, 1.5), ("ben", "Nearly.", 2.0, 3.25)]
RATED = "session_id,rater,target,name,score,low,high\n"
RATINGS = f"{RATED}s1,ann,ben,help,4,1,5\n"
NOT_ROWS = "goes over several lines; a quote is left open"


def talk(text: str | bytes, name: str = "transcript.csv", *options: str) -> Callable[[Path], list[str]]:
    """One session with a transcript that is a table."""
    return written({f"s1/{name}": text, "ratings.csv": RATINGS}, *options)


def rated(text: str | bytes, name: str = "ratings.csv") -> Callable[[Path], list[str]]:
    """One session with ratings."""
    return written({"s1/transcript.csv": TALK, name: text})


def written(files: dict[str, str | bytes], *options: str) -> Callable[[Path], list[str]]:
    """What writes the files, and gives the arguments."""

    def write(folder: Path) -> list[str]:
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return ["media", str(folder), *options]

    return write


def said(*turns: tuple[str, str, float, float]) -> Callable[[Corpus], bool]:
    """The turns of the session."""
    return lambda corpus: [(t.speaker, t.text, t.start_s, t.end_s) for t in corpus.session("s1").turns] == list(turns)


def scored(*scores: float) -> Callable[[Corpus], bool]:
    """The scores of the session."""
    return lambda corpus: [rating.score for rating in corpus.session("s1").ratings] == list(scores)


def refused(fault: str, write: Callable[[Path], list[str]], says: str) -> Row:
    """A row that is refused, with the line or the column."""
    return Row("table", fault, "refused", write, says)


def read(fault: str, write: Callable[[Path], list[str]], holds: Callable[[Corpus], bool] | None = None) -> Row:
    """A row that is read as it was meant: as `SAID`, or as ``holds`` says."""
    return Row("table", fault, "recovered", write, holds=holds or said(*SAID))


def told(fault: str, write: Callable[[Path], list[str]], says: str) -> Row:
    """A row that is read, and what is odd is said."""
    return Row("table", fault, "told", write, says)


def semicolons(text: str) -> str:
    """As programs of countries with decimal commas write a table."""
    return text.replace(",", ";").replace(".5", ",5").replace(".25", ",25")


MS = f"{HEAD}ann,0,1500,Is it ready yet?\nben,2000,3250,Nearly.\n"
OPEN = f'{HEAD}ann,0,1,"Is it\nben,2,3,Nearly.\nann,4,5,She said "\n'
OPEN_BEFORE = 'speaker,text,start,end\nann,"Is it,0,1\nben,Nearly",2,3\n'
CUT = f"{HEAD.strip()},note\nben,2,3,Yes, I agree\n"

ROWS = [
    # How the cells are divided.
    read("semicolons and decimal commas", talk(semicolons(TALK))),
    read("tabs in a file called .csv", talk(TALK.replace(",", "\t"))),
    read("commas in a file called .tsv", talk(TALK, "transcript.tsv")),
    read("bars between the cells", talk(TALK.replace(",", "|"))),
    read("a line sep= before the header", talk("sep=;\r\n" + semicolons(TALK).replace("\n", "\r\n"))),
    refused("a line sep= that names no separator", talk("sep=x\n" + TALK), "line 1: sep='x'; allowed: comma"),
    refused("a line sep= that is not the file's separator", talk("sep=;\n" + TALK), "no column for the speaker"),
    read("blanks behind the separators", talk(TALK.replace(",", ", "))),
    read(
        "blanks and quotes behind the separators",
        talk('speaker, start, end, text\nann, 0, 1, "Oh, good"\n'),
        said(("ann", "Oh, good", 0.0, 1.0)),
    ),
    read("a separator at the end of each line", talk(TALK.replace("\n", ",\n"))),
    read(
        "a separator at the end of each line but the header", talk(HEAD + TALK.removeprefix(HEAD).replace("\n", ",,\n"))
    ),
    refused("a separator at the end of some lines", talk(TALK.replace("Nearly.", "Nearly.,")), "line 3: 5 cells"),
    # Cells too many, too few, and swallowed.
    refused("a comma in a text without quotes", talk(TALK + "ann,4,5,Oh, good\n"), "line 4: 5 cells"),
    refused(
        "a comma in a text, and a header that ends in one",
        talk(TALK.replace("text\n", "text,\n").replace("?\n", "?,\n").replace("Nearly.", "Well, soon.")),
        "line 3: 'soon.' is in a column without a name",
    ),
    refused(
        "a comma in a text, and a last column left out", talk(CUT), "line 2: ' I agree' may be the rest of the text"
    ),
    refused("a row that ends early", talk(TALK + "ann,4\n"), "line 4: 2 cells"),
    refused(
        "a quote that is never closed", talk(f'{HEAD}ann,0,1,"Is it\nben,2,3,Nearly.\n'), "line 2: not readable CSV"
    ),
    refused("a quote that the next one closes", talk(OPEN), f"line 2: .*{NOT_ROWS}"),
    refused(
        "a quote that the next one closes, with semicolons",
        talk(OPEN.replace(",", ";").replace("2;3", "2,5;3,5")),
        f"line 2: .*{NOT_ROWS}",
    ),
    refused("a quote before the times that the next one closes", talk(OPEN_BEFORE), f"line 2: .*{NOT_ROWS}"),
    refused(
        "quotes within a text marked by backslashes",
        talk(f'{HEAD}ann,0,1,"He said \\"yes\\", so"\n'),
        "line 2: not readable CSV",
    ),
    read("a text over two lines", talk(TALK.replace("Is it ready yet?", '"Is it\nready yet?"'))),
    read(
        "rows and lines without anything in them",
        talk("\n,,,\n" + TALK.replace("\nben", "\n\n , ,,\n   \nben") + ",,,\n"),
    ),
    # Letters and the header.
    read("a byte order mark and CRLF", talk(("\ufeff" + TALK.replace("\n", "\r\n")).encode())),
    read("UTF-16, as Excel writes Unicode text", talk(TALK.replace(",", "\t").encode("utf-16"))),
    refused("UTF-16 without a mark", talk(TALK.encode("utf-16-le")), "line 1: zero bytes"),
    refused("UTF-16 that is cut", talk(TALK.encode("utf-16")[:-1]), "not UTF-16 at byte offset"),
    refused("Latin-1", talk(TALK.replace("ready", "prêt").encode("latin-1")), "not UTF-8 at line 2"),
    read("a header in capitals and with blanks", talk(TALK.replace(HEAD, " Speaker,START_S,End (s) ,Text\n"))),
    refused("a column twice", talk(TALK.replace("speaker", "text")), "column 'text' is there twice"),
    refused("a column twice in another case", talk(TALK.replace("speaker", "Text")), "column 'text' is there twice"),
    refused(
        "two columns for the end",
        talk("speaker,start,end,stop,text\nann,0,1,2,Hi\n"),
        "columns stop and end; which is the end",
    ),
    refused("no header", talk(TALK.removeprefix(HEAD)), "no column for the speaker"),
    # Times.
    refused("times in milliseconds", talk(MS), "-o time_unit=ms"),
    refused("milliseconds, and starts alone", talk(f"{HEAD}ann,0,0,Hi there\nben,9000,9000,Yes\n"), "-o time_unit=ms"),
    refused(
        "milliseconds and no blanks in a text", talk(f"{HEAD}ann,0,3200,你今天好吗我很好谢谢你呢\n"), "-o time_unit=ms"
    ),
    read(
        "a long turn without blanks",
        talk(f"{HEAD}ann,0,45,你今天好吗我很好谢谢你呢\n"),
        said(("ann", "你今天好吗我很好谢谢你呢", 0.0, 45.0)),
    ),
    read(
        "pauses that are long, and said to be seconds",
        talk(MS, "transcript.csv", "-o", "time_unit=s"),
        lambda corpus: corpus.session("s1").turns[1].end_s == 3250,
    ),
    refused("times of a clock", talk(TALK.replace("1.5", "00:00:01.5")), "line 2: start '0' and end '00:00:01.5'"),
    read("times in milliseconds, said by the option", talk(MS, "transcript.csv", "-o", "time_unit=ms")),
    read("times in milliseconds, said by the columns", talk(MS.replace("start,end", "start_ms,End [ms]"))),
    refused(
        "columns in seconds and an option in milliseconds",
        talk(TALK.replace("start", "start_s"), "transcript.csv", "-o", "time_unit=ms"),
        "column 'start_s' has s, and time_unit is ms",
    ),
    refused(
        "seconds that are called milliseconds",
        talk(TALK, "transcript.csv", "-o", "time_unit=ms"),
        "if its times are milliseconds",
    ),
    refused(
        "milliseconds in WhisperX's JSON",
        talk('{"segments": [{"speaker": "ann", "start": 0, "end": 9000, "text": "Well then"}]}', "t.json"),
        "-o time_unit=ms",
    ),
    refused(
        "a unit for subtitles",
        talk("1\n00:00:00,000 --> 00:00:01,000\nann: Hi\n", "t.srt", "-o", "time_unit=ms"),
        "no transcript here is a table",
    ),
    refused("a unit of time that is none", talk(MS, "transcript.csv", "-o", "time_unit=min"), "time_unit=min: s or ms"),
    refused("a decimal comma in quotes", talk(TALK.replace("1.5", '"1,5"')), "line 2: start '0' and end '1,5'"),
    refused(
        "a comma that may stand between thousands",
        talk(semicolons(TALK).replace("1,5", "1,500").replace("3,25", "3")),
        "line 2: start '0' and end '1,500'",
    ),
    refused(
        "points that may stand between thousands",
        talk(TALK.replace(",", ";").replace("1.5", "1.500").replace("3.25", "3")),
        "line 2: start '0' and end '1.500'. Its point may",
    ),
    read("decimals with three digits, beside a plain one", talk(semicolons(TALK).replace("1,5", "1,500"))),
    refused("figures of another script", talk(TALK.replace("1.5", "٣")), "line 2: start"),
    refused("a time too large for a number", talk(TALK.replace("1.5", "1e999")), "line 2: start '0' and end '1e999'"),
    # Ratings.
    refused("a score with a decimal comma", rated(RATINGS.replace(",4,", ",3,5,")), "ratings.csv, line 2: 8 cells"),
    refused(
        "a score with a decimal comma in quotes", rated(RATINGS.replace("4", '"3,5"')), "line 2, column score: '3,5'"
    ),
    refused(
        "a score with a decimal comma and a decimal point",
        rated(semicolons(RATINGS).replace("4", "3,5").replace(";1;", ";1.0;")),
        "line 2, column score: '3,5'",
    ),
    refused(
        "a score whose point may stand between thousands",
        rated(semicolons(RATINGS).replace(";4;", ";5.000;")),
        "line 2, column score: '5.000'.*Write 5.0 or 5000",
    ),
    read("ratings with semicolons and decimal commas", rated(semicolons(RATINGS).replace("4", "3,5")), scored(3.5)),
    refused("a score as 4 of 5", rated(RATINGS.replace(",4,", ",4 of 5,")), "line 2, column score: '4 of 5'"),
    refused("a score as 4/5", rated(RATINGS.replace(",4,", ",4/5,")), "line 2, column score: '4/5'"),
    refused("a score in per cent", rated(RATINGS.replace(",4,", ",80%,")), "line 2, column score: '80%'"),
    refused(
        "a score too large for a number", rated(RATINGS.replace(",4,", ",1e999,")), "line 2, column score: '1e999'"
    ),
    refused("a rating without a cell", rated(RATINGS.replace(",help", "")), "line 2: 6 cells"),
    refused(
        "a quote that swallows a rating",
        rated(f'{RATED}s1,ann,"ben,help,1,1,5\ns1,ben,ann",help,4,1,5\n'),
        f"line 2, column target: .*{NOT_ROWS}",
    ),
    refused(
        "a score twice",
        rated(RATINGS.replace("name,score", "score,score").replace("help", "1")),
        "column 'score' is there twice",
    ),
    read("ratings called RATINGS.TSV", rated(RATINGS.replace(",", "\t"), "RATINGS.TSV"), scored(4.0)),
    read(
        "a rating's header as people write it",
        rated(RATINGS.replace("session_id", "Session ID").replace("score", "SCORE")),
        scored(4.0),
    ),
    refused(
        "ratings in two tables",
        written({"s1/transcript.csv": TALK, "ratings.csv": RATINGS, "ratings.tsv": RATINGS}),
        "both ratings.csv and ratings.tsv",
    ),
    told(
        "columns that nobody reads",
        talk(TALK.replace("\n", ",x,\n").replace("text,x,", "text,mood,")),
        r"cells 19 15 2 in column 'mood' \(transcript\.csv\)",
    ),
    told("ratings without a row", rated(RATED), "ratings.csv has no rows"),
    told(
        "ratings in a spreadsheet",
        rated(b"PK", "ratings.xlsx"),
        "ratings.xlsx is not used: ratings are read from ratings.csv",
    ),
    told("ratings under another name", rated(RATINGS, "scores.csv"), "scores.csv is not used"),
]
"""What must come of each."""
