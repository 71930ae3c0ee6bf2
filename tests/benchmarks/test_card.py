from dataclasses import replace
from pathlib import Path

import pytest

from apportion.rlhf.training.memory_estimate import BART_LARGE, GB, LLAMA_2_7B, Shape, estimate
from benchmarks.card import ROWS, settings_of
from benchmarks.ppo_task import SHAPES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "alignment.md"
TITLES = {
    "short": "one card, prompts of 192, replies of 64",
    "paper": "one card",
    "micro_batch_size": "one card, `gradient_checkpointing = false`, `micro_batch_size = 4`",
}


@pytest.mark.parametrize("row", ROWS)
def test_a_measured_row_is_estimated_as_the_page_shows_it(row):
    task = replace(SHAPES["7b"], device="cuda")
    assert Shape.of(task.config()) == LLAMA_2_7B
    peak = estimate(LLAMA_2_7B, settings_of(row, task), BART_LARGE).peak / GB
    (line,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {TITLES[row]} |"))
    assert line.endswith(f" {peak:.1f} |")
