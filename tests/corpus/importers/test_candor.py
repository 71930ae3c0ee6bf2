import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.cli import main
from corpus.corpus import Corpus
from corpus.errors import InputError, UnitError
from corpus.importers import import_to
from corpus.importers.candor import import_corpus
from corpus.importers.candor_transcripts import Line, spoken
from corpus.session import Media
from corpus.validate import validate
from tests.corpus.importers.candor_tree import (
    rewrite,
    talk,
    write_json,
    write_media,
    write_package,
    write_table,
    write_tree,
)
from tests.features.clips import flat, write_wav

PLAIN = {"media": "none"}
CLIFFHANGER = "transcription/transcript_cliffhanger.csv"


@pytest.fixture
def talks():
    return [talk(1), talk(2)]


@pytest.fixture
def src(tmp_path, talks):
    """Two conversations without recordings."""
    return write_tree(tmp_path / "src", talks, media=False)


def opened(src, options=PLAIN):
    """The result of an import, as (report, corpus)."""
    out = src.parent / "corpus"
    report = import_to("candor", src, out, options, overwrite=True)
    return report, Corpus.open(out)


def left_out(src, options=PLAIN):
    return [str(item) for item in import_corpus(src, options).left_out]


def noted(src, options=PLAIN):
    return "\n".join(import_corpus(src, options).notes)


# What is imported


def test_a_folder_a_conversation(tmp_path, talks):
    report, corpus = opened(write_tree(tmp_path / "src", talks), {"features": "precomputed"})
    one = talks[0]
    left, right = one.people
    session = corpus.session(one.id)
    assert (report.left_out, report.problems) == ((), ())
    assert [(t.turn, t.speaker, t.text, t.start_s, t.end_s) for t in session.turns] == [
        (row["turn_id"], row["speaker"], row["utterance"], row["start"], row["stop"]) for row in one.turns
    ]
    assert {(r.rater, r.target, r.name, r.score, r.low, r.high, r.higher_is_better) for r in session.ratings} == {
        (row["user_id"], row["partner_id"], "overall_affect", row["overall_affect"], 1.0, 9.0, True)
        for row in one.survey
    }
    at = f"media/{one.id}"
    assert set(session.media) == {
        Media(left, "audio", f"{at}/{one.id}.mp3", 0.0, "L"),
        Media(right, "audio", f"{at}/{one.id}.mp3", 0.0, "R"),
        *(Media(person, "video", f"{at}/{person}.mp4") for person in one.people),
        *(Media(person, "features", f"{at}/audio_video_features.csv") for person in one.people),
    }
    assert all((corpus.root / media.path).is_file() for media in session.media)
    assert session.duration_s == pytest.approx(one.turns[-1]["stop"] + 0.5, abs=0.1)
    assert (session.source, session.language) == ("candor/cliffhanger", "en")


@pytest.mark.parametrize("transcripts", [True, False])
def test_one_survey_for_all(tmp_path, talks, transcripts):
    src = write_package(tmp_path / "src", talks, transcripts=transcripts)
    _, corpus = opened(src)
    _, expected = opened(write_tree(tmp_path / "other" / "src", talks, media=False))
    assert corpus.tables == expected.tables and corpus.ratings.num_rows == 4


def test_one_transcript_for_all_without_any_folder(tmp_path, talks):
    src = write_package(tmp_path / "src", talks)
    for one in talks:
        (src / "raw" / one.id / "metadata.json").unlink()
    rewritten = (src / "survey.tsv").read_text().replace(talks[1].id, "not-here\x1b[31m")
    (src / "survey.tsv").write_text(rewritten)
    _, corpus = opened(src)
    assert [len(corpus.session(one.id).ratings) for one in talks] == [2, 0]
    assert r"rated in the survey for all, but not here: 1 session ('not-here\x1b[31m')" in noted(src)


@pytest.mark.parametrize("kind", ["audiophile", "backbiter", "cliffhanger"])
def test_transcripts(src, talks, kind):
    for one in talks:
        for other in {"audiophile", "backbiter", "cliffhanger"} - {kind}:
            (src / one.id / f"transcription/transcript_{other}.csv").unlink()
    report, corpus = opened(src, PLAIN | {"transcript": kind})
    assert len(corpus.session(talks[0].id).turns) == 12
    assert corpus.session(talks[0].id).source == f"candor/{kind}"
    told = "backchannels are no turns and were left out; turns that held some: 6 in 2 sessions"
    assert (told in "\n".join(report.notes)) == (kind == "backbiter")
    assert "mhm" not in corpus.utterances.column("text").to_pylist()


