"""A real recording of two people through the commands that docs/guides/recordings.md names."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import apportion, config, in_process
from tests.shared import shared

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent / "dyad"
CONFIG = """
corpus = "corpus"
output = "run"
[split]
train = 1.0
validation = 0.0
test = 0.0
policy = 0.0
[decompose]
method = "sentiment"
compare = ["uniform"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    movie = shared("media/dyad_synthetic_16s.mp4")
    folder = tmp_path_factory.mktemp("dyad")
    session = folder / "recordings" / "dyad"
    shutil.copytree(HERE, session)
    shutil.copy(movie, session)
    toml = config(folder, CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        for done in (
            in_process(patch, "import", "media", folder / "recordings", folder / "corpus"),
            apportion("run", "--only", "verbalize", toml),
            in_process(patch, "run", "--only", "decompose", toml),
        ):
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


def rows(folder: Path, name: str) -> list[dict]:
    return pq.read_table(folder / "run" / f"{name}.parquet").to_pylist()


def test_both_halves_and_both_channels_are_told_apart(folder):
    cells = {
        (row["person"], row["turn"], row["feature"]): row
        for row in rows(folder, "utterance_features")
        if row["window"] == "during"
    }
    for person, own, other in (("left", 0, 2), ("right", 2, 0)):
        assert cells[person, own, "f0_hz"]["coverage"] > 0.3
        assert cells[person, other, "f0_hz"]["coverage"] < 0.1
        assert cells[person, own, "smile"]["coverage"] > 0.9
    assert cells["left", 0, "f0_hz"]["mean"] < cells["right", 2, "f0_hz"]["mean"]


def test_the_raters_behaviour_is_put_into_words(folder):
    texts = rows(folder, "descriptors")
    assert {row["person"] for row in texts} == {"left", "right"}
    assert all(row["text"] for row in texts)


def test_both_ratings_are_turned_into_rewards_with_exact_sums(folder):
    found = rows(folder, "rewards")
    for method in ("uniform", "sentiment"):
        for rater, target, turns in (("right", "left", [0, 1]), ("left", "right", [2, 3, 4])):
            own = [r for r in found if (r["method"], r["rater"], r["target"]) == (method, rater, target)]
            if (method, target) == ("sentiment", "right"):  # The clip ends before anybody replies to these turns.
                assert own == []
                continue
            assert [row["turn"] for row in own] == turns
            score, mean = {"right": 7.0, "left": 6.0}[rater], 6.5
            assert math.isclose(sum(row["reward"] for row in own), score - mean, abs_tol=1e-9)


def test_a_whole_run_on_one_session_says_what_is_missing(folder, monkeypatch):
    done = in_process(monkeypatch, "run", "--only", "evaluate", folder / "config.toml")
    assert done.returncode == 2
    assert "evaluate: left out, since split.test = 0: no session is held out to judge the methods on" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    done = in_process(monkeypatch, "run", folder / "config.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (folder / "run" / "report.html").read_text(encoding="utf-8")
    assert "No evaluation: " in page and "No aligned policy: " in page and "Reward models" in page
