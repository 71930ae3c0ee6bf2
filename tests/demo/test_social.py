"""Recorded episodes of a real language model: played, judged and run to the report without a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus
from benchmarks import judge_injection

ROOT = Path(__file__).resolve().parents[2]
SOCIAL = ROOT / "demo" / "social"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return judge_injection.play(tmp_path_factory.mktemp("social") / "played")


def test_every_recorded_episode_plays_as_it_was_played(played: Corpus) -> None:
    ids = played.session_ids()
    assert len(ids) == 32 and sum("base@claude" in name for name in ids) == 24
    report = json.loads((played.root / "import_report.json").read_text())
    assert report["left_out"] == []


def test_every_episode_has_all_seven_dimensions_of_both(played: Corpus, tmp_path: Path) -> None:
    choice = JudgingChoice(played, chosen=judge_injection.recorded_judge(), without=("rules",))
    judged = judge_corpus(choice, tmp_path / "judged")
    assert judged.failed == ()
    ratings = Corpus.open(tmp_path / "judged").tables["ratings"].to_pylist()
    assert len(ratings) == 32 * 2 * 8
    assert {row["annotator"] for row in ratings} == {"paper@claude"}


def test_one_place_of_every_recorded_episode_has_two_other_wordings(played: Corpus) -> None:
    variants = judge_injection.read_variants()
    assert {one["session"] for one in variants} == {name for name in played.session_ids() if "base@claude" in name}
    assert {one["place"] for one in variants} == {"utterance", "profile", "name"}
    for one in variants:
        turns = {turn.turn: turn for turn in played.session(one["session"]).turns}
        assert one["speaker"] in {turn.speaker for turn in turns.values()}
        if one["place"] == "utterance":
            assert one["planted"].startswith(turns[one["turn"]].text) and one["paraphrased"] != turns[one["turn"]].text
    assert judge_injection.moved_by_rules(played.root, variants) == 0


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