@pytest.mark.parametrize(("option", "many"), [("middle4", 4), ("4", 4), ("middle5", 5), ("all", 12), ("middle100", 12)])
def test_turns_from_the_middle_keep_their_numbers_and_times(src, talks, option, many):
    report, corpus = opened(src, PLAIN | {"turns": option})
    turns = corpus.session(talks[0].id).turns
    first = (12 - many) // 2
    assert [turn.turn for turn in turns] == list(range(first, first + many))
    assert turns[0].start_s == talks[0].turns[first]["start"]
    assert ("fewer than 100 turns, all were kept: 2 sessions" in str(report)) == (option == "middle100")


@given(st.integers(2, 40), st.integers(2, 50))
def test_the_middle_is_in_the_middle(turns, middle):
    lines = [Line(i + 2, "ab"[i % 2], str(i), str(i + 1), "x", "") for i in range(turns)]
    kept = [turn for turn, _ in spoken(lines, "t", frozenset("ab"), middle).turns]
    assert kept == list(range(kept[0], kept[0] + min(turns, middle)))
    assert abs(kept[0] - (turns - 1 - kept[-1])) <= 1


@pytest.mark.parametrize(
    ("options", "name", "scale", "good"),
    [
        ({"score": "how_enjoyable"}, "how_enjoyable", (1, 9), True),
        ({"score": "i_like_you"}, "i_like_you", (1, 7), True),
        ({"score": "conversationalist"}, "conversationalist", (0, 100), True),
        ({"score": "in_common", "low": "1", "high": "7"}, "in_common", (1, 7), True),
        ({"score": "my_mind_wander", "low": "0", "high": "7", "better": "low"}, "my_mind_wander", (0, 7), False),
        ({"low": "0", "high": "10"}, "overall_affect", (0, 10), True),
    ],
)
def test_scores(src, talks, options, name, scale, good):
    _, corpus = opened(src, PLAIN | options)
    rating = corpus.session(talks[0].id).ratings[0]
    assert (rating.name, rating.low, rating.high, rating.higher_is_better) == (name, *scale, good)
    by_user = {row["user_id"]: row[name] for row in talks[0].survey}
    assert rating.score == by_user[rating.rater]


def test_a_score_from_before_the_conversation_is_remarked(src):
    assert "pre_affect was asked before the conversation" in noted(src, PLAIN | {"score": "pre_affect"})


def test_downloads_in_several_parts_are_one_conversation(tmp_path, talks):
    src = tmp_path / "src"
    write_tree(src / "raw" / "no_media", talks, media=False)
    for one in talks:
        (src / "processed_media_part_001" / one.id).mkdir(parents=True)
        write_media(src / "processed_media_part_001" / one.id / "processed", one)
    (src / "__MACOSX" / talks[0].id).mkdir(parents=True)
    report, corpus = opened(src, {})
    assert report.left_out == () and len(corpus.session(talks[0].id).media) == 4


def test_the_same_import_twice_gives_the_same_bytes(src):
    opened(src)
    first = {path.name: path.read_bytes() for path in (src.parent / "corpus").iterdir()}
    import_to("candor", src, src.parent / "corpus", PLAIN)
    assert {path.name: path.read_bytes() for path in (src.parent / "corpus").iterdir()} == first


# Recordings


@pytest.fixture
def recorded(tmp_path, talks):
    """One conversation with recordings: (src, its folder)."""
    src = write_tree(tmp_path / "src", talks[:1])
    return src, src / talks[0].id


def kinds(src, options):
    table = import_corpus(src, options).tables["media"]
    return sorted(zip(table.column("kind").to_pylist(), table.column("channel").to_pylist(), strict=True), key=str)


@pytest.mark.parametrize(
    ("media", "features", "expected"),
    [
        ("all", "none", [("audio", "L"), ("audio", "R"), ("video", None), ("video", None)]),
        ("audio", "none", [("audio", "L"), ("audio", "R")]),
        ("none", "none", []),
        ("none", "precomputed", [("features", None)] * 2),
    ],
)
def test_which_media_are_wanted(recorded, media, features, expected):
    src, _ = recorded
    assert kinds(src, {"media": media, "features": features}) == expected
    asked = "audio_video_features.csv is there and was not asked for (-o features=precomputed): 1 session"
    assert (asked in noted(src, {"media": media, "features": features})) == (features == "none")


