import re

import pytest

from apportion.corpus.importers.candor.importer import import_corpus
from apportion.corpus.validate import validate
from tests.corpus.importers.candor_import import CLIFFHANGER, PLAIN, left_out, noted, opened, with_cell
from tests.corpus.importers.candor_tree import (
    rewrite,
    write_package,
)

BROKEN_TRANSCRIPTS = [
    (with_cell("start", "x"), "line 4, column start: 'x'; a number of seconds is needed"),
    (with_cell("start", "99"), "line 4: from 99 s to .*; 0 <= start <= stop is needed"),
    (with_cell("speaker", "carol"), r"line 4, column speaker: 'carol' is not of this conversation \(\w+ and \w+\)"),
    (lambda rows: [], "transcript_cliffhanger.csv: no turns in it"),
    (lambda rows: rows[::2], r"only \w+ speaks in the 6 turns"),
    (lambda rows: [row | {"utterance": " "} for row in rows], "nobody says anything"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN_TRANSCRIPTS)
def test_a_broken_transcript_leaves_its_conversation_out(candor, talks, change, words):
    rewrite(candor / talks[0].id / CLIFFHANGER, change)
    _only(candor, talks, words)


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
        (CLIFFHANGER, b"", "transcript_cliffhanger.csv: the file is empty; a first row with 'speaker'"),
        (CLIFFHANGER, b"speakers,start,stop,utterance\n", "no column 'speaker'; did you mean 'speakers'"),
        (CLIFFHANGER, b'speaker,start,stop,utterance\na,0,1,"x\n', "line 2: not readable CSV"),
        (CLIFFHANGER, b"\xff\xfe", "not UTF-8"),
        ("metadata.json", b"{", "not valid JSON"),
        ("metadata.json", b"[]", '"speakers" must be two objects'),
        ("metadata.json", b'{"speakers": [{"user_id": "a"}, {"user_id": "a"}]}', '"speakers" must be two'),
        ("metadata.json", b'{"speakers": [{"user_id": "../a"}, {"user_id": "b"}]}', r"user_id '../a': letters"),
        ("survey.csv", b"user_id,overall_afect\na,1\n", "no column 'overall_affect'; did you mean 'overall_afect'"),
        ("survey.csv", b"a,b\n1,2,3\n", "no column 'user_id'"),
    ],
)
def test_a_broken_file_leaves_its_conversation_out(candor, talks, name, content, words):
    path = candor / talks[0].id / name
    path.unlink() if content is None else path.write_bytes(content)
    _only(candor, talks, words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_cell("overall_affect", "lots", 0), "line 2, column overall_affect: 'lots'; a number"),
        (with_cell("overall_affect", "12", 1), r"column overall_affect: 12 is outside its scale, 1 to 9. .*-o low="),
        (with_cell("user_id", "carol", 0), "line 2, column user_id: 'carol' is not of this conversation"),
        (with_cell("partner_id", "carol", 0), "line 2, column partner_id: 'carol' is not the other speaker"),
        (with_cell("convo_id", "x", 0), "line 2, column convo_id: 'x'; this folder is"),
        (lambda rows: [rows[0], rows[0]], r"a second row of user \w+. Keep the right one"),
    ],
)
def test_a_broken_survey_leaves_its_conversation_out(candor, talks, change, words):
    rewrite(candor / talks[0].id / "survey.csv", change)
    _only(candor, talks, words)


def test_ids_that_cannot_be_one(candor, talks):
    rewrite(candor / talks[0].id / "survey.csv", with_cell("overall_affect", "private " * 50, 0))
    assert len(left_out(candor)[0]) < 300
    (candor / "a\nb" / "transcription").mkdir(parents=True)
    assert r"session 'a\nb': the folder's name cannot be an id. Rename it." in left_out(candor)


