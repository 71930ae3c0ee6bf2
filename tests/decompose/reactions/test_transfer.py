"""One model of several corpora's scores, and a corpus judged by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from apportion.corpus.schema import HISTORY, REWARDS
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.pretrained import Prior, TrainingProvenance, write_prior
from apportion.decompose.reactions.transfer import (
    PooledCorpora,
    PriorProvenance,
    gather,
    learn_prior,
    opinions,
    prior_for,
)
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.foundation.errors import InputError
from tests.behaviour.small import write_small_corpus
from tests.decompose.reactions.test_model import reacted, table_of
from tests.reward_model.tiny import ignore, save_tiny, small, splits_of

ABOUT = PriorProvenance("made-up", "Apache-2.0")
SETTINGS = ReactionSettings()


def pool(episodes: list[Episode], felt: list[float], name: str = "one") -> PooledCorpora:
    about = TrainingProvenance(corpus=name, rating="liked", sessions=len(episodes), turns=len(felt))
    return PooledCorpora(arrange(table_of(episodes, felt), episodes), about)


def on_scale(episodes: list[Episode], low: float, width: float, turned: bool = False) -> list[Episode]:
    """The same sessions with their scores on another scale; ``turned``: a low number is the good end."""
    moved = []
    for one in episodes:
        rating = one.rating
        share = (rating.score - rating.low) / (rating.high - rating.low)
        score = low + width * (1 - share if turned else share)
        rating = replace(rating, score=score, low=low, high=low + width, higher_is_better=not turned)
        moved.append(replace(one, rating=rating))
    return moved


@pytest.fixture(scope="module")
def learnt() -> Prior:
    first, second = reacted(150), reacted(150, seed=4)
    return learn_prior([pool(*first), pool(on_scale(second[0], 0.0, 100.0, turned=True), second[1])], SETTINGS, ABOUT)


def test_two_corpora_on_two_scales_teach_one_model(learnt: Prior) -> None:
    episodes, felt = reacted(40)
    seen = arrange(table_of(episodes, felt), episodes)
    found = opinions(learnt, seen)
    assert np.isnan(found).tolist() == (~seen.replied).tolist()
    assert np.corrcoef(found[seen.replied], np.array(felt)[seen.replied])[0, 1] > 0.7
    card = learnt.card
    assert card.explained is not None and card.explained > 0.3
    assert [one.sessions for one in card.learnt_from] == [150, 150]
    assert card.reading == {"backbone": "minilm", "max_tokens": 128} == SETTINGS.reading()
    assert card.penalty is not None and card.late in SETTINGS.recency_weights


@hypothesis_settings(max_examples=8, deadline=None)
@given(low=st.floats(-50, 50), width=st.floats(0.5, 1000), turned=st.booleans())
def test_the_scale_of_a_corpus_says_nothing(low: float, width: float, turned: bool) -> None:
    episodes, felt = reacted(30)
    seen = arrange(table_of(episodes, felt), episodes)
    one = learn_prior([pool(episodes, felt)], SETTINGS, ABOUT)
    other = learn_prior([pool(on_scale(episodes, low, width, turned), felt)], SETTINGS, ABOUT)
    np.testing.assert_allclose(other.values(seen), one.values(seen), rtol=1e-5, atol=1e-7)


def test_a_corpus_is_judged_without_a_look_at_its_scores(learnt: Prior, tmp_path: Path) -> None:
    write_prior(tmp_path / "m.safetensors", learnt)
    settings = DecomposeSettings(method="prior", reaction={"pretrained": tmp_path / "m.safetensors"})
    episodes, felt = reacted(20)

    def judged(these: list[Episode]) -> pa.Table:
        data = TrainingData(SplitEpisodes(these, splits_of(these, 0.6)), reactions=table_of(these, felt))
        found = fit_decomposer("prior", data, TrainingConfig(settings, small(), 3), ignore)
        assert found.history.schema == HISTORY.arrow and len(found.history) == 0
        return found.judgements

    table = judged(episodes)
    assert table.schema.equals(REWARDS.arrow) and set(table.column("method").to_pylist()) == {"prior"}
    seen = arrange(table_of(episodes, felt), episodes)
    values = [float("nan") if v is None else v for v in table.column("raw_reward").to_pylist()]
    np.testing.assert_allclose(values, opinions(learnt, seen))
    assert judged(on_scale(episodes, 10.0, 3.0, turned=True)).equals(table)


def test_what_cannot_be_learnt_from_is_refused() -> None:
    episodes, felt = reacted(12)
    with pytest.raises(InputError, match="no corpus to learn reactions from"):
        learn_prior([], SETTINGS, ABOUT)
    few = episodes[:9]
    turns = sum(len(e.target_turns) for e in few)
    with pytest.raises(InputError, match="small: 9 scored dialogues with turns of their target; at least 10 are"):
        learn_prior([pool(few, felt[:turns], "small")], SETTINGS, ABOUT)
    alike = [replace(e, rating=replace(e.rating, score=2.5)) for e in episodes]
    with pytest.raises(InputError, match=r"flat: all 12 scores are 2\.5, which teaches nothing"):
        learn_prior([pool(alike, felt, "flat")], SETTINGS, ABOUT)


def test_a_model_is_used_where_replies_are_read_as_it_needs(learnt: Prior, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no reaction model is named\. Set decompose\.reaction\.pretrained"):
        prior_for(SETTINGS)
    path = tmp_path / "m.safetensors"
    write_prior(path, learnt)
    assert prior_for(ReactionSettings(pretrained=path)).card == learnt.card
    with pytest.raises(InputError, match=r"learnt with max_tokens = 128, and decompose\.reaction\.max_tokens is 64"):
        prior_for(ReactionSettings(pretrained=path, max_tokens=64))


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
