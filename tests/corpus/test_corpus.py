import json
import math
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.corpus.session import Background, Media, Rating, Turn
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


def test_turns_are_sorted_by_number_not_by_row():
    rows = turns("a", "XYXYXYXYXYXY")
    corpus = corpus_of("unused", sessions=[session("a")], utterances=rows[::-1], ratings=[rating("a")])
    assert [turn.turn for turn in corpus.session("a").turns] == list(range(12))


def test_a_session_without_any_rows_elsewhere_is_empty():
    corpus = corpus_of("unused", sessions=[session("a")], utterances=[], ratings=[])
    assert corpus.session("a").turns == () and corpus.session("a").ratings == ()


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


@settings(max_examples=30)
@given(sessions_strategy)
@example({"a": ([], [1.25e294, 1.7976931348623157e308])})
@example({"a": ([], [math.inf, -math.inf])})
def test_parquet_and_jsonl_give_the_same_corpus_back(tmp_path_factory, drawn):
    corpus = drawn_corpus(drawn)
    folder = tmp_path_factory.mktemp("corpus")
    corpus.write(folder / "p")
    Corpus.open(folder / "p").write(folder / "j", kind="jsonl")
    back = Corpus.open(folder / "j")
    assert list(back.iter_sessions()) == list(corpus.iter_sessions())
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_to_write(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match="cannot be written"):
        small().write(tmp_path / "corpus")


def test_writing_below_a_file_says_so(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        small().write(tmp_path / "file" / "corpus")


def test_missing_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        Corpus.open(tmp_path / "nowhere")


def test_a_file_is_not_a_corpus(tmp_path):
    (tmp_path / "SGD.txt").write_text("x")
    with pytest.raises(InputError, match=r"is a file.*apportion import KIND"):
        Corpus.open(tmp_path / "SGD.txt")


def test_empty_folder_names_the_tables_it_needs(tmp_path):
    with pytest.raises(InputError, match=r"no table 'sessions'.*ratings.parquet or .jsonl"):
        Corpus.open(tmp_path)


def test_corpus_without_sessions(tmp_path):
    corpus_of(tmp_path, sessions=[], utterances=[], ratings=[]).write(tmp_path)
    with pytest.raises(InputError, match="has no sessions"):
        Corpus.open(tmp_path)


def test_both_formats_of_one_table(tmp_path):
    small().write(tmp_path)
    jsonl(tmp_path, sessions=[session("a")])
    with pytest.raises(InputError, match=r"both sessions.parquet and sessions.jsonl"):
        Corpus.open(tmp_path)


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


def test_parquet_with_text_that_is_not_utf8(tmp_path):
    small().write(tmp_path)
    bad = pa.array([b"caf\xe9"] * 5).cast(pa.binary()).view(pa.string())
    broken = small().utterances.set_column(3, "text", bad)
    pq.write_table(broken, tmp_path / "utterances.parquet")
    with pytest.raises(InputError, match="UTF8"):
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


def test_parquet_of_another_type(tmp_path):
    small().write(tmp_path)
    ratings = small().ratings
    pq.write_table(ratings.set_column(5, "score", ratings.column("score").cast(pa.string())), tmp_path / "r")
    (tmp_path / "r").replace(tmp_path / "ratings.parquet")
    with pytest.raises(InputError, match="column score: holds string, but a number is needed"):
        Corpus.open(tmp_path)


def test_parquet_number_too_large(tmp_path):
    small().write(tmp_path)
    table = small().utterances
    pq.write_table(table.set_column(1, "turn", [[2**40] * 5]), tmp_path / "utterances.parquet")
    with pytest.raises(InputError, match="column turn: a value does not fit a whole number"):
        Corpus.open(tmp_path)


def test_jsonl_missing_column_says_did_you_mean(tmp_path):
    rows = [{("tex" if k == "text" else k): v for k, v in row.items()} for row in turns("a", "XY")]
    with pytest.raises(InputError, match=r"no column 'text'; did you mean 'tex'"):
        Corpus.open(jsonl_corpus(tmp_path, utterances=rows))


def test_jsonl_missing_column_without_a_near_one(tmp_path):
    with pytest.raises(InputError, match=r"no column 'speaker'; add it.*found: session_id"):
        Corpus.open(jsonl_corpus(tmp_path, utterances=[{"session_id": "a", "turn": 1, "text": "x"}]))


def test_jsonl_misspelt_optional_column_is_not_lost(tmp_path):
    with pytest.raises(InputError, match="unknown column 'start'; did you mean 'start_s'"):
        Corpus.open(jsonl_corpus(tmp_path, utterances=[row | {"start": 1.0} for row in turns("a", "XY")]))


def test_jsonl_optional_and_unknown_columns(tmp_path):
    corpus = Corpus.open(jsonl_corpus(tmp_path, sessions=[{"session_id": "a", "mood": "fine"}]))
    assert corpus.sessions.column("duration_s").to_pylist() == [None]


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


def test_jsonl_boolean_column(tmp_path):
    with pytest.raises(InputError, match='"yes" is not true or false'):
        Corpus.open(jsonl_corpus(tmp_path, ratings=[rating("a") | {"higher_is_better": "yes"}]))


def test_empty_session_id_names_the_row(tmp_path):
    with pytest.raises(InputError, match="row 2, column session_id: empty"):
        Corpus.open(jsonl_corpus(tmp_path, utterances=[*turns("a", "X"), turns("a", "X")[0] | {"session_id": None}]))


def test_tables_hold_nan_for_validation_to_name(tmp_path):
    corpus = Corpus.open(jsonl_corpus(tmp_path, ratings=[rating("a", score=float("nan"))]))
    assert corpus.ratings.num_rows == 1
