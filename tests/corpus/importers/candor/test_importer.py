import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.cli import main
from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.candor.importer import import_corpus
from apportion.corpus.importers.candor.transcripts import Line, spoken
from apportion.corpus.session import Event, Media
from apportion.corpus.validate import validate
from apportion.foundation.errors import InputError
from tests.corpus.importers.candor_import import CLIFFHANGER, PLAIN, noted, opened, with_cell
from tests.corpus.importers.candor_tree import (
    TRANSCRIPTS,
    rewrite,
    write_media,
    write_package,
    write_table,
    write_tree,
)


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
    report, corpus = opened(src)
    assert [len(corpus.session(one.id).ratings) for one in talks] == [2, 0]
    assert r"2 of conversations that are not here ('not-here\x1b[31m')" in str(report)


@pytest.mark.parametrize("kind", ["audiophile", "backbiter", "cliffhanger"])
def test_transcripts(candor, talks, kind):
    for one in talks:
        for other in {"audiophile", "backbiter", "cliffhanger"} - {kind}:
            (candor / one.id / f"transcription/transcript_{other}.csv").unlink()
    report, corpus = opened(candor, PLAIN | {"transcript": kind})
    assert len(corpus.session(talks[0].id).turns) == 12
    assert corpus.session(talks[0].id).source == f"candor/{kind}"
    assert "mhm" not in corpus.utterances.column("text").to_pylist()
    reacted = [row for row in talks[0].turns if row["backchannel"]] if kind == "backbiter" else []
    assert set(corpus.session(talks[0].id).events) == {
        Event(row["backchannel_speaker"], "backchannel", row["backchannel_start"], row["backchannel_stop"], 1.0, "mhm")
        for row in reacted
    }
    assert report.problems == () and report.rows["events"] == (6 if reacted else 0)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ({"backchannel_start": ""}, "1 without times (backchannel_start, backchannel_stop)"),
        ({"backchannel_stop": "-1"}, "1 without times (backchannel_start, backchannel_stop)"),
        ({"backchannel_speaker": "nobody"}, "1 of nobody else in the conversation (backchannel_speaker)"),
        ({"utterance": ""}, "1 without text"),
    ],
)
def test_a_backchannel_of_nobody_or_at_no_time_is_left_out_alone_and_told(candor, talks, cells, why):
    one = talks[0]
    turns = [row | (cells if number == 1 else {}) for number, row in enumerate(one.turns)]
    path = candor / one.id / "transcription/transcript_backbiter.csv"
    write_table(path, TRANSCRIPTS["backbiter"], turns)
    report, corpus = opened(candor, PLAIN | {"transcript": "backbiter"})
    assert why in str(report) and report.left_out == ()
    assert (len(corpus.session(one.id).events), len(corpus.session(talks[1].id).events)) == (2, 3)


def test_a_backchannel_of_two_turns_counts_once_and_its_count_is_its_strength(candor, talks):
    one = talks[0]
    first = one.turns[1]
    twice = {name: first[name] for name in first if name.startswith("backchannel")}
    turns = [*one.turns[:2], one.turns[2], one.turns[3] | twice, *one.turns[4:]]
    turns = [
        row | ({"backchannel_count": 2, "backchannel": "Yeah.  Mhm."} if row in (turns[1],) else {}) for row in turns
    ]
    path = candor / one.id / "transcription/transcript_backbiter.csv"
    write_table(path, TRANSCRIPTS["backbiter"], turns)
    report, corpus = opened(candor, PLAIN | {"transcript": "backbiter"})
    assert "1 told in two turns" in str(report)
    event = next(e for e in corpus.session(one.id).events if e.start_s == first["backchannel_start"])
    assert (event.strength, event.text) == (2.0, "Yeah. Mhm.")


