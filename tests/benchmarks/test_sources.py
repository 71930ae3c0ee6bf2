import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from apportion.corpus.schema import SPLITS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.trained_network import TrainingData
from benchmarks import sources
from tests.evaluation.made_up import episode
from tests.shared import shared

JUDGED = Path(sources.__file__).parent / "judged" / "ConTurE.jsonl"


def test_a_fold_is_taught_by_all_others():
    episodes = [episode(f"s{i}", 4, float(i)) for i in range(20)]
    data = TrainingData(SplitEpisodes(episodes, SPLITS.arrow.empty_table()))
    judged = []
    told = sources.folds_of([e.session_id for e in episodes])
    for fold in range(sources.FOLDS):
        taught = sources.taught_by(data, frozenset(s for s, of in told.items() if of != fold)).episodes
        assert taught.sessions("train").isdisjoint(taught.sessions("test"))
        assert len(taught.of("train")) + len(taught.of("test")) == 20
        judged += sorted(taught.sessions("test"))
    assert sorted(judged) == sorted(e.session_id for e in episodes)


def test_what_is_not_known_counts_as_the_mean_of_its_dialogue_and_an_unknown_dialogue_as_alike():
    told = sources.Told([episode("a", 3, 1.0), episode("b", 2, 1.0)])
    told.add("one", 0, np.array([1.0, np.nan, 3.0]))
    told.add("one", 1, None)
    assert [of.tolist() for of in told.values["one"]] == [[1.0, 2.0, 3.0], [0.0, 0.0]]
    assert told.known["one"] == [True, False]


@pytest.mark.slow
def test_on_ratings_of_quality_the_mix_is_the_language_model(capsys):
    path = shared("data/conture/data.json.gz")
    given = {"corpus": "conture", "judged": JUDGED, "prompt": "default", "curve": False, "read": None}
    sources.main(argparse.Namespace(**given), path)
    told = {row["benchmark"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    of = "conture, the 60 judged by 'default': within-session Spearman"
    assert told[f"{of}, mix of all"]["figure"] == told[f"{of}, llm"]["figure"] > 0.5
    assert told[f"{of}, llm"]["mix of all_less_this"] == [0.0, 0.0, 0.0]
    assert told["conture: weight in the mix of all, reaction"]["figure"] == 0.0
