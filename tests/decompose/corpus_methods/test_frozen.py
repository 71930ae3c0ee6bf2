"""Sessions judged by what a fit learned from others: as the fit itself would have judged them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.frozen import judge_frozen, learns
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.methods import METHODS
from apportion.decompose.reactions.model import LinearWorth
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from tests.decompose.corpus_methods.test_stacked import EPISODES, LLM, READ
from tests.decompose.sessions import features
from tests.reward_model.tiny import ignore, small, splits_of

COMPARED = ("llm", "reaction", "reaction-llm", "llm-student", "reactions-en")
SPLITS = splits_of(EPISODES)
HELD = frozenset(SPLITS.filter(pc.field("split") == "test")["session_id"].to_pylist())


def how(components=("reaction", "llm-student", "llm")):
    given = {"method": "mix", "compare": COMPARED, "llm": {"prompt": "blind"}, "stacking": {"components": components}}
    return TrainingConfig(DecomposeSettings.model_validate(given), small(), 3)


def of_held(table: pa.Table) -> pa.Table:
    return table.filter(pc.is_in(table["session_id"], pa.array(sorted(HELD))))


@pytest.mark.parametrize("method", ["mix", "reaction", "reaction-llm", "llm-student"])
def test_what_is_new_is_judged_as_the_fit_would_have_judged_it_without_its_score(method):
    data = TrainingData(SplitEpisodes(EPISODES, SPLITS), reactions=READ, judgements=LLM)
    fit = fit_decomposer(method, data, how(), ignore)
    learnt = json.loads(json.dumps(fit.learnt, allow_nan=False))
    held = [episode for episode in EPISODES if episode.session_id in HELD]
    new = TrainingData(SplitEpisodes(held, SPLITS.slice(0, 0)), reactions=of_held(READ), judgements=of_held(LLM))
    judged, expected = judge_frozen(method, learnt, new, how()), of_held(fit.judgements)
    assert judged.drop(["raw_reward"]) == expected.drop(["raw_reward"]) and len(judged) > 20
    for column in (judged, expected):
        assert column["raw_reward"].null_count < len(judged)
    ours, theirs = (np.array(table["raw_reward"].to_pylist(), dtype=float) for table in (judged, expected))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_source_with_nothing_to_look_at_knows_nothing_and_the_others_stand():
    data = TrainingData(SplitEpisodes(EPISODES, SPLITS), reactions=READ, judgements=LLM)
    learnt = fit_decomposer("mix", data, how(), ignore).learnt
    held = SplitEpisodes([episode for episode in EPISODES if episode.session_id in HELD], SPLITS.slice(0, 0))
    deaf = judge_frozen("mix", learnt, TrainingData(held, judgements=of_held(LLM)), how())
    blank = judge_frozen("mix", learnt, TrainingData(held), how())
    assert deaf["raw_reward"].null_count == 0 and blank["raw_reward"].null_count == len(blank) == len(deaf)


def test_other_measurements_than_taught_it_are_refused():
    data = TrainingData(SplitEpisodes(EPISODES, SPLITS), reactions=READ)
    learnt = fit_decomposer("reaction", data, how(), ignore).learnt
    measured = features(
        (EPISODES[0].session_id, EPISODES[0].target_turns[0], EPISODES[0].rating.rater, "during", "smile", 0.5)
    )
    filmed = TrainingData(SplitEpisodes(EPISODES, SPLITS), reactions=READ, features=measured)
    with pytest.raises(UnitError, match="taught what they are worth: other measurements"):
        judge_frozen("reaction", learnt, filmed, how())


def test_what_learns_here_is_told_from_what_was_learned_elsewhere_or_judges():
    learned = {name for name in ("mix", "reaction", "rrd", "reactions-en", "uniform", "llm") if learns(METHODS[name])}
    assert learned == {"mix", "reaction", "rrd"}


def test_a_worth_comes_back_to_the_bit_with_columns_that_never_vary():
    rng = np.random.default_rng(1)
    worth = LinearWorth(*(rng.normal(size=4) for _ in range(4)), bias=0.1)
    worth.scale[2] = np.inf
    again = LinearWorth.from_json(json.loads(json.dumps(worth.to_json(), allow_nan=False)))
    assert all((getattr(again, name) == getattr(worth, name)).all() for name in ("centre", "scale", "mean", "weights"))
    assert again.bias == worth.bias
