"""How far a run is, by what its processes note; what its files were made from; what its store keeps for nobody."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

import pytest

from apportion.foundation.errors import InputError
from apportion.llm_client.cache.cache import ReplyCache
from apportion.pipeline.engine.progress import FOLDER, Activity, entries, last_begun
from apportion.pipeline.execution.status import run_status
from apportion.pipeline.shared_place import Folder
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[run]
last_stage = "decompose"
skip_stages = ["report"]
[decompose]
method = "sentiment"
compare = ["uniform"]
"""
NO_CACHE = "no.sqlite"


@pytest.fixture
def finished(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    path = config(tmp_path, TEXT)
    assert in_process(monkeypatch, "run", path).returncode == 0
    return path


def note(activity: Activity, stage: str, unit: str, status: str = "done", **more: str) -> None:
    with activity.unit(stage, unit) as ended:
        ended |= {"status": status, **more}


def test_a_finished_run_tells_each_stage_by_its_folder_and_by_its_configuration(finished, monkeypatch):
    by_folder = in_process(monkeypatch, "status", finished.parent / "run", "--json")
    by_config = in_process(monkeypatch, "status", finished, "--watch", "--json")  # it has ended: no second look
    stages = {row["stage"]: row for row in json.loads(by_folder.stdout)["stages"]}
    assert [stages[name]["units"] for name in ("split", "judge", "rewards")] == [1, 12, 2]
    assert all(row["units"] == row["done"] > 0 and row["running"] == 0 for row in stages.values())
    assert json.loads(by_config.stdout)["stages"] == json.loads(by_folder.stdout)["stages"]
    text = in_process(monkeypatch, "status", finished).stdout
    assert text.splitlines()[0].split() == ["stage", "units", "done", "running", "failed", "took", "left"]
    assert re.search(r"^judge +12 +12 +0 +0 ", text, re.MULTILINE) and "running:" not in text


def test_what_runs_fails_and_is_left_is_told_with_the_time_that_it_takes(tmp_path, monkeypatch):
    activity = Activity(Folder(tmp_path / "run" / "store"))
    activity.begin({"judge": 10, "rewards": 1})
    clock = iter(float(number) for number in range(100))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    for number in range(4):
        note(activity, "judge", f"s{number}")  # a second each
    note(activity, "judge", "s4", "failed", cause="no sound in it")
    with activity.unit("judge", "s5"):
        status = run_status(tmp_path / "run", tmp_path / NO_CACHE)
        (stage, later) = status.stages
        assert (stage.units, stage.done, stage.running, stage.failed, stage.left_s) == (10, 4, 1, 1, 5.0)
        assert later.left_s is None and later.running == 0 and not status.ended
        assert f"judge (s5): for 6 s, process {os.getpid()} of {platform.node()}" in status.text()
        assert "judge (s4): no sound in it" in status.text()
    ended = run_status(tmp_path / "run", tmp_path / NO_CACHE).stages[0]
    assert (ended.running, ended.stopped) == (0, 1)  # said nothing of what became of it


def test_a_unit_whose_process_was_killed_is_no_longer_at_work(tmp_path):
    Activity(Folder(tmp_path / "store")).begin({"judge": 1})
    text = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom apportion.pipeline.engine.progress import Activity\n"
        "from apportion.pipeline.shared_place import Folder\n"
        "with Activity(Folder(Path(sys.argv[1]))).unit('judge', 's1'):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", text, tmp_path / "store"], check=False)
    ((entry, *others),) = (entries(Folder(tmp_path / "store")),)
    assert (entry.status, entry.unit, others) == ("lost", "s1", [])
    assert "its process ended without a word" in run_status(tmp_path, tmp_path / NO_CACHE).text()


