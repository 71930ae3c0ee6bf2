import json
import math
import os
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.corpus.session import Background, Event, Media, Rating, Turn
from apportion.foundation.errors import InputError
from tests.corpus.tables import corpus_of, rating, session, turns


def small(root="unused"):
    return corpus_of(
        root,
        sessions=[session("b"), session("a", duration_s=9.0, language="en")],
        utterances=turns("b", "XY") + turns("a", "XYX"),
        ratings=[rating("a", annotator="1", score=2.0), rating("a", annotator="2", score=5.0), rating("b")],
        media=[{"session_id": "a", "speaker": "X", "kind": "audio", "path": "a.wav"}],
        turn_labels=[{"session_id": "a", "turn": 1, "annotator": "1", "name": "quality", "value": 1.0}],
        backgrounds=[{"session_id": "a", "speaker": "X", "kind": "goal", "text": "A low price."}],
        events=[{"session_id": "a", "person": "Y", "kind": "pause", "start_s": 1.0, "end_s": 2.5}],
    )


def jsonl(folder, **tables):
    for name, rows in tables.items():
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def jsonl_corpus(folder, **tables):
    row = rating("a")
    return jsonl(folder, **{"sessions": [session("a")], "utterances": turns("a", "XY"), "ratings": [row]} | tables)


def test_sessions_come_out_sorted_with_turns_ratings_and_media():
    corpus = small()
    assert corpus.session_ids() == ["a", "b"]
    a = corpus.session("a")
    assert a.turns[0] == Turn(0, "X", "turn 0") and len(a.turns) == 3
    assert a.ratings == (Rating("X", "Y", "overall", 3.5, 1.0, 5.0, True),), "the mean of both annotators"
    assert a.media == (Media("X", "audio", "a.wav", 0.0, None),)
    assert a.events == (Event("Y", "pause", 1.0, 2.5),) and a.is_observed and not corpus.session("b").is_observed
    assert (a.duration_s, a.language) == (9.0, "en")
    assert [s.session_id for s in corpus.iter_sessions()] == ["a", "b"]
    assert corpus.labels("a").column("value").to_pylist() == [1.0]
    assert corpus.labels("b").num_rows == 0


def test_backgrounds_come_out_with_what_everybody_knows_first_then_by_speaker_in_the_order_of_kinds(tmp_path):
    rows = [("b", "goal"), ("b", "role"), ("a", "goal"), (None, "rules"), (None, "scenario")]
    table = [{"session_id": "a", "speaker": speaker, "kind": kind, "text": "Known."} for speaker, kind in rows]
    corpus_of(tmp_path, sessions=[session("a")], backgrounds=table).write(tmp_path, kind="jsonl")
    found = Corpus.open(tmp_path).session("a")
    assert found.backgrounds == tuple(
        Background(speaker, kind, "Known.")
        for speaker, kind in [(None, "scenario"), (None, "rules"), ("a", "goal"), ("b", "role"), ("b", "goal")]
    )


def test_unknown_session_says_the_nearest():
    corpus = corpus_of("unused", sessions=[session("sgd-0001")], utterances=[], ratings=[])
    with pytest.raises(InputError, match="did you mean 'sgd-0001'"):
        corpus.session("sgd-001")


def test_the_mean_of_scores_that_are_too_large_to_add_up():
    largest = 1.7976931348623157e308
    scores = [rating("a", annotator=str(i), score=largest) for i in range(3)]
    corpus = corpus_of("unused", sessions=[session("a")], utterances=[], ratings=scores)
    assert corpus.session("a").ratings[0].score == pytest.approx(largest, rel=1e-15)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
numbers = st.floats(allow_nan=False, width=64)
sessions_strategy = st.dictionaries(
    names,
    st.tuples(st.lists(st.tuples(names, names, st.none() | numbers), max_size=4), st.lists(numbers, max_size=3)),
    min_size=1,
    max_size=4,
)


