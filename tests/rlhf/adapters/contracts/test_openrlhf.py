"""OpenRLHF 0.11.2's own executor loads the file and pays by it; vLLM is a double."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("openrlhf", reason="needs the trainers' environment: `make test-trainers`")

from openrlhf.datasets.prompts_dataset import preprocess_data
from openrlhf.utils.agent import SingleTurnAgentExecutor

from tests.docs.pages import fenced
from tests.rlhf.adapters.recorded import PROMPT, tokenizer, write

pytestmark = pytest.mark.trainers


class EngineDouble:
    """In the place of vLLM: it says one answer."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def generate(self, tokens: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        ids = tokenizer()(f"{self.text} </s>")["input_ids"]
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, finish_reason="stop", logprobs=None)])


@pytest.mark.parametrize(("answer", "paid"), [("yes good", 1.0), ("no", -1.0), ("hotel", None)])
@pytest.mark.parametrize("longest", [40, 9])
def test_the_executor_pays_by_the_file(answer: str, paid: float | None, longest: int, tmp_path: Path) -> None:
    """A prompt that is too long is cut by OpenRLHF; what was not recorded is logged by it, and has no reward."""
    file = tmp_path / "reward.py"
    block, *_ = fenced("docs/guides/trainers.md", "python")
    file.write_text(block.replace("MODEL", write(tmp_path)))
    row = {"input": PROMPT, "label": json.dumps({"prompt": PROMPT})}
    prompt, label = preprocess_data(row, None, "input", "label", tokenizer().apply_chat_template)
    executor = SingleTurnAgentExecutor([str(file)])
    sampling = SimpleNamespace(max_tokens=4, logprobs=None)
    found = asyncio.run(executor.execute(prompt, label, sampling, longest, tokenizer(), EngineDouble(answer)))
    assert found["label"] == label
    if paid is None:
        assert found["reward"] is None
    else:  # as its generator of samples reads it
        assert torch.tensor([found["reward"]]).tolist() == torch.tensor([found["scores"]]).tolist() == [paid]