def test_channels_come_from_the_metadata_where_there_is_no_channel_map(recorded, talks):
    src, folder = recorded
    (folder / "processed/channel_map.json").unlink()
    media = import_corpus(src, {}).tables["media"].to_pylist()
    assert {row["channel"]: row["speaker"] for row in media if row["kind"] == "audio"} == dict(
        zip("LR", talks[0].people, strict=True)
    )
    (folder / "metadata.json").unlink()
    assert "sound without speakers was left out: 1 session" in noted(src, {})
    assert "neither channel_map.json nor metadata.json says who is on which channel" in noted(src, {})


def test_half_of_the_side_by_side_picture_is_nobodys(recorded, talks):
    src, folder = recorded
    (folder / f"processed/{talks[0].people[1]}.mp4").unlink()
    assert [kind for kind, _ in kinds(src, {})] == ["audio", "audio", "video"]
    assert "nobody says whose half is whose: 1 session" in noted(src, {})
    (folder / f"processed/{talks[0].id}.mp4").unlink()
    assert "a speaker has no video: 1 session" in noted(src, {})


def _swapped(folder, one):
    write_json(folder / "channel_map.json", dict(zip("RL", one.people, strict=True)))


def _strangers(folder, one):
    write_json(folder / "channel_map.json", {"L": "carol", "R": one.people[1]})


def _mono(folder, one):
    write_wav(folder / f"{one.id}.mp3", flat()[0] / 255.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_swapped, r"channel_map.json has \w+ on R, metadata.json \w+"),
        (_strangers, "'carol' is not of this conversation"),
        (lambda folder, one: (folder / "channel_map.json").write_text("{"), "not valid JSON"),
        (_mono, r"mp3 has 1 channel\(s\), not 2"),
        (lambda folder, one: (folder / f"{one.id}.mp3").write_bytes(b""), "cannot be read was left out.*zero bytes"),
        (lambda folder, one: (folder / f"{one.id}.mp3").unlink(), "no stereo mp3"),
    ],
)
def test_sound_that_is_nobodys_is_left_out_alone(recorded, talks, change, words):
    src, folder = recorded
    change(folder / "processed", talks[0])
    found = import_corpus(src, {})
    assert found.left_out == () and [kind for kind, _ in kinds(src, {})] == ["video", "video"]
    assert re.search(words, "\n".join(found.notes))


def test_broken_videos_are_left_out_alone(recorded, talks):
    src, folder = recorded
    left, right = talks[0].people
    (folder / f"processed/{left}.mp4").write_bytes(b"not a video" * 99)
    write_wav(folder / f"processed/{right}.mp4", flat()[0] / 255.0)
    assert kinds(src, {}) == [("audio", "L"), ("audio", "R")]
    notes = noted(src, {})
    assert "not a readable recording" in notes and f"without a picture was left out: 1 session ({talks[0].id}" in notes


def test_no_recordings_at_all(src):
    assert "no recording that can be used: 2 sessions" in noted(src, {})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        ("timedelta,user_id\n", "it has no rows"),
        ("time,user_id\n1,2\n", "it has no column 'timedelta'"),
        (None, "no audio_video_features.csv, or one that cannot be used: 1 session"),
    ],
)
def test_features_that_cannot_be_used_are_left_out_alone(src, talks, content, words):
    path = src / talks[0].id / "audio_video_features.csv"
    path.unlink() if content is None else path.write_text(content)
    found = import_corpus(src, PLAIN | {"features": "precomputed"})
    assert found.left_out == () and found.tables["media"].num_rows == 2
    assert words in "\n".join(found.notes)


# Broken conversations


def _cells(column, value, row=2):
    def change(rows):
        rows[row][column] = value

    return change