def drawn_corpus(drawn):
    return corpus_of(
        "unused",
        sessions=[session(id_) for id_ in drawn],
        utterances=[
            {"session_id": id_, "turn": i, "speaker": speaker, "text": text, "start_s": start}
            for id_, (spoken, _) in drawn.items()
            for i, (speaker, text, start) in enumerate(spoken)
        ],
        ratings=[
            rating(id_, annotator=str(i), score=s) for id_, (_, scores) in drawn.items() for i, s in enumerate(scores)
        ],
    )


@settings(max_examples=10)
@given(sessions_strategy)
@example({"a": ([], [1.25e294, 1.7976931348623157e308])})
@example({"a": ([], [math.inf, -math.inf])})
def test_parquet_and_jsonl_give_the_same_corpus_back(tmp_path_factory, drawn):
    corpus = drawn_corpus(drawn)
    folder = tmp_path_factory.mktemp("corpus")
    corpus.write(folder / "p")
    Corpus.open(folder / "p").write(folder / "j", kind="jsonl")
    back = Corpus.open(folder / "j")
    # As text: from Python 3.13 on, equal dataclasses with a NaN in them differ.
    assert repr(list(back.iter_sessions())) == repr(list(corpus.iter_sessions()))
    back.write(folder / "again")
    for path in (folder / "p").iterdir():
        assert path.read_bytes() == (folder / "again" / path.name).read_bytes()


@settings(max_examples=10)
@given(st.randoms())
def test_bytes_do_not_depend_on_the_order_or_chunks_of_rows(tmp_path_factory, random):
    corpus = small()
    folder = tmp_path_factory.mktemp("corpus")
    order = random.sample(range(corpus.utterances.num_rows), corpus.utterances.num_rows)
    shuffled = pa.concat_tables([corpus.utterances.take([i]) for i in order])
    corpus.write(folder / "1")
    Corpus.of("unused", corpus.tables | {"utterances": shuffled}).write(folder / "2")
    for path in (folder / "1").iterdir():
        assert path.read_bytes() == (folder / "2" / path.name).read_bytes()


def test_a_write_leaves_no_stale_or_temporary_file(tmp_path):
    small().write(tmp_path, kind="jsonl")
    corpus_of(tmp_path, sessions=[session("z")], utterances=[], ratings=[]).write(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ratings.parquet", "sessions.parquet", "utterances.parquet"]
    assert Corpus.open(tmp_path).session_ids() == ["z"]


def test_an_interrupted_write_leaves_the_old_corpus_or_says_so(tmp_path, monkeypatch):
    small().write(tmp_path)
    monkeypatch.setattr(
        "apportion.corpus.corpus.write_table", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(InputError, match=r"No space left.*Free some space"):
        small().write(tmp_path)
    assert Corpus.open(tmp_path).session_ids() == ["a", "b"]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_folder_that_is_called_as_a_home_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().write(Path("~nobody", "x"))
    assert Corpus.open(Path("~nobody", "x")).session_ids() == ["a", "b"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_to_write(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match="cannot be written"):
        small().write(tmp_path / "corpus")


def test_writing_below_a_file_says_so(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        small().write(tmp_path / "file" / "corpus")


def _file(folder):
    (folder / "corpus").write_text("x")


def _without_sessions(folder):
    corpus_of(folder, sessions=[], utterances=[], ratings=[]).write(folder / "corpus")


def _twice(folder):
    small().write(folder / "corpus")
    jsonl(folder / "corpus", sessions=[session("a")])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "no such folder"),
        (_file, r"is a file.*apportion import KIND"),
        (lambda folder: (folder / "corpus").mkdir(), r"no table 'sessions'.*ratings.parquet or .jsonl"),
        (_without_sessions, "has no sessions"),
        (_twice, "both sessions.parquet and sessions.jsonl"),
    ],
)
def test_what_is_no_corpus_is_told(tmp_path, make, words):
    make(tmp_path)
    with pytest.raises(InputError, match=words):
        Corpus.open(tmp_path / "corpus")


@pytest.mark.parametrize(
    ("name", "column", "values", "words"),
    [
        ("utterances", "text", pa.array([b"caf\xe9"] * 5).cast(pa.binary()).view(pa.string()), "UTF8"),
        ("ratings", "score", pa.array(["3"] * 3), "column score: holds string, but a number is needed"),
        ("utterances", "turn", pa.array([2**40] * 5), "column turn: a value does not fit a whole number"),
    ],
)
def test_parquet_of_other_values_is_told(tmp_path, name, column, values, words):
    small().write(tmp_path)
    table = small().tables[name]
    pq.write_table(table.set_column(table.column_names.index(column), column, values), tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match=words):
        Corpus.open(tmp_path)


MISSPELT = [{("tex" if k == "text" else k): v for k, v in row.items()} for row in turns("a", "XY")]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"utterances": MISSPELT}, r"no column 'text'; did you mean 'tex'"),
        ({"utterances": [{"session_id": "a", "turn": 1, "text": "x"}]}, r"no column 'speaker'; add it.*found: session"),
        ({"utterances": [row | {"start": 1.0} for row in turns("a", "XY")]}, "unknown column 'start'; did you mean 's"),
        ({"ratings": [rating("a") | {"higher_is_better": "yes"}]}, '"yes" is not true or false'),
        ({"utterances": [*turns("a", "X"), *turns(None, "X")]}, "row 2, column session_id: empty"),
    ],
)
def test_jsonl_of_other_columns_is_told(tmp_path, tables, words):
    with pytest.raises(InputError, match=words):
        Corpus.open(jsonl_corpus(tmp_path, **tables))


