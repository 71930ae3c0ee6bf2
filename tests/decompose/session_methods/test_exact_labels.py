"""Labels of all histories: against shapiq's exact computer on the corpus's own sessions, and what is left out."""

import json
from functools import partial

import numpy as np
import pytest

from apportion.corpus.account import RECORD
from apportion.corpus.annotators import computed_labels
from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import claim, place
from apportion.decompose.session_methods.exact_labels import ANNOTATOR, ExactChoice, label_exactly
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Action
from apportion.environments.registry import open_session
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.scripted_agents import TalkingAgent, WordSensitiveAgent
from apportion.environments.sotopia.simulation import LOG
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError

TASK = next(task for task in bundled_tasks.tasks(pairs=1) if task.scenario.name == "used_bicycle")


def played(out, closings=(10, 16), seller=None):
    names = [one.name for one in TASK.characters]
    rules = Rules(most_acts=20)
    plans = [
        EpisodePlan(
            f"s{closing}",
            partial(Sotopia, TASK, rules),
            {names[0]: seller or TalkingAgent(closing), names[1]: WordSensitiveAgent()},
            closing,
            {"scenario": TASK.scenario.name, "rules": vars(rules)},
        )
        for closing in closings
    ]
    out.mkdir()
    claim(out, {"kind": "test"})
    place("test", out, to_corpus(simulate(plans, out / LOG)), {"kind": "test"})
    return Corpus.open(out)


@pytest.mark.slow
def test_labels_of_ten_acts_are_shapiq_s_exact_values_and_the_new_corpus_plays_on(tmp_path):
    from shapiq.game_theory.exact import ExactComputer

    corpus = played(tmp_path / "a")
    seller = TASK.characters[0].name
    report = label_exactly(ExactChoice(corpus, "GOAL", seller), tmp_path / "b")
    labelled = Corpus.open(tmp_path / "b")
    ((key, table),) = computed_labels(labelled.turn_labels).items()
    assert key == (ANNOTATOR, "GOAL") and table.num_rows == report.rows["turn_labels"] == 7 + 10
    for session_id in labelled.session_ids():
        session = labelled.session(session_id)
        opened = open_session(session, labelled.root, None)
        turns = opened.turns_of(seller)
        rollouts = Rollouts(opened, seller, turns, RolloutUtility({"GOAL": 1.0}), seed=f"0/{session_id}")

        def worth(rows, rollouts=rollouts):
            return np.array([np.mean(rollouts.played_on(frozenset(np.flatnonzero(row).tolist()))) for row in rows])

        exact = ExactComputer(worth, len(turns))("SV", 1).get_n_order_values(1)
        found = {row["turn"]: row["value"] for row in table.to_pylist() if row["session_id"] == session_id}
        assert tuple(found) == turns and np.ptp(exact) > 1
        np.testing.assert_allclose(list(found.values()), exact, rtol=0, atol=1e-9)


def test_everybody_s_acts_of_every_rating_are_labelled_and_other_labels_stay(tmp_path):
    corpus = played(tmp_path / "a", (2,))
    told = []
    report = label_exactly(ExactChoice(corpus, rollouts=1), tmp_path / "b", progress=lambda *at: told.append(at))
    assert told == [(0, 1)] and "computed, nobody judged" in report.notes[0]
    labelled = Corpus.open(tmp_path / "b")
    rated = {(row["target"], row["name"]) for row in corpus.ratings.to_pylist()}
    speakers = dict(enumerate(turn.speaker for turn in labelled.session("s2").turns))
    rows = labelled.turn_labels.to_pylist()
    assert {(speakers[row["turn"]], row["name"]) for row in rows} == rated and len({one for one, _ in rated}) == 2
    goal = [row for row in rows if row["name"] == "GOAL"]
    assert {(row["low"], row["high"]) for row in goal} == {(-10.0, 10.0)}
    record = json.loads((tmp_path / "b" / RECORD).read_text())
    assert record["rollouts"] == 1 and record["made"] == {"kind": "test"}
    before = (tmp_path / "b" / "turn_labels.parquet").read_bytes()
    label_exactly(ExactChoice(corpus, rollouts=1), tmp_path / "b")
    assert (tmp_path / "b" / "turn_labels.parquet").read_bytes() == before
    with pytest.raises(InputError, match="labels by 'computed:shapley' already; label the corpus before"):
        label_exactly(ExactChoice(labelled), tmp_path / "c")
    with pytest.raises(InputError, match="not written over"):
        label_exactly(ExactChoice(corpus), tmp_path / "a")
    with pytest.raises(InputError, match="does not come from this"):
        label_exactly(ExactChoice(corpus, seed=1), tmp_path / "b")


def test_what_cannot_be_labelled_is_told(tmp_path):
    corpus = played(tmp_path / "a", (2, 10))
    seller = TASK.characters[0].name
    report = label_exactly(ExactChoice(corpus, "GOAL", seller, most_acts=4), tmp_path / "b")
    assert report.rows["sessions"] == 2 and "1 episodes without labels" in report.notes[1]
    assert f"session s10: {seller} has 7 acts, of which 128 histories can be made" in report.notes[1]
    with pytest.raises(InputError, match="no act of any episode can be labelled: session s10"):
        label_exactly(ExactChoice(corpus, "GOAL", seller, most_acts=1), tmp_path / "c")
    (tmp_path / "a" / LOG).unlink()
    with pytest.raises(InputError, match=r"no act of any episode .*is not there, which holds what was played"):
        label_exactly(ExactChoice(corpus, "GOAL", seller), tmp_path / "c")
    chatting = ScriptedAgent("base@model", lambda view: Action("speak", "Hm.") if view.step < 4 else Action("leave"))
    asked = played(tmp_path / "d", (2,), chatting)
    with pytest.raises(InputError, match="so that only scripts play them on"):
        label_exactly(ExactChoice(asked, "GOAL"), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_sessions_that_no_environment_made_are_told(tmp_path):
    corpus = Corpus.open("demo/corpus")
    with pytest.raises(InputError, match="no environment made it, so that there is nothing to play on"):
        label_exactly(ExactChoice(corpus, most_acts=10**6), tmp_path / "c")
