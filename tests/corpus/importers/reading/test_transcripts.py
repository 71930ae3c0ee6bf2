import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from praatio import textgrid

from apportion.corpus.importers.reading.transcripts import read_transcript
from apportion.corpus.speakers.labels import Cue
from apportion.corpus.speakers.names import name_key
from apportion.corpus.speakers.settle import Known, settle
from apportion.foundation.errors import InputError, UnitError

VTT = """WEBVTT

1
00:00:03.500 --> 00:00:04.000
<v.loud Bob Smith>No &amp; <i>never</i></v>

00:01.250 --> 00:02.000
<v Alice>Hi
there</v>
"""
SRT = "1\n00:00:01,250 --> 00:00:02,000\nAlice: Hi\nthere\n\n2\n00:00:03,500 --> 00:00:04,000\nBob Smith: No & never\n"
CSV = "turn_id,speaker,start,stop,utterance\n1,Bob Smith,3.5,4.0,No & never\n0,Alice,1.25,2.0,Hi there\n"
WHISPERX = json.dumps(
    {
        "segments": [
            {"speaker": "Bob Smith", "start": 3.5, "end": 4, "text": " No & never"},
            {"speaker": "Alice", "start": 1.25, "end": 2.0, "text": " Hi there"},
        ]
    }
)
EXPECTED = (Cue("Alice", "Hi there", 1.25, 2.0), Cue("Bob Smith", "No & never", 3.5, 4.0))


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def turns(path, *known):
    """What is read of it, where nothing but ``known`` names is known beside."""
    return settle(read_transcript(path), known=Known(recorded=known)).cues


def textgrid_at(path):
    grid = textgrid.Textgrid()
    for cue in EXPECTED:
        grid.addTier(textgrid.IntervalTier(cue.speaker, [(cue.start_s, cue.end_s, cue.text)], 0, 5))
    grid.save(str(path), format="long_textgrid", includeBlankSpaces=True)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.vtt", VTT),
        ("t.srt", SRT),
        ("t.csv", CSV),
        ("t.tsv", CSV.replace(",", "\t")),
        ("t.CSV", CSV.replace("start,stop,utterance", "START_S, end_s ,text")),
        ("t.json", WHISPERX),
    ],
)
def test_every_format_says_the_same(tmp_path, name, text):
    path = write(tmp_path, name, text)
    assert turns(path, "Alice", "Bob Smith") == EXPECTED


def test_textgrids_as_praat_saves_them(tmp_path):
    assert turns(textgrid_at(tmp_path / "t.TextGrid")) == EXPECTED
    path = textgrid_at(tmp_path / "t.TextGrid")
    path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    assert turns(path) == EXPECTED


def test_two_voices_or_a_name_in_one_cue(tmp_path):
    path = write(tmp_path, "t.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>one</v>\n<v B>two</v>\n")
    assert turns(path) == (Cue("A", "one", 1.0, 2.0), Cue("B", "two", 1.0, 2.0))
    path = write(tmp_path, "t.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nDr. X: it is 12:30\n")
    assert turns(path, "Dr. X") == (Cue("Dr. X", "it is 12:30", 1.0, 2.0),)


TIMES = "WEBVTT\n\n00:01.000 --> 00:02.000\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.vtt", TIMES + "no speaker\n", "cue 1 .*no speaker"),
        ("t.vtt", "hello", "not a readable VTT file"),
        ("t.vtt", VTT + "\n00:05.x --> 00:06.000\n<v A>x\n", "1 cues have times that cannot be read"),
        ("t.vtt", "WEBVTT\n\n00:03.000 --> 00:02.000\n<v A>x\n", "from 3 s to 2 s; 0 <= start <= end"),
        ("t.vtt", "WEBVTT\n", "no speech of a known speaker"),
        ("t.srt", "garbage", "SRT file|no speech"),
        ("t.csv", "speaker,start,text\n", "no column for the end; allowed: stop, end, stop_s, end_s"),
        ("t.csv", "speaker,start,stop,text\nA,one,2,x\n", "line 2: start 'one' and end '2'; numbers"),
        ("t.csv", "speaker,start,stop,text\nA,nan,2,x\n", "line 2: start 'nan'"),
        ("t.csv", "speaker,start,stop,text\n,1,2,x\n", "line 2: speaker ''"),
        ("t.csv", "speaker,start,stop,text\nA,-1,2,x\n", "from -1 s to 2 s"),
        ("t.csv", 'speaker,start,stop,text\nA,1,2,"' + "x" * 200_000, "not readable CSV"),
        ("t.json", "[]", 'no list "segments"'),
        ("t.json", '{"segments": [3]}', "segment 1: an object is needed"),
        ("t.json", '{"segments": [{"text": "a"}]}', "no segment has a speaker"),
        ("t.json", '{"segments": [{"speaker": "A", "text": "a"}]}', "segment 1: start None"),
        ("t.TextGrid", "hello", "not a readable TextGrid"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, text, words):
    with pytest.raises(UnitError, match=words):
        turns(write(tmp_path, name, text))


@pytest.mark.parametrize("name", ["t.vtt", "t.srt", "t.csv", "t.json", "t.TextGrid"])
def test_not_utf8_and_zero_bytes(tmp_path, name):
    (tmp_path / name).write_bytes(b"WEBVTT\ncaf\xe9")
    with pytest.raises(InputError, match="not UTF-8 at line 2"):
        read_transcript(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match="zero bytes"):
        read_transcript(tmp_path / name)


words = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=8)
names = words.map(name_key).filter(lambda name: name.isalnum() and name == name_key(name))
milliseconds = st.integers(0, 86_400_000)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(names, st.lists(words, min_size=1), milliseconds, st.integers(0, 9999)), min_size=1, max_size=5)
)
def test_vtt_and_srt_keep_every_millisecond(tmp_path_factory, drawn):
    def stamp(ms, mark):
        return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{mark}{ms % 1000:03d}"

    folder = tmp_path_factory.mktemp("t")
    expected = sorted(
        (Cue(who, " ".join(said), start / 1000, (start + long) / 1000) for who, said, start, long in drawn),
        key=lambda cue: cue.start_s,
    )
    for name, head, mark in (("t.vtt", "WEBVTT\n\n", "."), ("t.srt", "", ",")):
        cues = [
            f"{i}\n{stamp(start, mark)} --> {stamp(start + long, mark)}\n{who}: {' '.join(said)}\n"
            for i, (who, said, start, long) in enumerate(drawn, start=1)
        ]
        found = turns(write(folder, name, head + "\n".join(cues)), *(who for who, *_ in drawn))
        assert [(c.speaker, c.text) for c in found] == [(c.speaker, c.text) for c in expected]
        assert [t for c in found for t in (c.start_s, c.end_s)] == pytest.approx(
            [t for c in expected for t in (c.start_s, c.end_s)]
        )
