import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.load_corpus import take_in
from tests.behaviour.small import write_small_corpus


def config(corpus, **values) -> Config:
    return Config.model_validate({"corpus": corpus, "output": corpus / "run", **values})


@pytest.fixture
def corpus(tmp_path):
    return write_small_corpus(tmp_path / "corpus", sessions=6)


def test_the_only_rating_is_chosen(corpus):
    intake = take_in(config(corpus))
    assert intake.rating == "satisfaction"
    assert list(intake.sessions) == [f"s{n:02d}" for n in range(6)]
    assert intake.problems == ()


def test_a_limit_keeps_the_first_sessions(corpus):
    assert list(take_in(config(corpus, run={"limit": 2})).sessions) == ["s00", "s01"]


def test_named_sessions_leave_the_others_for_the_splits(corpus):
    intake = take_in(config(corpus, run={"sessions": ["s04", "s01"]}))
    assert list(intake.sessions) == [f"s{n:02d}" for n in range(6)] and "2 of 6" in intake.warnings[0]


def test_a_named_session_beyond_the_limit_is_told(corpus):
    with pytest.raises(InputError, match=r"s04, not among the first 2 sessions, which are all that --limit"):
        take_in(config(corpus, run={"sessions": ["s04", "s01"], "limit": 2}))


def test_a_session_that_is_not_there_is_named_beside_the_nearest(corpus):
    with pytest.raises(
        InputError, match=r"has no session 's03x' \(did you mean 's03'\?\), 'zebra'\. It has 6, s00, s01"
    ):
        take_in(config(corpus, run={"sessions": ["s03x", "s01", "zebra"]}))


def test_a_single_name_that_is_no_session_may_have_been_meant_as_a_file(corpus):
    with pytest.raises(InputError, match=r"no session 'ids\.txt', nor was a file of that name read\. It has 6"):
        take_in(config(corpus, run={"sessions": ["ids.txt"]}))


def test_a_broken_session_is_told_where_it_is_named_alone(corpus):
    with_ratings(corpus, lambda rows: [{**rows[0], "score": 99.0}, *rows[1:]])
    assert take_in(config(corpus, run={"sessions": ["s01"]})).problems == ()
    assert [problem.session_id for problem in take_in(config(corpus, run={"sessions": ["s00", "s01"]})).problems] == [
        "s00"
    ]
    with pytest.raises(InputError, match="no session can be used"):
        take_in(config(corpus, run={"sessions": ["s00"]}))


def test_an_unknown_rating_names_those_there_are(corpus):
    with pytest.raises(InputError, match=r"did you mean 'satisfaction'\? It has: satisfaction"):
        take_in(config(corpus, rating="satisfction"))


def with_ratings(corpus, change):
    table = pq.read_table(corpus / "ratings.parquet")
    rows = change(table.to_pylist())
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), corpus / "ratings.parquet")


def test_several_ratings_must_be_chosen_from(corpus):
    with_ratings(corpus, lambda rows: [*rows, {**rows[0], "name": "humour"}])
    with pytest.raises(InputError, match=r"several ratings: humour, satisfaction. Choose one: rating = 'humour'"):
        take_in(config(corpus))


def test_no_rating_at_all(corpus):
    with_ratings(corpus, lambda rows: [])
    with pytest.raises(InputError, match=r"no ratings, so there is no score.*decompose\.method = 'reactions-en'"):
        take_in(config(corpus))


def test_a_policy_can_do_without_scores(corpus, tmp_path):
    with_ratings(corpus, lambda rows: rows[1:])
    for align in ({"algorithm": "sft"}, {"reward_model": tmp_path / "llm-seed0"}):
        intake = take_in(config(corpus, run={"limit": 1}, align=align))
        assert intake.rating == "satisfaction" and list(intake.sessions) == ["s00"] and intake.warnings == ()
    with_ratings(corpus, lambda rows: [])
    assert take_in(config(corpus, align={"algorithm": "sft"})).rating is None
    with pytest.raises(InputError, match=r"no ratings, .* A policy can do without: set align.reward_model to"):
        take_in(config(corpus, align={"algorithm": "sft", "enabled": False}))


def test_no_usable_session(corpus):
    with_ratings(corpus, lambda rows: [{**row, "score": 99.0} for row in rows])
    with pytest.raises(InputError, match="no session can be used"):
        take_in(config(corpus))


def test_the_limit_can_leave_no_rated_session(corpus):
    with_ratings(corpus, lambda rows: rows[1:])
    with pytest.raises(InputError, match="none of the 1 sessions used has a rating"):
        take_in(config(corpus, run={"limit": 1}))


def test_one_bad_session_is_told_and_left_out(corpus):
    with_ratings(corpus, lambda rows: [{**rows[0], "score": 99.0}, *rows[1:]])
    intake = take_in(config(corpus))
    assert "s00" not in intake.sessions
    assert "99" in str(intake.problems[0])


def test_fatal_problems_say_so(corpus):
    table = Corpus.open(corpus).ratings
    with_ratings(corpus, lambda rows: [{**row, "name": ""} for row in rows])
    try:
        intake = take_in(config(corpus))
    except InputError as error:
        assert "ratings" in str(error)
    else:
        assert intake.rating == ""
    assert len(table) == 6