@pytest.mark.parametrize(
    ("change", "ratings", "words"),
    [
        (lambda rows: [], 0, "no answers to the survey, the session is unrated: 1 session"),
        (lambda rows: rows[:1], 1, "only one of the two answered the survey: 1 session"),
        (with_cell("overall_affect", "", 0), 1, "1 overall_affect is blank ({}: survey.csv, line 2)"),
        (with_cell("overall_affect", "NaN", 1), 1, "1 overall_affect is blank"),
        (with_cell("partner_id", "", 1), 2, ""),
    ],
)
def test_missing_answers_cost_their_ratings_alone(candor, talks, change, ratings, words):
    rewrite(candor / talks[0].id / "survey.csv", change)
    report, corpus = opened(candor)
    assert len(corpus.session(talks[0].id).ratings) == ratings
    assert report.left_out == () and words.format(talks[0].id) in str(report)


def test_no_survey_at_all(candor, talks):
    (candor / talks[0].id / "survey.csv").unlink()
    (candor / talks[1].id / "survey.csv").write_bytes(b"")
    report, corpus = opened(candor)
    assert corpus.ratings.num_rows == 0 and "the session is unrated: 2 sessions" in str(report)


def test_without_metadata_the_survey_or_the_transcript_says_who_speaks(candor, talks):
    (candor / talks[0].id / "metadata.json").unlink()
    (candor / talks[1].id / "metadata.json").unlink()
    (candor / talks[1].id / "survey.csv").unlink()
    assert left_out(candor) == []
    rewrite(candor / talks[0].id / CLIFFHANGER, with_cell("speaker", "carol"))
    rewrite(candor / talks[1].id / CLIFFHANGER, with_cell("speaker", "carol"))
    one, two = left_out(candor)
    assert "'carol' is not of this conversation" in one + two and "two speakers are needed, found 3" in one + two


def test_turns_without_text_are_left_out_and_those_in_disorder_put_in_order(candor, talks):
    def change(rows):
        rows[3]["utterance"] = ""
        rows[4]["stop"] = float(rows[5]["start"]) + 1
        return [*rows[:8], rows[9], rows[8], *rows[10:]]

    rewrite(candor / talks[0].id / CLIFFHANGER, change)
    report, corpus = opened(candor)
    turns = corpus.session(talks[0].id).turns
    assert [turn.turn for turn in turns] == [0, 1, 2, *range(4, 12)]
    assert [turn.start_s for turn in turns] == sorted(turn.start_s for turn in turns)
    text = str(report)
    assert f"1 without text ({CLIFFHANGER}, line 5)" in text
    assert "turns not in the order of their starts were put in order: 1 in 1 session" in text
    assert "turns that begin before the last one ends (kept as they are)" in text
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]


def test_an_id_in_the_table_for_all_that_cannot_be_one(tmp_path, talks):
    src = write_package(tmp_path / "src", talks)
    path = src / "transcript_cliffhanger.tsv"
    path.write_text(path.read_text().replace(talks[0].id, "../../up"))
    assert "session '../../up': convo_id cannot be an id" in "\n".join(left_out(src))


@pytest.mark.parametrize("name", [CLIFFHANGER, "survey.csv", "metadata.json", "audio_video_features.csv"])
def test_links_that_lead_out(candor, talks, tmp_path, name):
    (tmp_path / "secret").write_text("x")
    path = candor / talks[0].id / name
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    for features in ("none", "precomputed"):
        _only(candor, talks, "a link that leads out of .*Put the file itself there", PLAIN | {"features": features})


def test_a_folder_without_permission(candor, talks, monkeypatch):
    folder = candor / talks[0].id / "transcription"
    real = type(folder).is_file

    def is_file(path):
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(type(folder), "is_file", is_file)
    _only(candor, talks, "cannot be read .Permission denied.")
    assert "Permission denied" in "\n".join(left_out(candor))


def test_a_folder_that_may_not_be_looked_into_stops_nobody(candor, talks, monkeypatch):
    (candor / "lost+found").mkdir()
    real = type(candor).iterdir

    def iterdir(path):
        if path.name == "lost+found":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(type(candor), "iterdir", iterdir)
    assert "folders that may not be looked into were passed over: 1 ('lost+found')" in noted(candor)
    assert left_out(candor) == []
