import os

import pyarrow as pa
import pytest

from apportion.corpus.corpus import SCHEMAS
from apportion.corpus.validate import validate
from tests.corpus.tables import corpus_of, rating, session, turns


def problems(root="unused", **tables):
    """Problems of a corpus that is right but for ``tables``."""
    base = {
        "sessions": [session("a", duration_s=10.0), session("b")],
        "utterances": turns("a", "XYX", start_s=1.0, end_s=2.0) + turns("b", "XY"),
        "ratings": [rating("a"), rating("b", score=4.0)],
    }
    return validate(corpus_of(root, **base | tables))


def only(found):
    (problem,) = found
    return problem


def test_a_good_corpus_has_no_problems():
    assert problems() == []
    assert problems(utterances=utterances(start_s=9.0, end_s=10.9)) == []
    assert problems(backgrounds=background()) == []


def test_message_names_table_row_column_session_value_people_and_what_is_allowed():
    problem = only(problems(ratings=[rating("b"), rating("a", score=9.0)]))
    assert (problem.table, problem.row, problem.column, problem.session_id) == ("ratings", 2, "score", "a")
    assert str(problem) == (
        "ratings, row 2, column score, session a: 9 is outside its scale; allowed: 1 to 5. "
        "Correct the score, or the ends of its scale (low, high)."
    )
    assert only(problems(ratings=[rating("a", target="Z"), rating("b", score=4.0)])).allowed == "X, Y"


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"score": float("nan")}, "score", "nan is not a number"),
        ({"high": float("nan")}, "high", "nan is not a number"),
        ({"score": 0.5}, "score", "0.5 is outside"),
        ({"low": 5.0, "high": 5.0, "score": 5.0}, "low", "low 5 is not below high 5"),
        ({"rater": "Z"}, "rater", "'Z' is not a speaker of the session"),
        ({"target": "Z"}, "target", "'Z' is not a speaker of the session"),
        ({"session_id": "zz"}, "session_id", "'zz' is not in the table sessions"),
        ({"score": None}, "score", "no value"),
        ({"rater": None}, "rater", "no value"),
    ],
)
def test_ratings(change, column, words):
    found = [p for p in problems(ratings=[rating("b", score=4.0), rating("a") | change]) if p.severity == "error"]
    problem = only(found)
    assert (problem.table, problem.row, problem.column) == ("ratings", 2, column)
    assert words in problem.value and problem.session_id == change.get("session_id", "a")


def test_a_silent_rater_with_a_recording_is_known(tmp_path):
    (tmp_path / "w.wav").write_bytes(b"x")
    media = [{"session_id": "a", "speaker": "W", "kind": "audio", "path": "w.wav"}]
    assert problems(tmp_path, media=media, ratings=[rating("a", rater="W"), rating("b", score=4.0)]) == []


def test_a_rating_or_a_session_twice():
    problem = only(problems(ratings=[rating("a"), rating("b", score=4.0), rating("a")]))
    assert problem.row == 3 and "X, Y, overall is there already (row 1)" in problem.value
    problem = only(problems(sessions=[session("a"), session("b"), session("a")]))
    assert (problem.table, problem.row, problem.session_id) == ("sessions", 3, "a")
    assert "a is there already (row 1)" in problem.value


def test_annotators_with_different_scales_are_an_error_and_sessions_a_warning():
    first, second = problems(
        ratings=[rating("a", annotator="1"), rating("a", annotator="2", high=7.0), rating("b", score=4.0)]
    )
    assert (first.severity, first.session_id) == ("error", "a") and "2 different scales" in first.value
    assert (second.severity, second.session_id) == ("warning", None) and "1.0 to 5.0, 1.0 to 7.0" in second.value


def test_no_variance_is_a_warning_of_the_whole_corpus():
    problem = only(problems(ratings=[rating("a"), rating("b")]))
    assert (problem.severity, problem.session_id) == ("warning", None)
    assert "all 2 scores are 3: without variance" in str(problem)


@pytest.mark.parametrize(("duration", "words"), [(-1.0, "-1 s"), (float("nan"), "nan is not a number")])
def test_duration(duration, words):
    found = problems(sessions=[session("a"), session("b", duration_s=duration)])
    assert words in only(found).value and only(found).session_id == "b"


def test_a_session_that_is_empty_unknown_another_or_in_disorder():
    problem = only(problems(utterances=turns("a", "XY")))
    assert problem.session_id == "b" and "no utterances" in problem.value
    problem = only(problems(utterances=turns("a", "XY") + turns("b", "XY") + turns("ghost", "XY")))
    assert (problem.row, problem.session_id) == (5, "ghost")
    problem = only(problems(utterances=utterances(start_s=100.0, end_s=130.0)))
    assert problem.session_id == "a" and "130 s is after the end" in problem.value
    assert "up to 10 s" in problem.allowed and "transcript for another session" in problem.hint
    problem = only(problems(utterances=utterances(start_s=0.5, end_s=0.9)))
    assert problem.severity == "warning" and problem.row == 5 and "starts at 0.5 s, earlier" in problem.value