def test_another_machine_s_unit_counts_as_running_and_a_torn_line_as_none(tmp_path):
    activity = Activity(Folder(tmp_path / "store"))
    activity.begin({"judge": 2})
    line = json.dumps({"stage": "judge", "unit": "s1", "at": 0.0, "status": "running"})
    (tmp_path / "store" / FOLDER / "node.7.cluster.12.jsonl").write_text(f'{line}\n{{"stage": "judge", "un')
    (entry,) = entries(Folder(tmp_path / "store"))
    assert (entry.status, entry.host, entry.process) == ("running", "node.7.cluster", 12)


def test_what_was_noted_last_counts_whoever_noted_it(tmp_path):
    Activity(Folder(tmp_path)).begin({"judge": 1})
    line = {"stage": "judge", "unit": "s1", "status": "running"}
    rows = {"b.12": {**line, "at": 1.0}, "a.12": {**line, "at": 3.0, "status": "done"}, "c.12": 7}
    for name, row in rows.items():
        (tmp_path / FOLDER / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    assert [entry.status for entry in entries(Folder(tmp_path))] == ["done"]


def test_a_watch_ends_where_nothing_is_at_work(tmp_path, monkeypatch):
    Activity(Folder(tmp_path / "store")).begin({"judge": 1})
    monkeypatch.setattr("apportion.commands.view.status.EVERY_S", 0.001)
    done = in_process(monkeypatch, "status", tmp_path, "--watch")
    assert done.returncode == 1 and "nothing has been at work for" in done.stderr


def test_what_was_paid_is_not_asked_for_while_another_machine_asks(tmp_path):
    ReplyCache(tmp_path / "cache.sqlite").close()
    Activity(Folder(tmp_path / "store")).begin({"judge": 1})
    assert run_status(tmp_path, tmp_path / "cache.sqlite").replies is not None
    line = {"stage": "judge", "unit": "s1", "at": 0.0, "status": "running"}
    (tmp_path / "store" / FOLDER / "elsewhere.12.jsonl").write_text(json.dumps(line) + "\n")
    assert run_status(tmp_path, tmp_path / "cache.sqlite").replies is None


def test_a_new_run_forgets_the_one_before_and_a_unit_alone_is_no_run(tmp_path):
    activity = Activity(Folder(tmp_path))
    note(activity, "judge", "s1")
    assert last_begun(Folder(tmp_path)) is None and entries(Folder(tmp_path)) == []
    activity.begin({"judge": 1})
    note(activity, "judge", "s1")
    activity.begin({"judge": 3})
    assert last_begun(Folder(tmp_path)) == ({"judge": 3}, "") and entries(Folder(tmp_path)) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", "{}/corpus"], "corpus: nothing has been run into this folder. Run `apportion run CONFIG` first."),
        (["status", "{}/nowhere"], "nowhere: no such run folder or configuration. Name what `apportion run` was"),
        (["status", "{}/run", "--gc"], "is a folder: --provenance and --gc take the configuration"),
        (["status", "{}/config.toml", "--delete"], "--delete goes with --gc"),
        (["status", "{}/config.toml", "--gc", "--json"], "--json goes with the status alone"),
        (["status", "{}/config.toml", "--gc", "--watch"], "take one of --watch, --provenance and --gc"),
        (["status", "{}/config.toml", "--provenance", "{}/no.parquet"], "no.parquet: no such file or folder"),
        (["status", "{}/config.toml", "--provenance", "{}/corpus"], "made by no stage of this configuration"),
    ],
)
def test_what_cannot_be_told_is_refused(finished, monkeypatch, arguments, words):
    done = in_process(monkeypatch, *(argument.format(finished.parent) for argument in arguments))
    assert done.returncode == 2 and words in done.stderr


def test_what_a_file_was_made_from(finished, monkeypatch):
    told = json.loads(
        in_process(monkeypatch, "status", finished, "--provenance", finished.parent / "run" / "rewards.parquet").stdout
    )
    assert told["stage"] == "rewards" and len(told["from"]) == 2
    for row in told["from"]:
        folder = finished.parent / "run" / "store" / "rewards" / row["artifact"][:2] / row["artifact"]
        assert folder.is_dir() and row["stage"][0] == "rewards" and len(row["upstream"]["judge"]) == 6
        one = in_process(monkeypatch, "status", finished, "--provenance", folder / "rewards.parquet").stdout
        assert json.loads(one)["from"] == [row]


