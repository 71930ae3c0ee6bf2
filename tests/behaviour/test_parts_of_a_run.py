import json
import re
from pathlib import Path

import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.execution import shards
from apportion.pipeline.stages.registry import STAGES
from apportion.pipeline.stages.report import SHOWN
from tests.behaviour.command import config
from tests.behaviour.small import QUARTERS, TINY_POLICY, write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "uniform"
[train_reward]
epochs = 1
head_hidden_size = 8
[evaluate]
bootstrap = 100
[align]
steps = 4
batch_size = 4
mini_batch_size = 4
max_new_tokens = 4
samples = 1
"""
TEXT += QUARTERS + TINY_POLICY


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=10)
    return tmp_path


def page(folder: Path) -> str:
    return (folder / "run" / "report.html").read_text(encoding="utf-8")


def told_missing(folder: Path) -> dict[str, str]:
    """What the page says is not there, and why."""
    line = rf'<(?:p|li dir="auto")>No ({"|".join(SHOWN.values())}): (.*?)</'
    return dict(re.findall(line, page(folder), re.DOTALL))


def test_a_failed_alignment_leaves_a_report_with_its_curves_up_to_the_alarm(folder, apportion, monkeypatch):
    calls = []

    def rings(alarms, metrics):
        calls.append(metrics)
        return "an alarm on purpose" if len(calls) > 1 else None

    monkeypatch.setattr("apportion.rlhf.training.alarms.Alarms.check", rings)
    done = apportion("run", config(folder, TEXT))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == f"next: open {folder / 'run' / 'report.html'}"
    assert "align (uniform, seed 0): align: PPO" in done.stdout
    assert not (folder / "run" / "policy").exists()
    missing = told_missing(folder)
    assert missing.keys() == {"aligned policy"} and "an alarm on purpose" in missing["aligned policy"]
    text = page(folder)
    assert "Policy (up to a failure)" in text and "KL divergence from the untrained policy" in text
    assert "Global loss" in text
    (note,) = (folder / "run" / "store" / "failures" / "align").glob("*.json")

    def steps() -> set[int]:
        return {step for step, _, _ in json.loads(note.read_text())["measured"]}

    assert steps() == {1, 2}
    # Again, from its checkpoint: the steps before it are not forgotten.
    again = apportion("run", folder / "config.toml", "--json")
    assert again.returncode == 1
    assert steps() == {1, 2} and len(calls) == 3
    # Left out, it is no failure any more; nor does anything else have to be done again.
    left = apportion("run", folder / "config.toml", "--skip", "align", "--json")
    assert left.returncode == 0, left.stderr
    summary = json.loads(left.stdout)
    assert summary["left_out"] == {"align": "skip names 'align'"} and summary["quarantined"] == []
    assert {name: set(units) for name, units in summary["units"].items() if name != "report"} == {
        name: {"reused"} for name in ("split", "embed", "judge", "rewards", "slices", "train-reward", "evaluate")
    }
    assert told_missing(folder) == {"aligned policy": "left out: skip names &#39;align&#39;"}
    assert "up to a failure" not in page(folder)


@pytest.mark.parametrize(
    ("broken", "missing"),
    [
        (
            "apportion.reward_model.learning.distillation.train_reward_model",
            {"reward models", "evaluation", "aligned policy"},
        ),
        ("apportion.evaluation.evaluate.evaluate", {"evaluation"}),
    ],
)
def test_whatever_fails_after_the_judgements_there_is_a_report(folder, apportion, monkeypatch, broken, missing):
    def fails(*arguments, **named):
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(broken, fails)
    done = apportion("run", config(folder, TEXT.replace("steps = 4", "steps = 1")))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1].startswith("next: open ")
    assert told_missing(folder).keys() == missing
    assert "on purpose" in page(folder) and "Rewards turn by turn" in page(folder)


def test_an_input_that_one_stage_cannot_use_does_not_end_the_run(folder, apportion, monkeypatch):
    from apportion.foundation.errors import InputError

    def fails(*arguments, **named):
        raise InputError("the policy cannot be loaded")

    monkeypatch.setattr("apportion.rlhf.align.align", fails)
    done = apportion("run", config(folder, TEXT))
    assert done.returncode == 1 and "align (uniform, seed 0): the policy cannot be loaded" in done.stdout
    assert told_missing(folder) == {"aligned policy": "failed: the policy cannot be loaded"}


def test_stages_are_left_out_by_option_and_by_configuration_alike(folder, apportion, align):
    def planned(*options, text=TEXT):
        done = apportion("run", config(folder, text), "--dry-run", "--json", *options)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        return [row["stage"] for row in document["stages"]], document["left_out"]

    everything, none = planned()
    assert none == {} and everything[-2:] == ["align", "report"]
    without = [name for name in everything if name != "align"]
    assert planned("--until", "evaluate") == (without, {"align": "last_stage = 'evaluate'"})
    assert planned("--skip", "align") == (without, {"align": "skip names 'align'"})
    disabled = TEXT.replace("[align]", "[align]\nenabled = false")
    assert planned(text=disabled) == (without, {"align": "align.enabled = false"})
    assert planned(text=TEXT.replace("[run]", '[run]\nskip_stages = ["align"]')) == planned("--skip", "align")
    assert planned(text=TEXT.replace("[run]", '[run]\nlast_stage = "evaluate"')) == planned("--until", "evaluate")
    stages, left_out = planned("--until", "decompose")
    assert {"split", "judge", "rewards", "report"} <= set(stages)
    # Not left out by name, but without the stages that are nobody would read it.
    assert "embed" in everything and "embed" not in stages
    assert left_out.keys() == {"train-reward", "evaluate", "align"}
    assert "embed" in planned("--until", "embed")[0] and "judge" not in planned("--until", "embed")[0]
    assert "report" not in planned("--skip", "report")[0]
    # A stage that is asked for by its own command is not left out.
    done = align(config(folder, disabled), "--dry-run", "--json")
    assert "align" in [row["stage"] for row in json.loads(done.stdout)["stages"]]
    assert "left out" in apportion("run", config(folder, disabled), "--dry-run").stdout


def test_a_run_up_to_a_stage_ends_in_a_report_and_records_what_it_left_out(folder, apportion):
    done = apportion("run", config(folder, TEXT), "--until", "decompose")
    assert done.returncode == 0, done.stderr
    assert "left out       align (last_stage = 'decompose')" in done.stdout
    missing = told_missing(folder)
    assert missing.keys() == {"reward models", "evaluation", "aligned policy"}
    record = json.loads((folder / "run" / "run.json").read_text())
    assert record["left_out"].keys() == {"train-reward", "evaluate", "align"}
    assert record["stages"]["align"] == {"version": 2, "units": 1, "finished": 0}
    # What is left out is not asked of the configuration either.
    odd = TEXT.replace("[align]", '[align]\nreward_method = "llm"')
    assert apportion("run", config(folder, odd), "--dry-run").returncode == 2
    assert apportion("run", config(folder, odd), "--dry-run", "--skip", "align").returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--until", "evalute"), ("--until 'evalute': no stage; did you mean 'evaluate'?", "The stages are: split,")),
        (("--skip", "aling"), ("--skip 'aling': no stage; did you mean 'align'?",)),
        (("--skip", ""), ("--skip '': no stage; check the name. The stages are: split,",)),
        (("--skip", "rewards"), ("'rewards' is left out (skip names 'rewards')", "train-reward, evaluate cannot do")),
        (("--skip", "train-reward", "--skip", "evaluate"), ("align cannot do without what it makes",)),
        (("--skip", "split"), ("report cannot do without",)),
    ],
)
def test_what_cannot_be_left_out_is_told(folder, apportion, options, words):
    done = apportion("run", config(folder, TEXT), *options)
    assert done.returncode == 2
    assert all(each in done.stderr for each in words), done.stderr
    if options == ("--skip", "aling"):
        done = apportion("run", config(folder, TEXT.replace("[run]", '[run]\nskip_stages = ["aling"]')), "--dry-run")
        assert done.returncode == 2 and "run.skip_stages = 'aling': no stage; did you mean 'align'?" in done.stderr


def test_orchestrators_give_no_shards_to_a_stage_that_is_left_out(folder, caplog):
    path = str(config(folder, TEXT.replace("[align]", "[align]\nenabled = false")))
    shards.prepare(path)
    assert "left out: align (align.enabled = false)" in caplog.text
    assert shards.list_shards(path, "align", 4) == [] and shards.list_shards(path, "report", 4) == [0]
    assert load_config(path).align.enabled is False
    path = str(config(folder, TEXT.replace("[run]", '[run]\nlast_stage = "decompose"')))
    shards.prepare(path)
    given = [stage.name for stage in STAGES.values() if shards.list_shards(path, stage.name, 4)]
    assert given == ["split", "judge", "rewards", "slices", "report"]  # Not what nothing that runs would read.


def test_whether_a_run_aligns_is_in_no_key_of_a_policy(folder):
    from apportion.pipeline.assembly import assemble
    from apportion.pipeline.engine.stage import Unit

    on = assemble(load_config(config(folder, TEXT)))
    unit = Unit(method="uniform", seed=0)
    settings = on.plan.stages["align"].settings
    off = load_config(config(folder, TEXT.replace("[align]", "[align]\nenabled = false")))
    assert settings(on.config, unit) == settings(off.model_copy(update={"rating": on.config.rating}), unit)


def test_a_single_session_ends_in_a_report(tmp_path, apportion):
    write_small_corpus(tmp_path / "corpus", sessions=1)
    done = apportion("run", config(tmp_path, TEXT))
    assert done.returncode == 2 and "1 rated session cannot be shared out" in done.stderr
    assert "train = 1 and 0 for the others" in done.stderr
    assert not (tmp_path / "run" / "store").exists()
    shares = "train = 1.0\nvalidation = 0.0\ntest = 0.0\npolicy = 0.0\n"
    alone = re.sub(r"train = 0.4\n.*policy = 0.3\n", shares, TEXT, flags=re.DOTALL)
    done = apportion("run", config(tmp_path, alone))
    assert done.returncode == 0, done.stderr
    missing = told_missing(tmp_path)
    assert missing["evaluation"].startswith("left out: split.test = 0")
    assert missing["aligned policy"].startswith("left out: split.policy = 0")
    # Asked for by its own command it is an error.
    done = apportion("run", "--only", "evaluate", config(tmp_path, alone))
    assert done.returncode == 2 and "evaluate: left out, since split.test = 0" in done.stderr