@pytest.mark.parametrize(("option", "many"), [("middle4", 4), ("4", 4), ("middle5", 5), ("all", 12), ("middle100", 12)])
def test_turns_from_the_middle_keep_their_numbers_and_times(candor, talks, option, many):
    report, corpus = opened(candor, PLAIN | {"turns": option})
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
def test_scores(candor, talks, options, name, scale, good):
    _, corpus = opened(candor, PLAIN | options)
    rating = corpus.session(talks[0].id).ratings[0]
    assert (rating.name, rating.low, rating.high, rating.higher_is_better) == (name, *scale, good)
    by_user = {row["user_id"]: row[name] for row in talks[0].survey}
    assert rating.score == by_user[rating.rater]


def test_a_column_of_text_and_one_from_before_the_conversation_as_the_score(candor):
    assert "pre_affect was asked before the conversation" in noted(candor, PLAIN | {"score": "pre_affect"})
    with pytest.raises(InputError, match=r"(?s)no session could be imported.*column sex: 'female'; a number"):
        import_to("candor", candor, candor.parent / "corpus", PLAIN | {"score": "sex", "low": "0", "high": "1"})


def test_downloads_in_several_parts_are_one_conversation(tmp_path, talks):
    src = tmp_path / "src"
    write_tree(src / "raw" / "no_media", talks, media=False)
    for one in talks:
        (src / "processed_media_part_001" / one.id).mkdir(parents=True)
        write_media(src / "processed_media_part_001" / one.id / "processed", one)
    (src / "__MACOSX" / talks[0].id).mkdir(parents=True)
    report, corpus = opened(src, {})
    assert report.left_out == () and len(corpus.session(talks[0].id).media) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transcipt": "x"}, "unknown option 'transcipt'; did you mean 'transcript'"),
        ({"transcript": "Backbitter"}, "transcript=Backbitter: did you mean 'backbiter'.*Allowed: cliffhanger"),
        ({"media": "yes"}, "media=yes: Allowed: all, audio, none"),
        ({"turns": "first5"}, "turns=first5: all, or the number of turns from the middle"),
        ({"score": "worst_affect"}, "ends of its scale are not known; did you mean .*low=1 -o high=7. Known: overall"),
        ({"score": "in_common"}, "score=in_common: the ends of its scale are not known; give them"),
        ({"score": "in_comon", "low": "1", "high": "7"}, "no survey has this column; did you mean 'in_common'"),
        ({"score": "zzz", "low": "1", "high": "7"}, "no survey has this column; choose a numeric column"),
        ({"low": "1"}, "option high is missing"),
        ({"better": "up"}, "better=up: which end of the scale is good"),
    ],
)
def test_options_that_cannot_be(candor, options, words):
    with pytest.raises(InputError, match=words):
        import_corpus(candor, options)


def test_sources_that_are_no_candor(tmp_path, candor, talks):
    with pytest.raises(InputError, match="no such folder"):
        import_corpus(tmp_path / "none", {})
    with pytest.raises(InputError, match="is a file"):
        import_corpus(candor / talks[0].id / "survey.csv", {})
    with pytest.raises(InputError, match=r"one conversation itself. Name the folder that it lies in"):
        import_corpus(candor / talks[0].id, {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no conversation folder"):
        import_corpus(tmp_path / "empty", {})


def test_a_root_that_cannot_be_listed(candor, monkeypatch):
    def iterdir(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(candor), "iterdir", iterdir)
    with pytest.raises(InputError, match=r"cannot be read .Permission denied."):
        import_corpus(candor, {})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("survey.tsv", "user_id\toverall_affect\nx\t1\n", "survey.tsv: no column 'convo_id'"),
        ("survey.tsv", "convo_id\tuser_id\toverall_affect\nx\t1\n", "survey.tsv, line 2: 2 cells"),
        ("transcript_cliffhanger.tsv", "speaker\tstart\tstop\tutterance\n", "no column 'convo_id'"),
        ("transcript_cliffhanger.tsv", "", "the file is empty; a first row with 'convo_id'"),
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


def test_import_and_inspect_from_the_command_line(tmp_path, talks, capsys):
    src, out = write_tree(tmp_path / "src", talks), tmp_path / "corpus"
    rewrite(src / talks[1].id / CLIFFHANGER, with_cell("stop", "soon"))
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
