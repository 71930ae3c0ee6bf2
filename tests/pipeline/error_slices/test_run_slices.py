"""A run's error slices: of its rewards and embeddings, found, kept, read again and shown in the report."""

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import REWARDS
from apportion.evaluation.error_slices.result import ErrorSlices
from apportion.pipeline.error_slices.run_slices import read_slices, run_slices, write_slices
from apportion.pipeline.report.page import render_report
from tests.pipeline.report_inputs import made_up_episodes, made_up_inputs, made_up_rewards

EPISODES = made_up_episodes(120)


@pytest.fixture(scope="module")
def rewards() -> pa.Table:
    """Every turn that sends the customer elsewhere costs 1 by the method `rrd`, among noise of 0.3."""
    said = {(e.session_id, turn.turn): turn.text for e in EPISODES for turn in e.turns}
    rng = np.random.default_rng(0)
    rows = made_up_rewards(EPISODES, 3.0, 0.0, ("rrd", "uniform")).to_pylist()
    for row in rows:
        if row["method"] == "rrd":
            row["reward"] = rng.normal(0, 0.3) - ("another department" in said[row["session_id"], row["turn"]])
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


@pytest.fixture(scope="module")
def found(rewards):
    return tuple(run_slices(EPISODES, rewards))


def test_what_is_planted_is_found_kept_read_again_and_in_the_report(found, tmp_path):
    by_method = {one.method: one for one in found}
    costly = [kind for kind in by_method["rrd"].kinds if kind.difference.value < -0.5]
    assert costly and all("another department" in example.text for kind in costly for example in kind.examples)
    assert by_method["uniform"].kinds == ()
    write_slices(found, tmp_path / "slices")
    assert [ErrorSlices.from_json(of) for of in read_slices(tmp_path).values()] == list(found)
    assert "| kind of turn |" in (tmp_path / "slices" / "rrd.md").read_text()
    page = render_report(made_up_inputs(changes={"slices": found}))
    section = page[page.index('<section id="slices"') : page.index('<section id="audit"') if "#audit" in page else None]
    assert "<details>" in section and "Kinds by rrd" in section and costly[0].name in section
    assert 'id="slices"' not in render_report(made_up_inputs())


def test_too_few_sessions_are_told(rewards):
    few = {episode.session_id for episode in EPISODES[:10]}
    some = rewards.filter(pa.array([one in few for one in rewards["session_id"].to_pylist()]))
    assert {one.reason.partition(";")[0] for one in run_slices(EPISODES, some)} == {
        "10 sessions have rewards by rrd", "10 sessions have rewards by uniform",
    }  # fmt: skip
    assert list(run_slices(EPISODES, rewards[:0])) == []


def test_turns_of_which_a_method_said_nothing_are_no_turns_of_a_kind(rewards):
    unsaid = rewards.set_column(
        rewards.schema.get_field_index("raw_reward"), "raw_reward", pa.nulls(len(rewards), pa.float64())
    )
    assert {one.turns for one in run_slices(EPISODES, unsaid)} == {(0, 0)}


def test_files_that_are_no_slices_are_passed_over(tmp_path):
    (tmp_path / "slices").mkdir()
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}"), ("d", '{"method": "rrd", "kinds": []}')):
        (tmp_path / "slices" / f"{name}.json").write_text(text)
    assert list(read_slices(tmp_path)) == ["rrd"]
    assert read_slices(tmp_path / "none") == {}
