"""The method `predicted-reaction`: taught by the replies that came, and judging by text alone."""

import math

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.predicted_reaction import reaction_worth
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import history_windows
from apportion.reward_model.network.embed import embedding_table
from tests.decompose.reactions.test_model import reacted, table_of
from tests.reward_model.tiny import ignore, small, splits_of

EPISODES, FELT = reacted(60)
READ = table_of(EPISODES, FELT)


def embeddings() -> pa.Table:
    """What was felt can be read in the turn, with noise; the third block is read by no head."""
    windows = history_windows(EPISODES, 3)
    vectors = np.random.default_rng(3).normal(size=(len(FELT), 9))
    vectors[:, 0] = 4 * np.array(FELT) + 0.2 * vectors[:, 0]
    vectors[:, 6:] = 0
    return embedding_table(windows, vectors.astype(np.float32))


def fitted(read: pa.Table | None = READ, heads: int = 3) -> pa.Table:
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), embeddings(), reactions=read)
    how = TrainingConfig(DecomposeSettings(), small(heads=heads, epochs=40, patience=40), 0)
    return fit_decomposer("predicted-reaction", data, how, ignore).judgements


def silent(read: pa.Table, first: int) -> pa.Table:
    """The same, as if nobody had replied to the turns from ``first`` on."""
    replied = [was and place < first for place, was in enumerate(read["replied"].to_pylist())]
    return read.set_column(read.schema.get_field_index("replied"), "replied", pa.array(replied))


def test_it_judges_turns_as_those_who_reply_feel_and_those_that_nobody_replies_to() -> None:
    values = fitted()["raw_reward"].to_numpy()
    assert np.isfinite(values).all() and np.corrcoef(values, FELT)[0, 1] > 0.7
    held_out = sum(len(e.target_turns) for e in EPISODES[:48])
    without = fitted(silent(READ, held_out))["raw_reward"].to_numpy()
    assert np.isfinite(without).all() and np.corrcoef(without[held_out:], values[held_out:])[0, 1] > 0.999


def test_what_a_reaction_was_worth_is_null_where_nobody_replied_and_scores_alone_teach_it() -> None:
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), reactions=silent(READ, 100))
    worth = reaction_worth("predicted-reaction", data, TrainingConfig(DecomposeSettings(), small(), 0))
    values = [math.nan if value is None else value for value in worth["reward"].to_pylist()]
    replied = silent(READ, 100)["replied"].to_pylist()[: len(values)]
    assert worth["reward"].equals(worth["raw_reward"]) and np.isfinite(values).tolist() == replied
    assert np.corrcoef(*np.array([values, FELT[: len(values)]])[:, replied])[0, 1] > 0.7


def test_where_nothing_says_what_a_reaction_is_worth_that_is_told() -> None:
    with pytest.raises(UnitError, match="nothing says what a reaction is worth"):
        fitted(silent(READ, 0))
    with pytest.raises(UnitError, match="no reaction was read of any session"):
        fitted(None)