def utterances(**change):
    return [*turns("b", "XY"), *turns("a", "XY", start_s=1.0, end_s=2.0), turns("a", "X")[0] | {"turn": 2} | change]


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"start_s": 5.0, "end_s": 4.0}, "end_s", "turn 2 ends at 4 s, before its start at 5 s"),
        ({"start_s": float("nan"), "end_s": 4.0}, "start_s", "nan is not a number"),
        ({"start_s": 5.0}, "end_s", "turn 2 has only one of start_s and end_s"),
        ({"end_s": 5.0}, "start_s", "turn 2 has only one of start_s and end_s"),
        ({"start_s": -1.0, "end_s": 4.0, "turn": -1}, "start_s", "-1 s"),
        ({"turn": 1}, "turn", "1 is there already (row 4)"),
        ({"text": None}, "text", "no value"),
    ],
)
def test_utterances(change, column, words):
    problem = only(problems(utterances=utterances(**change)))
    assert (problem.table, problem.row, problem.column, problem.session_id) == ("utterances", 5, column, "a")
    assert words in problem.value and problem.severity == "error"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.wav").write_bytes(b"RIFF")
    (tmp_path / "corpus" / "empty.mp4").touch()
    (tmp_path / "outside.wav").write_bytes(b"RIFF")
    (tmp_path / "corpus" / "link.wav").symlink_to(tmp_path / "outside.wav")
    (tmp_path / "corpus" / "a:b.wav").write_bytes(b"RIFF")
    (tmp_path / "corpus" / "sub").symlink_to(tmp_path)
    (tmp_path / "corpus" / "circle.wav").symlink_to("circle.wav")
    os.mkfifo(tmp_path / "corpus" / "pipe.wav")
    return tmp_path / "corpus"


def media(**change):
    return [{"session_id": "a", "speaker": "X", "kind": "audio", "path": "a.wav", "channel": "L"} | change]


@pytest.mark.parametrize("path", ["a.wav", "./a.wav", "media/../a.wav", "a:b.wav"])
def test_media_that_is_fine(root, path):
    assert problems(root, media=media(path=path)) == []


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"path": "gone.wav"}, "path", "does not exist"),
        ({"path": "empty.mp4"}, "path", "has zero bytes"),
        ({"path": "../outside.wav"}, "path", "leaves the corpus folder"),
        ({"path": "/etc/hostname"}, "path", "leaves the corpus folder"),
        ({"path": "file:///etc/hostname"}, "path", "is no address that recordings are read from"),
        ({"path": "https://example.org/a.wav?key=x"}, "path", "'https://example.org/a.wav' holds a user, a query"),
        ({"path": "sub/outside.wav"}, "path", "leaves the corpus folder"),
        ({"path": "circle.wav"}, "path", "cannot be looked at"),
        ({"path": "pipe.wav"}, "path", "is no file"),
        ({"path": "."}, "path", "is no file"),
        ({"path": "a\0b"}, "path", "cannot be looked at"),
        ({"kind": "smell"}, "kind", "'smell'"),
        ({"channel": "middle"}, "channel", "'middle'"),
        ({"offset_s": float("nan")}, "offset_s", "nan is not a number"),
        ({"session_id": "zz"}, "session_id", "'zz' is not in the table sessions"),
    ],
)
def test_media(root, change, column, words):
    problem = only([p for p in problems(root, media=media(**change)) if p.severity == "error"])
    assert (problem.table, problem.row, problem.column) == ("media", 1, column) and words in problem.value
    assert problem.session_id == change.get("session_id", "a")


def test_media_of_nobody_known_is_a_warning_and_of_the_environment_an_error(root):
    problem = only(problems(root, media=media(speaker="Q")))
    assert problem.severity == "warning" and problem.allowed == "X, Y"
    problem = only(problems(root, media=media(speaker="environment"), ratings=of_environment(annotator="rules")))
    assert (problem.table, problem.column, problem.severity) == ("media", "speaker", "error")


def label(**change):
    return {"session_id": "a", "turn": 1, "annotator": "1", "name": "q", "value": 1.0, "low": 0.0, "high": 2.0} | change


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"turn": 7}, "turn", "turn 7 is not in the table utterances"),
        ({"value": 3.0}, "value", "3 is outside its scale"),
        ({"value": float("nan")}, "value", "nan is not a number"),
        ({"low": 2.0, "value": 2.0}, "low", "low 2 is not below high 2"),
        ({"name": None}, "name", "no value"),
        ({"annotator": "computed:"}, "annotator", "'computed:' does not say what computed the label"),
        ({"annotator": "Computed:x"}, "annotator", "or is spelled otherwise"),
    ],
)
def test_turn_labels(change, column, words):
    problem = only(problems(turn_labels=[label(annotator="2"), label(**change)]))
    assert (problem.table, problem.row, problem.column, problem.session_id) == ("turn_labels", 2, column, "a")
    assert words in problem.value