BROKEN_TRANSCRIPTS = [
    (_cells("start", "x"), "line 4, column start: 'x'; a number of seconds is needed"),
    (_cells("stop", "inf"), "line 4, column stop: 'inf'; a number of seconds"),
    (_cells("start", "99"), "line 4: from 99 s to .*; 0 <= start <= stop is needed"),
    (_cells("start", "-1"), "line 4: from -1 s"),
    (_cells("speaker", "carol"), r"line 4, column speaker: 'carol' is not of this conversation \(\w+ and \w+\)"),
    (lambda rows: [], "transcript_cliffhanger.csv: no turns in it"),
    (lambda rows: rows[::2], r"only \w+ speaks in the 6 turns"),
    (lambda rows: [row | {"utterance": " "} for row in rows], "nobody says anything"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN_TRANSCRIPTS)
def test_a_broken_transcript_leaves_its_conversation_out(src, talks, change, words):
    rewrite(src / talks[0].id / CLIFFHANGER, change)
    _only(src, talks, words)


def _only(src, talks, words, options=PLAIN):
    """The first conversation is left out with these words, and the second one is there."""
    found = import_corpus(src, options)
    assert [item.session_id for item in found.left_out] == [talks[0].id]
    assert re.search(words, found.left_out[0].message), found.left_out[0].message
    assert found.tables["sessions"].column("session_id").to_pylist() == [talks[1].id]
    assert set(found.tables["utterances"].column("session_id").to_pylist()) == {talks[1].id}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            CLIFFHANGER,
            None,
            r"no transcription/transcript_cliffhanger.csv. Copy it there, or .*transcript=.*audiophile",
        ),
        (CLIFFHANGER, b"", "transcript_cliffhanger.csv: no column 'speaker'"),
        (CLIFFHANGER, b"speakers,start,stop,utterance\n", "no column 'speaker'; did you mean 'speakers'"),
        (CLIFFHANGER, b'speaker,start,stop,utterance\na,0,1,"x\n', "line 2: not readable CSV"),
        (CLIFFHANGER, b"\xff\xfe", "not UTF-8"),
        ("metadata.json", b"{", "not valid JSON"),
        ("metadata.json", b"[]", '"speakers" must be two objects'),
        ("metadata.json", b'{"speakers": [{"user_id": "a"}, {"user_id": "a"}]}', '"speakers" must be two'),
        ("metadata.json", b'{"speakers": [{"user_id": "../a"}, {"user_id": "b"}]}', r"user_id '../a': letters"),
        ("survey.csv", b"user_id,overall_afect\na,1\n", "no column 'overall_affect'; did you mean 'overall_afect'"),
        ("survey.csv", b"a,b\n1,2,3\n", "no column 'user_id'"),
        ("survey.csv", b"user_id,overall_affect\n1,2,3\n", "line 2: 3 cells"),
    ],
)
def test_a_broken_file_leaves_its_conversation_out(src, talks, name, content, words):
    path = src / talks[0].id / name
    path.unlink() if content is None else path.write_bytes(content)
    _only(src, talks, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_cells("overall_affect", "lots", 0), "line 2, column overall_affect: 'lots'; a number"),
        (_cells("overall_affect", "12", 1), r"column overall_affect: 12 is outside its scale, 1 to 9. .*-o low="),
        (_cells("user_id", "carol", 0), "line 2, column user_id: 'carol' is not of this conversation"),
        (_cells("partner_id", "carol", 0), "line 2, column partner_id: 'carol' is not the other speaker"),
        (_cells("convo_id", "x", 0), "line 2, column convo_id: 'x'; this folder is"),
        (lambda rows: [rows[0], rows[0]], r"a second row of user \w+. Keep the right one"),
    ],
)
def test_a_broken_survey_leaves_its_conversation_out(src, talks, change, words):
    rewrite(src / talks[0].id / "survey.csv", change)
    _only(src, talks, words)


def test_long_texts_are_not_repeated_in_messages(src, talks):
    rewrite(src / talks[0].id / "survey.csv", _cells("overall_affect", "private " * 50, 0))
    assert len(left_out(src)[0]) < 300


@pytest.mark.parametrize(
    ("change", "ratings", "words"),
    [
        (lambda rows: [], 0, "no answers to the survey, the session is unrated: 1 session"),
        (lambda rows: rows[:1], 1, "only one of the two answered the survey: 1 session"),
        (_cells("overall_affect", "", 0), 1, "overall_affect is blank, that rating was left out: 1 in 1 session"),
        (_cells("overall_affect", "NaN", 1), 1, "overall_affect is blank"),
        (_cells("partner_id", "", 1), 2, ""),
    ],
)
def test_missing_answers_cost_their_ratings_alone(src, talks, change, ratings, words):
    rewrite(src / talks[0].id / "survey.csv", change)
    report, corpus = opened(src)
    assert len(corpus.session(talks[0].id).ratings) == ratings
    assert report.left_out == () and words in "\n".join(report.notes)