def test_what_no_stage_would_use_any_more_is_listed_and_only_then_deleted(finished, monkeypatch):
    run = finished.parent / "run"
    assert in_process(monkeypatch, "status", finished, "--gc").stdout.startswith("0 artifacts, 0 bytes")
    finished.write_text(TEXT.replace('compare = ["uniform"]', "compare = []"))
    refused = in_process(monkeypatch, "status", finished, "--gc", "--delete")
    assert refused.returncode == 2 and "the last run into it had other settings" in refused.stderr
    assert in_process(monkeypatch, "run", finished).returncode == 0
    before = sorted(run.rglob("manifest.json"))
    listed = in_process(monkeypatch, "status", finished, "--gc").stdout
    assert "judge" in listed and "nothing was done" in listed and sorted(run.rglob("manifest.json")) == before
    assert "deleted" in in_process(monkeypatch, "status", finished, "--gc", "--delete").stdout
    assert len(list(run.rglob("manifest.json"))) == len(before) - int(listed.splitlines()[-1].split()[0]) < len(before)
    assert in_process(monkeypatch, "run", finished).returncode == 0
    again = {row["stage"]: row for row in json.loads(in_process(monkeypatch, "status", run, "--json").stdout)["stages"]}
    assert again["judge"]["units"] == 6 and again["judge"]["seconds"] < 1  # all were there


def test_what_no_stage_uses_is_listed_though_a_later_stage_was_never_asked_for(tmp_path, monkeypatch):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    finished = config(tmp_path, "")
    text = TEXT.replace('skip_stages = ["report"]\n', "")
    for settings in (text, text.replace('compare = ["uniform"]', "compare = []")):
        finished.write_text(settings)
        assert in_process(monkeypatch, "run", finished).returncode == 0
    listed = in_process(monkeypatch, "status", finished, "--gc").stdout
    assert "judge" in listed and int(listed.splitlines()[-1].split()[0]) > 6


@pytest.mark.parametrize("options", [("--limit", "5"), ()])
def test_work_of_a_run_with_options_is_not_taken_for_useless(finished, monkeypatch, options):
    if options:
        assert in_process(monkeypatch, "run", finished, *options).returncode == 0
    else:
        (finished.parent / "run" / "store" / FOLDER / "plan.json").unlink()
    done = in_process(monkeypatch, "status", finished, "--gc", "--delete")
    assert done.returncode == 2 and "Run `apportion run CONFIG` first" in done.stderr


def test_what_rests_on_unfinished_work_is_kept(finished, monkeypatch):
    for folder in ("judge", "split"):
        shutil.rmtree(finished.parent / "run" / "store" / folder)
    before = list((finished.parent / "run" / "store" / "rewards").rglob("manifest.json"))
    in_process(monkeypatch, "status", finished, "--gc", "--delete")
    assert list((finished.parent / "run" / "store" / "rewards").rglob("manifest.json")) == before


def test_nothing_is_deleted_while_a_run_is_at_work(finished, monkeypatch):
    from apportion.pipeline.execution.local import output_lock

    with output_lock(finished.parent / "run"):
        done = in_process(monkeypatch, "status", finished, "--gc", "--delete")
    assert done.returncode == 2 and "in use by another run" in done.stderr


def test_a_plan_that_is_no_plan_is_none(tmp_path):
    Activity(Folder(tmp_path / "store")).begin({"judge": 1})
    (tmp_path / "store" / FOLDER / "plan.json").write_text("{")
    with pytest.raises(InputError, match="nothing has been run into this folder"):
        run_status(tmp_path, tmp_path / NO_CACHE)
