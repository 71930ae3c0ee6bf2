"""Credit by playing on in a run: a simulated corpus in, rewards out; sessions that no environment made are told."""

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config
from apportion.pipeline.template import render_template
from tests.behaviour.command import config, in_process
from tests.behaviour.test_social_episodes_played_on import TEXT, by_permutations

METHODS = ("savoir", "savoir-paper", "savoir-paper-raw", "shapley-hindsight", "expected-utility", "leave-one-out",
           "episode-score", "uniform")  # fmt: skip


def text(*methods, more=""):
    return TEXT.format(methods=", ".join(f'"{name}"' for name in methods)) + more


@pytest.fixture
def folder(tmp_path):
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=12), seed=5)
    write_corpus(choice, tmp_path / "play")
    return tmp_path


@pytest.fixture
def apportion(monkeypatch):
    return partial(in_process, monkeypatch)


def test_a_run_credits_by_every_method_and_keeps_raw_values(folder, apportion):
    done = apportion("run", "--only", "decompose", config(folder, text(*METHODS)))
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


def test_a_dimension_that_rules_do_not_score_leaves_each_session_out_and_says_why(folder, apportion):
    weights = "[decompose.savoir]\nweights = { GOAL = 0.5, REL = 0.3, KNO = 0.2 }\n"
    done = apportion("run", "--only", "decompose", config(folder, text("savoir", "uniform", more=weights)))
    assert done.returncode == 1
    causes = [row["cause"] for row in pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()]
    assert len(causes) >= 8 and any("REL, KNO is not known, so that its utility is missing" in c for c in causes)
    kept = pq.read_table(folder / "run" / "rewards.parquet").column("method").to_pylist()
    assert set(kept) == {"uniform"}


def test_a_session_that_cannot_be_credited_is_left_out_and_the_others_are_kept(folder, apportion):
    done = apportion(
        "run", "--only", "decompose", config(folder, text("savoir", more="[decompose.savoir]\nbudget = 8\n"))
    )
    assert done.returncode == 1
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    left_out = {row["session_id"] for row in rows}
    assert all("a budget of 8 histories does not tell" in row["cause"] for row in rows if row["stage"] == "judge")
    kept = set(pq.read_table(folder / "run" / "rewards.parquet").column("session_id").to_pylist())
    every = {session.session_id for session in Corpus.open(folder / "play").iter_sessions()}
    assert kept and left_out and not kept & left_out and kept | left_out == every


def test_a_corpus_that_no_environment_made_is_refused_before_anything_is_done(folder, apportion):
    corpus = Corpus.open(folder / "play")
    sessions = corpus.tables["sessions"]
    place = sessions.schema.get_field_index("source")
    source = sessions.column("source").cast("string").to_pylist()

    changed = sessions.set_column(place, sessions.schema.field(place), pa.array(["a notebook"] * len(source)))
    Corpus.of(folder / "play", {**corpus.tables, "sessions": changed}).write(folder / "play")
    done = apportion("run", "--only", "decompose", config(folder, text("savoir")))
    said = "every session of this run: no environment made it, so that 'savoir' has nothing to play on"
    assert done.returncode == 2 and said in done.stderr


def test_init_shows_its_settings(folder):
    template = render_template({"corpus": "play", "output": "run"})
    assert "[decompose.savoir]" in template and "# rollouts = 2" in template
    assert load_config(config(folder, template)).decompose.methods == DecomposeSettings().methods
