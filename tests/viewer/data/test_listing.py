import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.viewer.data.index import slug_of
from apportion.viewer.data.listing import PAGE, SORTS, Query, listing
from apportion.viewer.data.run import serve_run
from apportion.viewer.data.run_location import open_place
from apportion.viewer.data.session import read_session
from tests.behaviour.small import write_small_corpus
from tests.viewer.runs import rename_sessions, run_on


@pytest.fixture(scope="module")
def index(viewed_run):
    return serve_run(open_place(viewed_run)).index


def test_a_row_is_what_the_tables_say(viewed_run, index):
    rows = {row.session_id: row for row in listing(index, Query(method="sentiment")).rows}
    corpus = Corpus.open(viewed_run.parent / "corpus")
    assert sorted(rows) == corpus.session_ids()
    rewards = pq.read_table(viewed_run / "rewards.parquet").to_pylist()
    projection = json.loads((viewed_run / "projections" / "sentiment-seed0.json").read_text())
    residuals = {row["session_id"]: row["residual"] for row in projection["residuals"]}
    for name, row in rows.items():
        session = corpus.session(name)
        own = {r["turn"]: r["reward"] for r in rewards if r["session_id"] == name and r["method"] == "sentiment"}
        assert (row.score, row.low, row.high) == (session.ratings[0].score, 1.0, 5.0)
        assert row.total == pytest.approx(sum(own.values())) and row.lowest == min(own.values())
        assert own[row.lowest_turn] == row.lowest and row.lowest_text == session.turns[row.lowest_turn].text
        assert row.spark == pytest.approx([own[turn] for turn in sorted(own)], rel=1e-3)
        assert row.residual == pytest.approx(residuals[name]) and row.turns == len(session.turns)
        assert row.disagreement is None  # `uniform` orders nothing.
        assert row.warnings == () and row.slug == slug_of(name)


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_sorted_both_ways_the_unknown_last(index, sort):
    up, down = (listing(index, Query(method="sentiment", sort=sort, down=way)).rows for way in (False, True))
    assert {row.session_id for row in up} == {row.session_id for row in down} and len(up) == 12
    field = {"session": "session_id", "length": "turns", "sum": "total"}.get(sort, sort)
    values = [getattr(row, field) for row in up]
    if sort == "residual":
        values = [abs(value) for value in values]
    known = [value for value in values if value is not None]
    assert known == sorted(known) and values[: len(known)] == known


def test_filtered_and_searched(index):
    rows = listing(index, Query(text="platform", method="sentiment")).rows
    assert rows and all(row.excerpt and "platform" in row.excerpt[2] for row in rows)
    corpus_words = listing(index, Query(text="user")).rows
    assert len(corpus_words) == 12  # a speaker's name
    assert [row.session_id for row in listing(index, Query(text="s07")).rows] == ["s07"]
    assert {row.split for row in listing(index, Query(split="test")).rows} == {"test"}
    assert "test" in json.loads(index.facts()["splits"])
    assert listing(index, Query(only="warned")).page.found == 0
    assert listing(index, Query(text="...")).page.found == 0
    assert listing(index, Query(text="platform -platform")).page.found == 0


def test_what_was_found_stands_at_the_beginning_of_its_excerpt(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=4)
    corpus = Corpus.open(tmp_path / "corpus")
    rows = [{**row, "text": "many other words " * 30 + "needle."} for row in corpus.utterances.to_pylist()]
    utterances = pa.Table.from_pylist(rows, schema=corpus.utterances.schema)
    Corpus.of(tmp_path / "corpus", {**corpus.tables, "utterances": utterances}).write(tmp_path / "corpus")
    for row in listing(serve_run(open_place(run_on(tmp_path))).index, Query(text="needle")).rows:
        assert row.excerpt == (0, "user", "…other words many other words needle.")


def test_an_unknown_method_has_no_figures(index):
    rows = listing(index, Query(method="none")).rows
    assert len(rows) == 12 and {row.total for row in rows} == {None} and rows[0].spark == ()


def test_pages(index, monkeypatch):
    monkeypatch.setattr("apportion.viewer.data.listing.PAGE", 5)
    pages = [listing(index, Query(page=number)) for number in (1, 2, 3)]
    assert [len(page.rows) for page in pages] == [5, 5, 2] and PAGE == 50
    assert len({row.session_id for page in pages for row in page.rows}) == 12
    last = listing(index, Query(page=99))
    assert (last.page.number, last.page.pages, last.rows) == (3, 3, pages[2].rows)


def test_one_session_is_what_the_corpus_and_the_tables_hold(viewed_run, index):
    tables = read_session(index, "s03")
    assert tables is not None
    assert tables.session == Corpus.open(viewed_run.parent / "corpus").session("s03")
    rewards = [
        row for row in pq.read_table(viewed_run / "rewards.parquet").to_pylist() if row.pop("session_id") == "s03"
    ]
    key = lambda row: (row["method"], row["turn"])  # noqa: E731
    assert sorted(tables.rewards, key=key) == sorted(rewards, key=key)
    assert len(tables.labels) == 3 and (tables.before, tables.after) == ("s02", "s04")
    first = read_session(index, "s00")
    assert first is not None and first.before is None and first.scores == ()
    assert read_session(index, "nobody") is None


def test_ids_that_differ_in_capitals_have_pages_that_a_disk_tells_apart(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=4)
    rename_sessions(tmp_path / "corpus", ["a", "A", "b", "c"])
    index = serve_run(open_place(run_on(tmp_path))).index
    slugs = [row.slug for row in listing(index, Query()).rows]
    assert len({slug.casefold() for slug in slugs}) == 4
