"""A run's error slices: of its rewards and embeddings, found, kept, read again and shown in the report."""

import json

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.pipeline.error_slices import run_slices as module
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
    return tuple(run_slices(EPISODES, rewards, None))


def test_what_is_planted_is_found_kept_read_again_and_in_the_report(found, tmp_path):
    by_method = {one.method: one for one in found}
    costly = [kind for kind in by_method["rrd"].kinds if kind.difference.value < -0.5]
    assert costly and all("another department" in example.text for kind in costly for example in kind.examples)
    assert by_method["uniform"].kinds == ()
    write_slices(found, tmp_path / "slices")
    assert read_slices(tmp_path) == {one.method: json.loads(json.dumps(one.to_json())) for one in found}
    assert "| kind of turn |" in (tmp_path / "slices" / "rrd.md").read_text()
    page = render_report(made_up_inputs(changes={"slices": found}))
    section = page[page.index('<section id="slices"') : page.index('<section id="audit"') if "#audit" in page else None]
    assert "<details>" in section and "Kinds by rrd" in section and costly[0].name in section
    assert 'id="slices"' not in render_report(made_up_inputs())


def test_embeddings_of_the_run_itself_go_before(rewards, found, monkeypatch):
    turns = {
        (*e.key, turn): e.turns[p].text
        for e in EPISODES
        for turn, p in zip(e.target_turns, e.target_positions, strict=True)
    }
    texts = sorted(set(turns.values()))
    own = np.eye(len(texts), dtype=np.float32)
    values = pa.array([[9.0] * len(texts) + own[texts.index(text)].tolist() for text in turns.values()])
    columns = dict(zip((*EPISODE_KEY, "turn"), map(list, zip(*turns, strict=True)), strict=True))
    stored = pa.table({**columns, "embedding": values.cast(pa.list_(pa.float32(), 2 * len(texts)))})
    monkeypatch.setattr(module, "BACKBONE", "none such")
    again = {one.method: one for one in run_slices(EPISODES, rewards, stored)}
    assert min(kind.difference.value for kind in again["rrd"].kinds) < -0.5


def test_too_few_sessions_are_told_and_not_embedded(rewards, monkeypatch):
    monkeypatch.setattr(module, "BACKBONE", "none such")
    few = {episode.session_id for episode in EPISODES[:10]}
    some = rewards.filter(pa.array([one in few for one in rewards["session_id"].to_pylist()]))
    assert {one.reason.partition(";")[0] for one in run_slices(EPISODES, some, None)} == {
        "10 sessions have rewards by rrd", "10 sessions have rewards by uniform",
    }  # fmt: skip
    assert list(run_slices(EPISODES, rewards[:0], None)) == []


def test_files_that_are_no_slices_are_passed_over(tmp_path):
    (tmp_path / "slices").mkdir()
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}"), ("d", '{"method": "rrd", "kinds": []}')):
        (tmp_path / "slices" / f"{name}.json").write_text(text)
    assert list(read_slices(tmp_path)) == ["rrd"]
    assert read_slices(tmp_path / "none") == {}
