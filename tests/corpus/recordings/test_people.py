import json
import os

import pytest

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.inspection.inspect import inspect, render
from apportion.corpus.recordings.people import NO_FACE, PersonLine, Recorded, people_of, person_line, share
from apportion.corpus.recordings.told import REPORT, look, told_before
from apportion.corpus.session import Media, Session, Turn
from tests.features.clips import flat, tone, write_two_videos, write_wav

TURNS = (
    Turn(0, "ann", "one two three four", 0.0, 4.0),
    Turn(1, "bob", "five", 4.0, 5.0),
    Turn(2, "ann", "six seven", 6.0, 10.0),
    Turn(3, "ann", "eight", 12.0, 12.0),
    Turn(4, "ann", "untimed words"),
)


@pytest.mark.parametrize(
    ("spans", "inside", "faults"),
    [
        ([], 7, 0),
        ([(0.0, 20.0)], 7, 0),
        ([(0.0, 11.5)], 6, 0),
        ([(0.0, 9.5)], 6, 1),
        ([(0.0, 7.0)], 5, 1),
        ([(0.0, 20.0), (0.0, 1.0)], 2, 1),
        ([(3.0, 20.0)], 5, 1),
        ([(50.0, 60.0)], 0, 1),
    ],
)
def test_words_inside_the_recording(spans, inside, faults):
    recorded = [Recorded(f"{n}.wav", span) for n, span in enumerate(spans)]
    line = person_line(Session("s1", TURNS), "ann", ["sound"], recorded, ["odd"])
    assert (line.words, line.inside, len(line.faults)) == (7, inside, faults + 1)
    assert str(line) == f"session s1: ann: sound, words {inside} of 7 inside the recording"


def test_who_says_nothing():
    assert str(person_line(Session("s1", TURNS), "eve", ["picture"], [], [])) == (
        "session s1: eve: picture, no timed words"
    )


@pytest.mark.parametrize(("value", "text"), [(1.0, "100 %"), (0.956, "96 %"), (0.001, "under 1 %"), (0.0, "0 %")])
def test_shares(value, text):
    assert share("face", value) == f"face {text}"


def test_everybody_who_is_recorded(tmp_path):
    write_wav(tmp_path / "a.wav", tone(20.0))
    write_two_videos(tmp_path / "b.mkv", [flat()] * 5, [flat()] * 5)
    (tmp_path / "c.wav").write_bytes(b"no sound" * 99)
    media = (
        Media("ann", "audio", "a.wav", -2.0),
        Media("bob", "video", "b.mkv"),
        Media("cid", "audio", "c.wav"),
        Media("dan", "audio", "../outside.wav"),
        Media("eve", "features", "a.csv"),
    )
    lines = list(people_of(Session("s1", TURNS, media=media), tmp_path))
    assert [line.speaker for line in lines] == ["ann", "bob", "cid", "dan"]
    assert str(lines[0]) == "session s1: ann: sound 100 %, words 7 of 7 inside the recording"
    assert lines[1].parts == (NO_FACE, "no sound") and "b.mkv holds 2 films" in lines[1].faults[0]
    assert "1 of 1 words lie outside b.mkv, which runs from 0.0 to 0.2 s" in lines[1].faults[1]
    assert lines[2].warnings[0].startswith("session s1: cid: c.wav: cannot be opened as a recording")
    assert lines[3].parts == () and not lines[3].faults  # Validation says it.


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "src" / "s1"
    folder.mkdir(parents=True)
    (folder / "talk.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:00.900\n<v ann>Hello there.\n")
    write_wav(folder / "ann.wav", 0 * tone(1.0))
    import_to("media", tmp_path / "src", tmp_path / "corpus")
    return tmp_path / "corpus"


def test_what_the_import_told_is_shown_again_while_it_is_true(corpus):
    told = told_before(corpus)
    assert told == look(Corpus.open(corpus)) and len(told.warnings) == 1
    text = render(inspect(Corpus.open(corpus)))
    assert "recorded: session s1: ann: sound 0 %, words 2 of 2 inside the recording" in text
    assert "warning: session s1: ann: media/s1/ann.wav: the sound is silent" in text
    os.utime(corpus / REPORT, (1, 1))
    assert told_before(corpus) is None
    assert inspect(Corpus.open(corpus)).recorded == (str(told.people[0]),)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"recordings": {"people": [{"words": 1}], "chosen": []}}'])
def test_a_report_of_somebody_else_is_no_report(corpus, text):
    (corpus / REPORT).write_text(text)
    assert told_before(corpus) is None


def test_what_was_told_is_read_as_it_was_written(corpus):
    written = json.loads((corpus / REPORT).read_text())["recordings"]
    assert told_before(corpus).to_json() | {} == written | {"people": told_before(corpus).to_json()["people"]}
    line = PersonLine("s1", "ann", ("sound 0 %",), 2, 2, told_before(corpus).people[0].faults)
    assert told_before(corpus).people == (line,)


def test_a_corpus_without_recordings_has_nothing_to_tell():
    rows = CorpusRows()
    rows.session("s1", "by hand")
    rows.utterance("s1", 0, "ann", "Hello.")
    assert look(Corpus.of(".", rows.tables())).people == ()
