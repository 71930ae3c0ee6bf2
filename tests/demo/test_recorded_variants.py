"""The text and the multimodal language model, from the demo's recorded replies to reward models and the report."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import EPISODE_KEY
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.execution.local import run_locally
from tests.demo.measured import demo_films_measured

DEMO = Path(__file__).resolve().parents[2] / "demo"
VARIANTS = ("llm", "llm-multimodal")


def config(output: Path) -> Config:
    """The demo's own, but for the back-end by its name, the other methods, the audit, and a policy of one step."""
    demo = load_config(DEMO / "demo.toml")
    audit = demo.decompose.audit.model_copy(update={"sessions": 0})
    tiny = demo.align.tiny.model_copy(update={"warmup_steps": 1})
    return demo.model_copy(
        update={
            "output": output,
            "features": demo.features.model_copy(update={"detector": "haar"}),
            "decompose": demo.decompose.choosing(VARIANTS).model_copy(update={"audit": audit}),
            "align": demo.align.model_copy(update={"steps": 1, "tiny": tiny}),
        }
    )


@pytest.mark.slow
def test_both_variants_reach_a_reward_model_and_the_report(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    demo_films_measured(tmp_path_factory, "haar", tmp_path / "run")
    summary = run_locally(config(tmp_path / "run"), ["report"], quiet=True)
    assert summary.quarantined == 0
    folder = tmp_path / "run"

    rewards = pq.read_table(folder / "rewards.parquet").to_pylist()
    of_method: dict[str, dict[tuple[object, ...], dict[str, Any]]] = {name: {} for name in VARIANTS}
    for row in rewards:
        of_method[row["method"]][(*(row[name] for name in EPISODE_KEY), row["turn"])] = row
    sessions = Corpus.open(DEMO / "corpus").iter_sessions()
    episodes = [episode for session in sessions for episode in session.episodes("satisfaction")]
    text, multimodal = of_method["llm"], of_method["llm-multimodal"]
    assert text.keys() == multimodal.keys()
    described = {row["session_id"] for row in pq.read_table(folder / "descriptors.parquet").to_pylist()}
    differing = {key[0] for key in text if text[key]["raw_reward"] != multimodal[key]["raw_reward"]}
    assert differing  # with behaviour in words, the model said something else …
    assert differing <= described  # … and without any, both are the same question and the same reply

    for name in VARIANTS:
        offset = json.loads((folder / "projections" / f"{name}-seed0.json").read_text())["score_offset"]
        for episode in episodes:
            shares = [of_method[name][(*episode.key, turn)]["reward"] for turn in episode.target_turns]
            assert abs(math.fsum(shares) - (episode.score - offset)) < 1e-6
        assert (folder / "reward_models" / f"{name}-seed0" / "model.safetensors").is_file()

    evaluation = json.loads((folder / "evaluation.json").read_text())
    page = (folder / "report.html").read_text()
    for name in VARIANTS:
        for kind in ("reward_models", "decompositions"):
            (figures,) = (row for row in evaluation[kind] if row["method"] == name)
            assert math.isfinite(figures["spearman"]["value"])
        assert f"</i>{name}</th>" in page
