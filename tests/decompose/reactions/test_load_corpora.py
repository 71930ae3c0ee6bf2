"""Corpora in folders, read for a model of reactions."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.decompose.reactions.transfer import gather
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import InputError
from tests.behaviour.small import write_small_corpus
from tests.reward_model.tiny import save_tiny


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ReactionSettings:
    return ReactionSettings(backbone=str(save_tiny(tmp_path_factory.mktemp("tiny"))), max_tokens=16)


def rate(corpus: Path, name: str | None) -> Path:
    """Rate the sessions of ``corpus`` by a second name, too; None takes all ratings away."""
    table = pq.read_table(corpus / "ratings.parquet")
    rows = table.to_pylist()
    rows = [] if name is None else [*rows, *({**row, "name": name} for row in rows)]
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), corpus / "ratings.parquet")
    return corpus


def test_every_rated_session_is_read(settings: ReactionSettings, tmp_path: Path) -> None:
    folders = [write_small_corpus(tmp_path / name, sessions=count) for name, count in (("a", 3), ("b", 2))]
    told: list[tuple[str, int, int]] = []
    pools = gather(folders, settings, licence="CC0", told=lambda *of: told.append(of))
    assert [pool.about.corpus for pool in pools] == ["a", "b"]
    assert [len(pool.reactions.episodes) for pool in pools] == [3, 2]
    one = pools[0].about
    assert (one.rating, one.sessions, one.licence, one.language) == ("satisfaction", 3, "CC0", "en")
    assert one.turns == len(pools[0].reactions.cues) and one.sha256 is not None and one.sha256 != pools[1].about.sha256
    assert told == [("a", 1, 3), ("a", 2, 3), ("a", 3, 3), ("b", 1, 2), ("b", 2, 2)]


def test_of_several_ratings_one_is_named(settings: ReactionSettings, tmp_path: Path) -> None:
    several = rate(write_small_corpus(tmp_path / "several", sessions=2), "humour")
    with pytest.raises(InputError, match=r"several: ratings humour, satisfaction, and one of them .*named: none\."):
        gather([several], settings)
    with pytest.raises(InputError, match=r"named: humour, satisfaction\. Name one\."):
        gather([several], settings, ("humour", "satisfaction"))
    (pool,) = gather([several], settings, ("humour", "other"))
    assert pool.about.rating == "humour" and len(pool.reactions.episodes) == 2
    with pytest.raises(InputError, match=r"one: ratings satisfaction, and one of them is learnt from; named: humour"):
        gather([write_small_corpus(tmp_path / "one", sessions=2)], settings, ("humour",))


def test_what_is_no_use(settings: ReactionSettings, tmp_path: Path) -> None:
    corpus = write_small_corpus(tmp_path / "corpus", sessions=2)
    with pytest.raises(InputError, match="corpus: named twice; its sessions would count double"):
        gather([corpus, tmp_path / "corpus" / ".." / "corpus"], settings)
    with pytest.raises(InputError, match="nothing"):
        gather([tmp_path / "nothing"], settings)
    with pytest.raises(InputError, match="bare: no ratings, so there is no score to learn from"):
        gather([rate(write_small_corpus(tmp_path / "bare", sessions=2), None)], settings)


def test_ratings_of_sessions_that_cannot_be_used(settings: ReactionSettings, tmp_path: Path) -> None:
    corpus = write_small_corpus(tmp_path / "broken", sessions=2)
    table = pq.read_table(corpus / "ratings.parquet")
    rows = [{**row, "score": 99.0} for row in table.to_pylist()]  # outside its scale
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), corpus / "ratings.parquet")
    with pytest.raises(InputError, match="none of its 0 usable sessions has a rating 'satisfaction'"):
        gather([corpus], settings)
