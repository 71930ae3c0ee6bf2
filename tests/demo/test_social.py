"""Recorded episodes of a real language model: played, judged and run to the report without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.llm_client.model_spec import ModelSpec

ROOT = Path(__file__).resolve().parents[2]
SOCIAL = ROOT / "demo" / "social"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("social") / "played"
    rules = replace(SimulationChoice().rules, most_acts=16)
    chosen = ModelSpec("claude", recorded=SOCIAL / "played.jsonl")
    write_corpus(
        SimulationChoice(("base", "conceding"), pairs=1, rules=rules, chosen=chosen, task_set="checkable"), folder
    )
    return Corpus.open(folder)


def test_every_recorded_episode_plays_as_it_was_played(played: Corpus) -> None:
    ids = played.session_ids()
    assert len(ids) == 32 and sum("base@claude" in name for name in ids) == 24
    report = json.loads((played.root / "import_report.json").read_text())
    assert report["left_out"] == []


def test_every_episode_has_all_seven_dimensions_of_both(played: Corpus, tmp_path: Path) -> None:
    choice = JudgingChoice(
        played, chosen=ModelSpec("claude", max_tokens=6000, recorded=SOCIAL / "judged.jsonl"), without=("rules",)
    )
    judged = judge_corpus(choice, tmp_path / "judged")
    assert judged.failed == ()
    ratings = Corpus.open(tmp_path / "judged").tables["ratings"].to_pylist()
    assert len(ratings) == 32 * 2 * 8
    assert {row["annotator"] for row in ratings} == {"paper@claude"}


@pytest.mark.slow
def test_the_readmes_commands_end_at_the_report(tmp_path: Path) -> None:
    block = "".join(
        line[4:] + "\n" for line in (SOCIAL / "README.md").read_text().splitlines() if line.startswith("    ")
    )
    script = block.replace("apportion ", f"{sys.executable} -m apportion ").replace("runs/", f"{tmp_path}/runs/")
    settings = (SOCIAL / "social.toml").read_text().replace("../../runs", f"{tmp_path}/runs")
    (tmp_path / "social.toml").write_text(settings)
    script = script.replace("demo/social/social.toml", str(tmp_path / "social.toml"))
    done = subprocess.run(["bash", "-euc", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "runs" / "social" / "report.html").read_text()
    assert "no person spoke" in page
