import json
import os

import pyarrow.parquet as pq
import pytest

from apportion.corpus.account import opened
from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.media import import_corpus
from apportion.corpus.session import Media
from apportion.corpus.validate import validate
from apportion.foundation.errors import InputError
from tests.corpus.importers.recorded import mp4, wav
from tests.features.clips import flat, write_movie
from tests.shared import shared

VTT = "WEBVTT\n\n00:00.000 --> 00:00.900\n<v Alice>Hello.\n\n00:01.000 --> 00:01.900\n<v Bob>Hi, Alice.\n"
RATINGS = "session_id,rater,target,name,score,low,high\n"


def dyad(folder, ratings=None):
    """One session: a file a speaker, a transcript."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "talk.vtt").write_text(VTT)
    mp4(folder / "alice.mp4", channels=1)
    wav(folder / "bob.wav")
    if ratings:
        (folder / "ratings.csv").write_text("rater,target,name,score,low,high\n" + ratings)
    return folder


@pytest.fixture
def src(tmp_path):
    dyad(tmp_path / "src" / "s1")
    dyad(tmp_path / "src" / "s2")
    (tmp_path / "src" / "ratings.csv").write_text(f"{RATINGS}s1,ALICE,bob,fun,4,1,5\ns2,Bob,Alice,fun,2,1,5\n")
    return tmp_path / "src"


def test_a_file_a_speaker(src, tmp_path):
    report = import_to("media", src, tmp_path / "corpus", {"language": "en"})
    assert report.left_out == () and report.problems == ()
    corpus = Corpus.open(tmp_path / "corpus")
    s1 = corpus.session("s1")
    assert [(t.speaker, t.text, t.start_s, t.end_s) for t in s1.turns] == [
        ("Alice", "Hello.", 0.0, 0.9),
        ("Bob", "Hi, Alice.", 1.0, 1.9),
    ]
    assert s1.media == (
        Media("Alice", "audio", "media/s1/alice.mp4"),
        Media("Alice", "video", "media/s1/alice.mp4"),
        Media("Bob", "audio", "media/s1/bob.wav"),
    )
    assert (s1.ratings[0].rater, s1.ratings[0].target, s1.ratings[0].score) == ("Alice", "Bob", 4.0)
    assert s1.duration_s == pytest.approx(2, abs=0.3) and s1.language == "en"
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_time_stamps_of_the_day_are_taken_in_every_container(tmp_path, suffix):
    folder = tmp_path / "src" / "s1"
    folder.mkdir(parents=True)
    (folder / "talk.vtt").write_text("WEBVTT\n\n24:00:00.000 --> 24:00:01.900\n<v Alice>Hello.\n")
    write_movie(folder / f"alice.{suffix}", [flat()] * 50, times_s=[86_400 + i / 25 for i in range(50)])
    report = import_to("media", tmp_path / "src", tmp_path / "corpus", {})
    assert report.left_out == () and not [p for p in report.problems if p.severity == "error"]
    assert Corpus.open(tmp_path / "corpus").session("s1").duration_s == pytest.approx(86_402, abs=0.1)


def test_what_is_called_like_a_file_and_is_none_is_told_and_not_opened(src, tmp_path):
    (src / "s1" / "alice.mp4").unlink()
    (src / "s1" / "alice.mp4").mkdir()
    os.mkfifo(src / "s1" / "bob.mp3")
    (src / "s2" / "notes.vtt").symlink_to("nowhere")
    os.mkfifo(src / "extra.csv")
    (src / "s3").mkdir()
    os.mkfifo(src / "s3" / "talk.vtt")
    report = import_to("media", src, tmp_path / "corpus", {"language": "en"})
    assert set(report.notes) == {
        "extra.csv is a pipe or a device, not a file: it is not used",
        "session s1: alice.mp4 is a folder, not a file: it is not used",
        "session s1: bob.mp3 is a pipe or a device, not a file: it is not used",
        "session s2: notes.vtt is a link that leads nowhere, not a file: it is not used",
    }
    (left_out,) = report.left_out
    assert left_out.session_id == "s3" and "one transcript is needed, found 0" in left_out.message


def test_recordings_are_linked_into_the_corpus_and_copied_where_that_cannot_be(src, tmp_path, monkeypatch):
    import_to("media", src, tmp_path / "linked")
    assert (tmp_path / "linked/media/s1/bob.wav").samefile(src / "s1/bob.wav")
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(18, "cross-device link")))
    import_to("media", src, tmp_path / "copied")
    copied = tmp_path / "copied/media/s1/bob.wav"
    assert not copied.samefile(src / "s1/bob.wav") and copied.read_bytes() == (src / "s1/bob.wav").read_bytes()
    assert not [path for path in copied.parent.iterdir() if path.name.startswith(".")]


def test_the_same_import_again_changes_nothing(src, tmp_path):
    import_to("media", src, tmp_path / "corpus")
    before = {path: path.read_bytes() for path in (tmp_path / "corpus").rglob("*") if path.is_file()}
    import_to("media", src, tmp_path / "corpus")
    assert {path: path.read_bytes() for path in (tmp_path / "corpus").rglob("*") if path.is_file()} == before


def test_in_place_the_recordings_stay_and_what_leads_outside_is_brought_in(src, tmp_path):
    import_to("media", src, src)
    corpus = Corpus.open(src)
    assert corpus.session("s1").media[2].path == "s1/bob.wav" and not (src / "media").exists()
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]
    (src / "s1" / "bob.wav").rename(tmp_path / "elsewhere.wav")
    (src / "s1" / "bob.wav").symlink_to(tmp_path / "elsewhere.wav")
    import_to("media", src, src)
    assert Corpus.open(src).session("s1").media[2].path == "media/s1/bob.wav"


def test_a_shared_file_with_a_channel_map(tmp_path):
    folder = tmp_path / "src" / "s1"
    folder.mkdir(parents=True)
    (folder / "transcript.vtt").write_text(VTT)
    (folder / "other.vtt").write_text("not the one")
    (folder / "channel_map.json").write_text(json.dumps({"L": "alice", "R": "bob"}))
    mp4(folder / "call.mp4", channels=2)
    import_to("media", tmp_path / "src", tmp_path / "corpus")
    assert Corpus.open(tmp_path / "corpus").session("s1").media == (
        Media("Alice", "audio", "media/s1/call.mp4", 0.0, "L"),
        Media("Alice", "video", "media/s1/call.mp4", 0.0, "left"),
        Media("Bob", "audio", "media/s1/call.mp4", 0.0, "R"),
        Media("Bob", "video", "media/s1/call.mp4", 0.0, "right"),
    )


def test_ratings_in_the_session_folder(tmp_path):
    dyad(tmp_path / "src" / "s1", ratings="Alice,Bob,fun,4,1,5\n")
    (row,) = import_corpus(tmp_path / "src", {}).tables["ratings"].to_pylist()
    assert (row["session_id"], row["score"]) == ("s1", 4.0)


def test_segments_without_a_speaker_are_told(src):
    segments = [{"speaker": "Alice", "start": 0, "end": 1, "text": "a"}, {"start": 1, "end": 2, "text": "b"}]
    (src / "s1" / "transcript.json").write_text(json.dumps({"segments": segments}))
    wav(src / "s1" / "Alice.wav")
    (src / "s1" / "bob.wav").unlink()
    with opened() as account:
        made = import_corpus(src, {})
    (cues,) = [line for line in account.settled(made) if line.what == "cues"]
    assert cues.left_out == {"without a speaker": (1, ("transcript.json, segment 2",))} and made.notes == ()


GOOD = "s1,Alice,Bob,fun,3,1,5\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s2/talk.vtt", None, "one transcript is needed, found 0"),
        ("s2/talk.srt", b"x", "found 2 (talk.srt, talk.vtt). Name the right one transcript.*"),
        ("s2/bob.wav", b"", "bob.wav: the file has zero bytes"),
        ("s2/talk.vtt", VTT.encode() + b"\xe9", "not UTF-8 at line 8"),
        ("ratings.csv", f"{RATINGS}s2,Alice,Bob,fun,good,1,5\n{GOOD}".encode(), "line 2, column score: 'good'"),
        ("s2/ratings.csv", f"{RATINGS}{GOOD}".encode(), "rates session 's1'; this folder is 's2'"),
    ],
)
def test_a_broken_session_is_left_out_alone(src, name, content, words):
    (src / name).unlink() if content is None else (src / name).write_bytes(content)
    imported = import_corpus(src, {})
    (left_out,) = imported.left_out
    assert left_out.session_id == "s2" and words in left_out.message
    for table in ("sessions", "utterances", "ratings", "media"):
        assert set(imported.tables[table].column("session_id").to_pylist()) == {"s1"}


def test_a_rating_of_a_session_that_is_not_there(src):
    (src / "ratings.csv").write_text(f"{RATINGS}s11,Alice,Bob,fun,3,1,5\n")
    (left_out,) = import_corpus(src, {}).left_out
    assert "there is no folder 's11'; did you mean 's1'" in left_out.message
    (src / "ratings.csv").write_text(f"{RATINGS}zzz,Alice,Bob,fun,3,1,5\n")
    assert "Add the folder" in import_corpus(src, {}).left_out[0].message


def test_a_transcript_for_another_session_is_found_by_validation(src, tmp_path):
    (src / "s2" / "talk.vtt").write_text(VTT + "\n00:59.000 --> 01:00.000\n<v Bob>Late.\n")
    report = import_to("media", src, tmp_path / "corpus")
    (problem,) = report.problems
    assert problem.session_id == "s2" and "transcript for another session" in problem.hint


def test_a_source_that_is_no_folder_of_sessions(src, tmp_path):
    with pytest.raises(InputError, match="is a file; a folder with one folder a session"):
        import_corpus(src / "ratings.csv", {})
    with pytest.raises(InputError, match="no such folder"):
        import_corpus(src / "nowhere", {})
    (tmp_path / "empty" / "x").mkdir(parents=True)
    with pytest.raises(InputError, match=r"no folder in it has a recording or a transcript \(\.vtt, .*\)\. See"):
        import_corpus(tmp_path / "empty", {})
    (src / "ratings.csv").write_text("who,what\n")
    with pytest.raises(InputError, match="no column 'session_id'"):
        import_corpus(src, {})


def test_a_folder_that_is_one_session(tmp_path):
    report = import_to("media", dyad(tmp_path / "talk", "Alice,Bob,fun,4,1,5\n"), tmp_path / "corpus")
    assert (report.rows["sessions"], report.rows["ratings"], report.left_out) == (1, 1, ())
    assert Corpus.open(tmp_path / "corpus").session_ids() == ["talk"] and not report.problems


def test_a_real_dyad(tmp_path):
    folder = tmp_path / "src" / "dyad"
    folder.mkdir(parents=True)
    (folder / "transcript.srt").write_text(
        "1\n00:00:00,500 --> 00:00:07,500\nLeft: one\n\n2\n00:00:08,500 --> 00:00:15,500\nRight: two\n"
    )
    (folder / "channel_map.json").write_text(json.dumps({"L": "Left", "R": "Right"}))
    (folder / "call.mp4").symlink_to(shared("media/dyad_synthetic_16s.mp4"))
    (folder / "ratings.csv").write_text("rater,target,name,score,low,high\nRight,Left,fun,4,1,5\n")
    report = import_to("media", tmp_path / "src", tmp_path / "corpus")
    session = Corpus.open(tmp_path / "corpus").session("dyad")
    assert report.problems == () and session.duration_s == pytest.approx(16, abs=0.1) and len(session.media) == 4


OPENFACE = "frame, timestamp, success, AU12_c, AU04_c, gaze_angle_x\n1, 0.0, 1, 1, 0, 0.1\n2, 0.04, 1, 0, 0, 0.1\n"


def measured(tmp_path, name, text):
    folder = dyad(tmp_path / "src" / "s1")
    (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("options", [{}, {"map": "openface"}])
def test_measurements_of_another_program_are_media_of_their_speaker(tmp_path, options):
    measured(tmp_path, "ALICE.features.csv", OPENFACE)
    report = import_to("media", tmp_path / "src", tmp_path / "corpus", {"language": "en", **options})
    corpus = Corpus.open(tmp_path / "corpus")
    assert Media("Alice", "features", "media/s1/ALICE.features.csv", 0.0, "openface") in corpus.session("s1").media
    assert (tmp_path / "corpus" / "media" / "s1" / "ALICE.features.csv").read_text() == OPENFACE
    told = "ALICE.features.csv is read as openface: AU12_c, AU04_c, gaze_angle_x"
    assert any(told in note for note in report.notes)
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("carol.features.csv", OPENFACE, {}, "carol.features.csv: belongs to no speaker"),
        (
            "bob.features.csv",
            "time,x\n0,1\n",
            {},
            r"no ready map \(candor, openface, .*Say which are what: -o map=COLUMN",
        ),
        ("bob.features.csv", "frame,AU12,anger\n0,1,0\n", {}, "Say how many there are a second, as in py-feat@25"),
        ("bob.features.csv", OPENFACE, {"map": "mood:smile"}, "no column 'mood'. Correct -o map"),
        ("bob.features.csv", OPENFACE, {"map": "mexca"}, "no column 'pitch_f0_hz', .*Correct -o map"),
        ("bob.features.csv", "t,x\n0,1\n", {"map": "x:smile"}, "no column of times .*-o map=x:smile,COLUMN:time"),
    ],
)
def test_measurements_of_nobody_or_of_nothing_fail_their_session(tmp_path, name, text, options, words):
    measured(tmp_path, name, text)
    with pytest.raises(InputError, match=words):
        import_to("media", tmp_path / "src", tmp_path / "corpus", {"language": "en", **options})


def test_a_map_that_is_none_is_refused_at_once(tmp_path):
    dyad(tmp_path / "src" / "s1")
    with pytest.raises(InputError, match="import media: option map=a:smil: 'smil' is no feature"):
        import_to("media", tmp_path / "src", tmp_path / "corpus", {"map": "a:smil"})


def test_a_channel_that_is_no_map_is_told(tmp_path):
    measured(tmp_path, "alice.features.csv", OPENFACE)
    import_to("media", tmp_path / "src", tmp_path / "corpus", {"language": "en"})
    path = tmp_path / "corpus" / "media.parquet"
    table = pq.read_table(path)
    channels = ["left" if channel == "openface" else channel for channel in table["channel"].to_pylist()]
    pq.write_table(table.set_column(table.schema.get_field_index("channel"), "channel", [channels]), path)
    problems = [problem for problem in validate(Corpus.open(tmp_path / "corpus")) if problem.column == "channel"]
    assert [problem.value for problem in problems] == ["'left'"] and "py-feat" in problems[0].allowed
