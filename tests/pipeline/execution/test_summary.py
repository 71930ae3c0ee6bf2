"""What a command prints at its end: the summary, and the one line of advice after it."""

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Outcome
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.execution.local import _replies
from apportion.pipeline.execution.runner import RunResult
from apportion.pipeline.execution.summary import EXIT_LEFT, SHOWN_FAILURES, RunSummary

DONE = Outcome("rewards", Unit(), "done")
STOPPED = Outcome("judge", Unit("s1", "llm"), "stopped", "The budget of $1 is used up.")


def summary(tmp_path, *outcomes, **fields) -> RunSummary:
    config = Config.model_validate({"corpus": tmp_path, "output": tmp_path / "run"})
    return RunSummary(config, RunResult(outcomes), (), (), None, **fields)


def write(tmp_path, name):
    (tmp_path / "run").mkdir(exist_ok=True)
    (tmp_path / "run" / name).write_text("")


def test_the_summary_advises_nothing_and_the_advice_is_one_line(tmp_path):
    write(tmp_path, "rewards.parquet")
    made = summary(tmp_path, DONE)
    assert made.text() == f"rewards        {tmp_path / 'run' / 'rewards.parquet'}"
    assert made.next_step("c.toml", "decompose") == "next: apportion run c.toml"


def test_it_ends_with_what_the_policy_said_before_and_after(tmp_path):
    rows = [{"before": f"one {place}\nhi\x1b", "after": "two " + "o" * 300} for place in range(4)]
    samples = SimpleNamespace(table=lambda name: {"samples": pa.Table.from_pylist(rows)}[name])
    engine = SimpleNamespace(finished=lambda stage: {Unit(): samples} if stage == "align" else {})
    made = summary(tmp_path, DONE, replies=_replies(engine))
    lines = made.text().splitlines()
    assert lines[0] == r"before         'one 0\nhi\x1b'" and len(lines) == 4 and len(lines[1]) < 270
    assert made.to_json()["replies"] == lines


def test_a_table_says_first_whose_settings_it_is_made_by_and_what_stands_in_for_what(tmp_path):
    assert replace(summary(tmp_path), evaluation="TABLE").text().startswith("TABLE")
    values = {"preset": "paper", "train_reward": {"backbone": "minilm"}, "align": {"enabled": False}}
    config = Config.model_validate({"corpus": tmp_path, "output": tmp_path / "run", **values})
    lines = replace(summary(tmp_path), config=config, evaluation="TABLE").text().splitlines()
    assert lines[0].startswith("Settings by preset: split (paper), features (paper), decompose (paper), ")
    assert lines[1].startswith("The embedded MiniLM (frozen) stands in the place of BART (facebook/bart-large)")
    assert lines[2].startswith("Keys that went before the preset: train_reward.backbone") and "TABLE" in lines[3]


@pytest.mark.parametrize(
    ("only", "outcomes", "fields", "advice"),
    [
        (
            None,
            (Outcome("judge", Unit(), "stopped", "busy", same_again=True),),
            {},
            "run c.toml (the same again, once",
        ),
        (None, (Outcome("report", Unit(), "done"),), {}, "next: open "),
        (None, (Outcome("report", Unit(), "failed", "why"),), {}, "next: apportion run c.toml"),
        (None, (DONE,), {"left_out": {"report": "skip names 'report'"}}, "run; the report is left out"),
        ("decompose", (STOPPED,), {}, "next: apportion run c.toml --only decompose --budget USD (more than before)"),
        ("audit", (DONE, Outcome("report", Unit(), "blocked")), {"audit": "table"}, "run c.toml --only report, which"),
        ("decompose", (DONE,), {}, "next: apportion run c.toml"),
    ],
)
def test_the_next_step_follows_from_what_became_of_the_run(tmp_path, only, outcomes, fields, advice):
    write(tmp_path, "report.html")
    assert advice in summary(tmp_path, *outcomes, **fields).next_step("c.toml", only)


def test_the_keys_that_options_went_before_are_named_for_the_run_that_takes_the_policy(tmp_path):
    made = summary(tmp_path, Outcome("align", Unit(), "done"))
    told = made.next_step("c.toml", "align", {"algorithm": "grpo", "steps": 3, "device": "cuda"})
    assert told.endswith('where align.algorithm = "grpo", align.steps = 3, align.device = "cuda"')
    assert made.next_step("c.toml", "align", {"lr": 0.1}).endswith("where align.lr = 0.1")
    stopped = summary(tmp_path, replace(STOPPED, same_again=True))
    assert "run c.toml --only align --policy 'a model' (the" in stopped.next_step(
        "c.toml", "align", {"policy": "a model"}
    )


def test_a_stopped_run_says_so_in_the_summary(tmp_path):
    made = summary(tmp_path, DONE, STOPPED)
    assert made.text().startswith("stopped: The budget of $1 is used up. 1 of 1 units of the stage 'judge' are left")
    assert made.exit_code() == EXIT_LEFT


def test_that_it_was_stopped_is_said_once(tmp_path):
    made = summary(tmp_path, replace(STOPPED, cause="stopped before the budget of $1 is passed."))
    assert made.text().startswith("stopped before the budget of $1 is passed. ")


def test_a_run_that_its_server_has_stopped_is_sent_to_no_budget(tmp_path):
    made = summary(tmp_path, DONE, replace(STOPPED, cause="The server is busy.", same_again=True))
    assert made.text().endswith("The server is busy. 1 of 1 units of the stage 'judge' are left (s1, llm).")
    assert made.exit_code() == EXIT_LEFT


def test_only_the_first_failures_are_listed(tmp_path):
    failures = [Outcome("judge", Unit(f"s{n}", "llm"), "failed", "no") for n in range(SHOWN_FAILURES + 2)]
    made = summary(tmp_path, *failures)
    assert made.text().splitlines()[-1] == "  (+2 more)"
    assert (made.exit_code(), made.exit_code(allow_quarantine=True)) == (EXIT_LEFT, 0)