def test_labels_and_backgrounds():
    assert problems(turn_labels=[label(low=None, high=None, value=77.0)]) == []
    assert "is there already (row 1)" in only(problems(turn_labels=[label(), label()])).value
    problem = only(problems(backgrounds=background(), utterances=turns("b", "XY"), ratings=[]))
    assert problem.table == "sessions"


def background(**change):
    row = {"session_id": "a", "speaker": "X", "kind": "goal", "text": "A low price."}
    return [row, {"session_id": "b", "kind": "scenario", "text": "A market."}, row | {"speaker": "Y"} | change]


@pytest.mark.parametrize(
    ("change", "column", "words", "allowed"),
    [
        ({"session_id": "zz"}, "session_id", "'zz' is not in the table sessions", "a session_id of the table sessions"),
        ({"speaker": "Z"}, "speaker", "'Z' does not speak in the session", "X, Y, or empty for what everybody knows"),
        ({"speaker": "environment"}, "speaker", "'environment' does not speak", "X, Y, or empty for"),
        ({"text": " \n"}, "text", "the text is empty", "a text with a word in it"),
        ({"text": None}, "text", "no value", "a value in every row"),
        ({"kind": "goals"}, "kind", "'goals'", "scenario, rules, role, profile, goal"),
        ({"kind": None}, "kind", "no value", "a value in every row"),
        ({"speaker": "X"}, "speaker, kind", "X, goal is there already (row 1)", "once"),
    ],
)
def test_backgrounds(change, column, words, allowed):
    problem = only(problems(backgrounds=background(**change)))
    assert (problem.table, problem.row, problem.column) == ("backgrounds", 3, column)
    assert words in problem.value and allowed in problem.allowed and problem.hint.endswith(".")
    assert problem.severity == "error" and problem.session_id == change.get("session_id", "a")


def event(**change):
    row = {"session_id": "a", "person": "X", "kind": "pause", "start_s": 1.0, "end_s": 2.0}
    return [row, row | {"person": "Y", "kind": "backchannel", "strength": 2.0, "text": "mhm"} | change]


@pytest.mark.parametrize(
    ("change", "column", "words", "allowed"),
    [
        ({"session_id": "zz", "person": "X"}, "session_id", "'zz' is not in the table", "of the table sessions"),
        ({"person": "Z"}, "person", "'Z' neither speaks nor is recorded", "somebody of the session"),
        ({"kind": "nod_yes"}, "kind", "'nod_yes'", "backchannel, pause, overlap"),
        ({"kind": None}, "kind", "no value", "a value in every row"),
        ({"end_s": 0.5}, "end_s", "ends at 0.5 s, before its start", "1 s or later"),
        ({"strength": float("nan")}, "strength", "nan is not a number", "a finite number"),
        ({"strength": -3.0}, "strength", "-3", "0 or more, or empty"),
        ({"person": "X", "kind": "pause"}, "person, kind, start_s", "is there already (row 1)", "once"),
    ],
)
def test_events(change, column, words, allowed):
    assert problems(events=event()) == []
    problem = problems(events=event(**change))[0]
    assert (problem.table, problem.row, problem.column, problem.severity) == ("events", 2, column, "error")
    assert words in problem.value and allowed in problem.allowed and problem.hint.endswith(".")


def of_environment(**change):
    return [rating("a", rater="environment", annotator="rules"), rating("b", rater="environment", score=4.0) | change]


def test_the_environment_may_rate_and_not_be_rated_or_speak():
    assert problems(ratings=of_environment(annotator="rules")) == []
    problem = only(problems(ratings=of_environment()))
    assert (problem.row, problem.column, problem.severity) == (2, "annotator", "warning")
    assert problem.value == "1 scores of the rater 'environment' do not say who gave them"
    problem = only(problems(ratings=of_environment(rater="X", target="environment")))
    assert (problem.column, problem.severity) == ("target", "error")
    speakers = ["X", "environment", "Y", "environment"]
    problem = only(problems(utterances=turns("a", speakers, start_s=1.0, end_s=2.0) + turns("b", "XY")))
    assert (problem.table, problem.row, problem.column, problem.session_id) == ("utterances", 2, "speaker", "a")
    assert "a speaker is called 'environment'" in problem.value and problem.severity == "error"


def test_chunked_tables_are_checked_whole():
    corpus = corpus_of("unused", sessions=[session("a")], utterances=turns("a", "XY"), ratings=[])
    table = pa.Table.from_pylist(turns("a", "XY"), SCHEMAS["utterances"].arrow)
    chunked = corpus.of("unused", corpus.tables | {"utterances": pa.concat_tables([table, table])})
    assert [problem.row for problem in validate(chunked)] == [3, 4]


def test_what_is_no_language_is_told_once_and_its_sessions_go_by_their_words():
    problem = only(problems(sessions=[session("a", language="??"), session("b", language="??")]))
    assert (problem.severity, problem.column, problem.value) == ("warning", "language", "'??' in 2 sessions")
    assert problems(sessions=[session("a", language="German"), session("b", language="de+en-GB")]) == []