@pytest.mark.parametrize("keep", [0, 3, 200])
def test_truncated_parquet(tmp_path, keep):
    small().write(tmp_path)
    path = tmp_path / "utterances.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"utterances.parquet: not a readable Parquet file"):
        Corpus.open(tmp_path)


def test_parquet_without_permission(tmp_path, monkeypatch):
    small().write(tmp_path)
    monkeypatch.setattr("pyarrow.OSFile", lambda *_: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(InputError, match="no permission to read it"):
        Corpus.open(tmp_path)


def test_parquet_of_wider_types_is_taken(tmp_path):
    small().write(tmp_path)
    wide = small().utterances
    wide = wide.set_column(1, "turn", wide.column("turn").cast(pa.int64()))
    wide = wide.set_column(2, "speaker", wide.column("speaker").dictionary_encode())
    wide = wide.set_column(3, "text", wide.column("text").cast(pa.large_string()))
    pq.write_table(wide.append_column("note", [["x"] * 5]), tmp_path / "utterances.parquet")
    corpus = Corpus.open(tmp_path)
    assert corpus.utterances.schema == SCHEMAS["utterances"].arrow
    assert list(corpus.iter_sessions()) == list(small().iter_sessions())


def test_tables_hold_what_is_unknown_and_nan_for_validation_to_name(tmp_path):
    corpus = Corpus.open(jsonl_corpus(tmp_path, sessions=[{"session_id": "a", "mood": "fine"}]))
    assert corpus.sessions.column("duration_s").to_pylist() == [None]
    corpus = Corpus.open(jsonl_corpus(tmp_path, ratings=[rating("a", score=float("nan"))]))
    assert corpus.ratings.num_rows == 1


@pytest.mark.parametrize(
    ("column", "value", "needed"),
    [
        ("turn", 1.5, "1.5 is not a whole number"),
        ("turn", True, "true is not a whole number"),
        ("turn", 2**40, "is not a whole number"),
        ("start_s", "1.0", '"1.0" is not a number'),
        ("start_s", True, "true is not a number"),
        ("text", 7, "7 is not text"),
        ("text", "\ud800", "is not text"),
        ("speaker", {"id": "x" * 90}, "… is not text"),
    ],
)
def test_jsonl_wrong_type_names_line_column_and_value(tmp_path, column, value, needed):
    rows = turns("a", "XY")
    rows[1][column] = value
    with pytest.raises(InputError) as error:
        Corpus.open(jsonl_corpus(tmp_path, utterances=rows))
    assert f"utterances.jsonl, line 2, column {column}" in str(error.value) and needed in str(error.value)
