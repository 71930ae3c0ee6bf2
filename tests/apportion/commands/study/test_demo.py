import json
import re
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

pytest.importorskip("fastapi", reason="the extra `study` is not installed")

from apportion.viewer.study.simulated_browser import Browser
from tests.behaviour.command import environment, in_process
from tests.rlhf.saved import save_aligned


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose policy is a tiny one, as `apportion demo` writes it."""
    folder = tmp_path_factory.mktemp("run") / "demo"
    folder.mkdir()
    save_aligned(folder / "policy")
    return folder


def test_policies_before_and_after_are_asked_and_simulated_annotators_answer(run, tmp_path, monkeypatch):
    out = tmp_path / "study"
    done = in_process(monkeypatch, "study", "demo", out, "--run", run, "--contexts", 5)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "study-responses.parquet").to_pylist()
    assert len(table) == 10 and {row["policy"] for row in table} == {"before-ppo", "after-ppo"}
    items = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    texts = {one["text"] for item in items for one in item["responses"]}
    assert {row["response"] for row in table} <= texts
    assert "answers of simulated annotators, over HTTP on the study's own pages" in done.stdout
    assert "note: Simulated annotators, no people: all of 3" in done.stdout and "planted: after-ppo" in done.stdout
    assert f"next: open {out / 'report' / 'report.html'}" in done.stdout and "--serve" in done.stdout
    assert done.stdout.count("next: ") == 1
    again = in_process(monkeypatch, "study", "demo", out, "--run", run)
    assert again.returncode == 2 and f"{out} is there" in again.stderr


@pytest.mark.slow
def test_one_takes_part_oneself_and_the_report_is_written_again(run, tmp_path):
    out = tmp_path / "study"
    command = [sys.executable, "-m", "apportion", "study", "demo", str(out), "--run", str(run), "--contexts", "5"]
    running = subprocess.Popen(
        [*command, "--criteria", "pairs", "--serve", "--port", "0"], env=environment(), text=True, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines = []
    for line in running.stdout:
        lines.append(line)
        if line.startswith("open http"):
            break
    assert "Not finished" in "".join(lines), lines
    address, path = re.match(r"open (http://[^/]+/)(a/\S+)", lines[-1]).groups()
    browser = Browser(address)
    browser.get(path)
    browser.send([])
    browser.send([])
    for _ in range(2):  # The practice, and an item that counts.
        assert browser.path.startswith("/item/") and "ppo" not in browser.text
        browser.send([("c-better", "A"), ("seconds", "3"), ("lost", "0")])
    running.send_signal(signal.SIGINT)
    said, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert "ended with" in said and "Simulated annotators, no people: 3 of 4" in said
    report = json.loads((out / "report" / "report.json").read_text())
    assert report["simulated_annotators"] == 3 and len(report["annotators"]) == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), r"no finished demo, since .*base is not there. Run `apportion demo`"),
        (("--port", "8617"), "--port: it is that of the pages with --serve"),
        (("--criteria", "none"), "none"),
        (("--contexts", "3"), "--contexts"),
    ],
)
def test_what_cannot_be_shown_is_said(options, told, tmp_path, monkeypatch):
    done = in_process(monkeypatch, "study", "demo", tmp_path / "out", "--run", tmp_path, *options)
    assert done.returncode == 2 and re.search(told, done.stderr) and not (tmp_path / "out").exists()


def test_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "apportion.viewer.study.simulated_browser", None)
    done = in_process(monkeypatch, "study", "demo", tmp_path / "out")
    assert done.returncode == 2 and "pip install 'apportion[study]'" in done.stderr