def test_no_survey_at_all(src, talks):
    (src / talks[0].id / "survey.csv").unlink()
    (src / talks[1].id / "survey.csv").write_bytes(b"")
    report, corpus = opened(src)
    assert corpus.ratings.num_rows == 0 and "the session is unrated: 2 sessions" in str(report)


def test_without_metadata_the_survey_or_the_transcript_says_who_speaks(src, talks):
    (src / talks[0].id / "metadata.json").unlink()
    (src / talks[1].id / "metadata.json").unlink()
    (src / talks[1].id / "survey.csv").unlink()
    assert left_out(src) == []
    rewrite(src / talks[0].id / CLIFFHANGER, _cells("speaker", "carol"))
    rewrite(src / talks[1].id / CLIFFHANGER, _cells("speaker", "carol"))
    one, two = left_out(src)
    assert "'carol' is not of this conversation" in one + two and "two speakers are needed, found 3" in one + two


def test_turns_without_text_are_left_out_and_those_in_disorder_put_in_order(src, talks):
    def change(rows):
        rows[3]["utterance"] = ""
        rows[4]["stop"] = float(rows[5]["start"]) + 1
        return [*rows[:8], rows[9], rows[8], *rows[10:]]

    rewrite(src / talks[0].id / CLIFFHANGER, change)
    report, corpus = opened(src)
    turns = corpus.session(talks[0].id).turns
    assert [turn.turn for turn in turns] == [0, 1, 2, *range(4, 12)]
    assert [turn.start_s for turn in turns] == sorted(turn.start_s for turn in turns)
    text = str(report)
    assert "turns without text were left out: 1 in 1 session" in text
    assert "turns not in the order of their starts were put in order: 1 in 1 session" in text
    assert "turns that begin before the last one ends (kept as they are)" in text
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]


def test_an_empty_conversation_folder_is_told(src, talks):
    empty = src / talk(9).id
    empty.mkdir()
    assert left_out(src) == [
        f"session {empty.name}: no {CLIFFHANGER}. Copy it there, or choose another one: "
        "-o transcript=… (cliffhanger, backbiter, audiophile)."
    ]


def test_a_folder_that_cannot_be_an_id(src):
    (src / "a\nb" / "transcription").mkdir(parents=True)
    assert left_out(src) == [r"session 'a\nb': the folder's name cannot be an id. Rename it."]


def test_an_id_in_the_table_for_all_that_cannot_be_one(tmp_path, talks):
    src = write_package(tmp_path / "src", talks)
    path = src / "transcript_cliffhanger.tsv"
    path.write_text(path.read_text().replace(talks[0].id, "../../up"))
    assert "session '../../up': convo_id cannot be an id" in "\n".join(left_out(src))


@pytest.mark.parametrize("name", [CLIFFHANGER, "survey.csv", "metadata.json", "audio_video_features.csv"])
def test_links_that_lead_out(src, talks, tmp_path, name):
    (tmp_path / "secret").write_text("x")
    path = src / talks[0].id / name
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    for features in ("none", "precomputed"):
        _only(src, talks, "a link that leads out of .*Put the file itself there", PLAIN | {"features": features})


def test_a_link_to_a_video_that_leads_out(recorded, talks, tmp_path):
    src, folder = recorded
    video = folder / f"processed/{talks[0].people[0]}.mp4"
    video.rename(tmp_path / "elsewhere.mp4")
    video.symlink_to(tmp_path / "elsewhere.mp4")
    assert "a link that leads out" in left_out(src, {})[0]


def test_a_folder_without_permission(src, talks, monkeypatch):
    folder = src / talks[0].id / "transcription"
    real = type(folder).is_file

    def is_file(path):
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(type(folder), "is_file", is_file)
    _only(src, talks, "cannot be read .Permission denied.")


