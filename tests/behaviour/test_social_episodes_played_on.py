"""A corpus of `simulate sotopia` in a run: a method plays its sessions on, and its values are those of all orders."""

import itertools
from functools import partial
from importlib.metadata import EntryPoint

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.decompose import methods
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import LOG, SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.foundation import registry
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config
from tests.behaviour import simulating_method as toy
from tests.behaviour.command import config, in_process

TEXT = """corpus = "play"
output = "run"
rating = "GOAL"
[run]
workers = 1
[split]
train = 1
validation = 0
test = 0
policy = 0
[decompose]
methods = [{methods}]
"""
"""A run of the corpus `play` on GOAL, without a split."""
PLAYED = TEXT.format(methods='"played"')


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    point = EntryPoint(toy.PLAYED.name, "tests.behaviour.simulating_method:PLAYED", methods.ENTRY_POINTS)
    found = {methods.ENTRY_POINTS: {toy.PLAYED.name: point}}
    monkeypatch.setattr(registry, "points_of", lambda group: found.get(group, {}))
    monkeypatch.setattr(methods, "points_of", lambda group: found.get(group, {}))


@pytest.fixture
def folder(tmp_path):
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=12), seed=5)
    write_corpus(choice, tmp_path / "play")
    return tmp_path


@pytest.fixture
def apportion(monkeypatch):
    return partial(in_process, monkeypatch)


def by_permutations(session, folder, target):
    """Each act's mean gain over all orders in which the acts can come in, played on with the method's seeds."""
    reopened = SIMULATOR.open(session, folder, lambda request: None)
    turns = reopened.turns_of(target)
    worth = {
        kept: sum(ending.scores["GOAL"] for ending in reopened.play_on(target, kept, (0, 1))) / 2
        for size in range(len(turns) + 1)
        for kept in itertools.combinations(turns, size)
    }
    gains = dict.fromkeys(turns, 0.0)
    orders = list(itertools.permutations(turns))
    for order in orders:
        for place, turn in enumerate(order):
            with_it, without = (tuple(sorted(order[:stop])) for stop in (place + 1, place))
            gains[turn] += (worth[with_it] - worth[without]) / len(orders)
    return gains


def test_values_of_a_run_are_those_of_all_orders(folder, apportion):
    done = apportion("run", "--only", "decompose", config(folder, PLAYED))
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    corpus = Corpus.open(folder / "play")
    checked = 0
    for session in corpus.iter_sessions():
        for rating in session.ratings:
            ours = {
                row["turn"]: row["raw_reward"]
                for row in rows
                if (row["session_id"], row["target"]) == (session.session_id, rating.target)
            }
            if rating.name == "GOAL" and len(ours) <= 6:
                assert ours == pytest.approx(by_permutations(session, folder / "play", rating.target), abs=1e-9)
                checked += any(ours.values())
    assert checked >= 3


def test_what_was_done_in_the_episode_decides_the_key(folder):
    def keys():
        engine = assemble(load_config(config(folder, PLAYED)))
        return {unit.session_id: engine.key("judge", unit) for unit in engine.plan.units["judge"]}

    before, log = keys(), folder / "play" / LOG
    assert keys() == before
    text = log.read_text()
    log.write_text(text.replace('"most_silent":3', '"most_silent":2'))
    assert not set(keys().values()) & set(before.values())
    log.write_text(text)
    assert keys() == before


def test_a_lost_log_leaves_each_session_out_and_says_why(folder, apportion):
    (folder / "play" / LOG).unlink()
    done = apportion("run", "--only", "decompose", config(folder, PLAYED))
    assert done.returncode == 1
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    causes = [row["cause"] for row in rows if row["stage"] == "judge"]
    assert len(causes) == 8 and all("episodes.jsonl is not there, which holds what was" in cause for cause in causes)
