import itertools

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import LOG, SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config
from tests.behaviour.command import chosen_methods, config
from tests.behaviour.small import UNSPLIT

TEXT = """corpus = "play"
output = "run"
rating = "GOAL"
[run]
workers = 1
[decompose]
{methods}"""
TEXT += UNSPLIT
"""A run of the corpus `play` on GOAL, without a split."""
METHODS = ("savoir", "savoir-paper", "savoir-paper-raw", "shapley-hindsight", "expected-utility", "leave-one-out",
           "episode-score", "uniform")  # fmt: skip


def text(*methods, more=""):
    return TEXT.format(methods=chosen_methods(*methods)) + more


@pytest.fixture
def folder(tmp_path):
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=12), seed=5)
    write_corpus(choice, tmp_path / "play")
    return tmp_path


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


def test_a_run_credits_by_every_method_and_keeps_raw_values(folder, decompose):
    done = decompose(config(folder, text(*METHODS)))
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()

    def of(method, session, target, column="reward"):
        return {
            row["turn"]: row[column]
            for row in rows
            if (row["method"], row["session_id"], row["target"]) == (method, session.session_id, target)
        }

    checked = 0
    for session in Corpus.open(folder / "play").iter_sessions():
        reopened = SIMULATOR.open(session, folder / "play", lambda request: None)
        for rating in (rating for rating in session.ratings if rating.name == "GOAL"):
            where = (session, rating.target)
            assert of("savoir", *where) == of("savoir", *where, "raw_reward")
            assert of("savoir-paper", *where, "raw_reward") == of("savoir-paper-raw", *where)
            assert 0 <= min(of("savoir-paper", *where).values()) <= max(of("savoir-paper", *where).values()) <= 10
            assert set(of("episode-score", *where).values()) == {rating.score}
            turns = reopened.turns_of(rating.target)
            if len(turns) <= 6:
                expected = by_permutations(session, folder / "play", rating.target)
                assert of("savoir", *where) == pytest.approx(expected, abs=1e-9)
                checked += any(expected.values())
            whole = reopened.as_it_stands(rating.target, turns).scores["GOAL"]
            nobody = reopened.as_it_stands(rating.target, ()).scores["GOAL"]
            assert sum(of("shapley-hindsight", *where).values()) == pytest.approx(whole - nobody, abs=1e-8)
    assert checked >= 2


def test_its_settings_are_in_its_key_and_no_other_method_s(folder):
    def keys(*methods, more=""):
        engine = assemble(load_config(config(folder, text(*methods, more=more))))
        return {engine.key("judge", unit) for unit in engine.plan.units["judge"]}

    before = keys("savoir")
    assert keys("savoir", more="[decompose.savoir]\nrollouts = 2\n[decompose.rrd]\nk = 3\n") == before
    for changed in (
        "rollouts = 3",
        "seed = 1",
        "scaled = true",
        "common_random_numbers = false",
        "weights = { FIN = 1.0 }",
    ):
        assert not keys("savoir", more=f"[decompose.savoir]\n{changed}\n") & before
    assert keys("uniform", more="[decompose.savoir]\nrollouts = 3\n") == keys("uniform")


def test_a_session_that_cannot_be_credited_is_left_out_and_the_others_are_kept(folder, decompose):
    done = decompose(config(folder, text("savoir", more="[decompose.savoir]\nbudget = 8\n")))
    assert done.returncode == 1
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    left_out = {row["session_id"] for row in rows}
    assert all("a budget of 8 histories does not tell" in row["cause"] for row in rows if row["stage"] == "judge")
    kept = set(pq.read_table(folder / "run" / "rewards.parquet").column("session_id").to_pylist())
    every = {session.session_id for session in Corpus.open(folder / "play").iter_sessions()}
    assert kept and left_out and not kept & left_out and kept | left_out == every


def test_what_was_done_in_the_episode_decides_the_key(folder):
    def keys():
        engine = assemble(load_config(config(folder, text("savoir"))))
        return {unit.session_id: engine.key("judge", unit) for unit in engine.plan.units["judge"]}

    before, log = keys(), folder / "play" / LOG
    assert keys() == before
    whole = log.read_text()
    log.write_text(whole.replace('"most_silent":3', '"most_silent":2'))
    assert not set(keys().values()) & set(before.values())
    log.write_text(whole)
    assert keys() == before


def test_a_lost_log_leaves_each_session_out_and_says_why(folder, decompose):
    (folder / "play" / LOG).unlink()
    done = decompose(config(folder, text("savoir")))
    assert done.returncode == 1
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    causes = [row["cause"] for row in rows if row["stage"] == "judge"]
    assert len(causes) == 8 and all("episodes.jsonl is not there, which holds what was" in cause for cause in causes)