# What cannot be read at all


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transcipt": "x"}, "unknown option 'transcipt'; did you mean 'transcript'"),
        ({"transcript": "Backbitter"}, "transcript=Backbitter: did you mean 'backbiter'.*Allowed: cliffhanger"),
        ({"media": "yes"}, "media=yes: Allowed: all, audio, none"),
        ({"features": "own"}, "features=own: .*Allowed: none, precomputed"),
        ({"turns": "first5"}, "turns=first5: all, or the number of turns from the middle"),
        ({"turns": "middle1"}, "turns=middle1: all"),
        ({"score": "worst_affect"}, "ends of its scale are not known; did you mean .*low=1 -o high=7. Known: overall"),
        ({"score": "in_common"}, "score=in_common: the ends of its scale are not known; give them"),
        ({"score": "in_comon", "low": "1", "high": "7"}, "no survey has this column; did you mean 'in_common'"),
        ({"score": "zzz", "low": "1", "high": "7"}, "no survey has this column; choose a numeric column"),
        ({"low": "1"}, "option high is missing"),
        ({"better": "up"}, "better=up: which end of the scale is good"),
    ],
)
def test_options_that_cannot_be(src, options, words):
    with pytest.raises(InputError, match=words):
        import_corpus(src, options)


def test_a_column_of_text_as_the_score(src):
    with pytest.raises(InputError, match=r"(?s)no session could be imported.*column sex: 'female'; a number"):
        import_to("candor", src, src.parent / "corpus", PLAIN | {"score": "sex", "low": "0", "high": "1"})


def test_sources_that_are_no_candor(tmp_path, src, talks):
    with pytest.raises(InputError, match="no such folder"):
        import_corpus(tmp_path / "none", {})
    with pytest.raises(InputError, match="is a file"):
        import_corpus(src / talks[0].id / "survey.csv", {})
    with pytest.raises(InputError, match=r"one conversation itself. Name the folder that it lies in"):
        import_corpus(src / talks[0].id, {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no conversation folder"):
        import_corpus(tmp_path / "empty", {})


def test_a_root_that_cannot_be_listed(src, monkeypatch):
    def iterdir(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(src), "iterdir", iterdir)
    with pytest.raises(InputError, match=r"cannot be read .Permission denied."):
        import_corpus(src, {})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("survey.tsv", "user_id\toverall_affect\nx\t1\n", "survey.tsv: no column 'convo_id'"),
        ("survey.tsv", "convo_id\tuser_id\toverall_affect\nx\t1\n", "survey.tsv, line 2: 2 cells"),
        ("transcript_cliffhanger.tsv", "speaker\tstart\tstop\tutterance\n", "no column 'convo_id'"),
        ("transcript_cliffhanger.tsv", "", "no column 'convo_id'"),
        ("survey.csv", "x", "both survey.tsv and survey.csv. Keep one"),
    ],
)
def test_a_broken_table_for_all(tmp_path, talks, name, content, words):
    src = write_package(tmp_path / "src", talks)
    (src / name).write_text(content)
    with pytest.raises(InputError, match=words):
        import_corpus(src, {})


def test_a_table_for_all_that_leads_out(tmp_path, talks):
    src = write_package(tmp_path / "src", talks)
    (src / "survey.tsv").rename(tmp_path / "survey.tsv")
    (src / "survey.tsv").symlink_to(tmp_path / "survey.tsv")
    with pytest.raises(InputError, match="leads out"):
        import_corpus(src, {})


# From the command line


def test_import_and_inspect_from_the_command_line(tmp_path, talks, capsys):
    src, out = write_tree(tmp_path / "src", talks), tmp_path / "corpus"
    rewrite(src / talks[1].id / CLIFFHANGER, _cells("stop", "soon"))
    arguments = ["import", "candor", str(src), str(out), "-o", "features=precomputed", "-o", "turns=middle8"]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    told = capsys.readouterr().out
    assert ended.value.code == 1  # One of the two was left out, and that is said.
    assert f"left out: session {talks[1].id}: {CLIFFHANGER}, line 4, column stop: 'soon'" in told
    assert f"next: apportion inspect {out}" in told
    with pytest.raises(SystemExit) as ended:
        main(["inspect", str(out), "--json"])
    seen = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0 and seen["problems"] == []
    assert (seen["sessions"], seen["utterances"], seen["ratings"][0]["episodes"]) == (1, 8, 2)
    assert dict(seen["recordings"]) == {"audio": 2, "video": 2, "features": 2}
    assert not [problem for problem in validate(Corpus.open(out)) if problem.severity == "error"]


def test_read_lines_is_strict(tmp_path):
    from corpus.importers.candor_transcripts import read_lines

    write_table(tmp_path / "t.csv", ("speaker", "start", "stop"), [])
    with pytest.raises(UnitError, match="no column 'utterance'"):
        read_lines(tmp_path / "t.csv", "t.csv")
