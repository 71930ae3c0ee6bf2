"""inspect-ai 0.3.285 runs a task with a model that is made up, scores it, writes its log, and reads it back."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the trainers' environment: `make test-trainers`")

from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import solver

from apportion.rlhf.adapters.inspect_scorer import turn_values
from tests.docs.pages import fenced
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small
from tests.rlhf.adapters.recorded import HEARD, PROMPT, ROLLOUTS, write

pytestmark = pytest.mark.trainers
SAID = {"display": "none", "max_samples": 1, "fail_on_error": True}


def model(*outputs: ModelOutput | str) -> Any:
    """One that says these, in turn."""
    given = [ModelOutput.from_content("mockllm/model", one) if isinstance(one, str) else one for one in outputs]
    for one in given:
        one.usage = ModelUsage()  # Else tokens are counted, by a table that is fetched from the network.
    return get_model("mockllm/model", custom_outputs=given)


@solver
def talking(turns: int = 2) -> Any:
    """The model speaks ``turns`` times, with the other side's words in between."""

    async def solve(state: Any, generate: Any) -> Any:
        for turn in range(turns):
            if turn:
                state.messages.append(ChatMessageUser(content=HEARD))
            state = await generate(state, tool_calls="none")
        return state

    return solve


def test_a_task_is_scored_and_its_log_tells_every_turn(tmp_path: Path) -> None:
    *_, block = fenced("docs/guides/trainers.md", "python")
    prompt = PROMPT[0]["content"]
    names: dict[str, Any] = {}
    exec(block.replace("MODEL", write(tmp_path)), names)
    samples = [Sample(input=prompt, id=f"s{number}") for number in (0, 1)]
    task = Task(dataset=samples, solver=talking(), scorer=names["scorer"])
    said = [text for texts in ROLLOUTS for text in texts]
    (log,) = eval(task, model=model(*said), log_dir=str(tmp_path / "logs"), **SAID)
    read = read_eval_log(log.location)
    assert read.status == "success" and len(read.samples) == 2, read.error
    for sample, rewards in zip(read.samples, ROLLOUTS.values(), strict=True):
        (found,) = sample.scores.values()
        assert found.value == sum(rewards) and found.metadata["turn_values"] == list(rewards)
        by_id = {message.id: message for message in sample.messages}
        references = found.metadata["scanner_references"]
        assert [one["cite"] for one in references] == ["[M2]", "[M4]"] and found.explanation.count("[M") == 2
        spoken = [by_id[one["id"]] for one in references]
        assert [one.role for one in spoken] == ["assistant"] * 2
        assert [sample.messages.index(one) for one in spoken] == [1, 3]
    (scored,) = read.results.scores
    assert scored.name.endswith("turn_values") and scored.metrics["mean"].value == pytest.approx(1.25)
    (again,) = score(read, names["scorer"], action="overwrite", display="none").results.scores
    assert again.metrics["mean"].value == pytest.approx(1.25)


def test_a_reward_model_scores_what_the_model_said_alone(tmp_path: Path) -> None:
    """Words of the task's own in the assistant's place are no turn; a call of a tool alone is nothing said."""
    judge = random_head(small(save_tiny(tmp_path / "bert")))
    judge.save_pretrained(tmp_path / "model")
    shown = [ChatMessageUser(content="hotel ?"), ChatMessageAssistant(content="no"), ChatMessageUser(content="train ?")]
    task = Task(
        dataset=[Sample(input=shown, id="a"), Sample(input=shown, id="b")],
        solver=talking(1),
        scorer=turn_values(str(tmp_path / "model")),
    )
    silent = ModelOutput.for_tool_call("mockllm/model", "search", {"query": "train"}, content="")
    (log,) = eval(task, model=model("yes good", silent), log_dir=str(tmp_path / "logs"), **SAID)
    assert log.status == "success", log.error
    first, second = (next(iter(sample.scores.values())) for sample in read_eval_log(log.location).samples)
    chat = [{"role": one.role, "content": one.text} for one in shown]
    expected = judge.score([*chat, {"role": "assistant", "content": "yes good"}])[-1]
    assert first.value == pytest.approx(expected, rel=1e-5) and len(first.metadata["turn_values"]) == 1
    assert [one["cite"] for one in first.metadata["scanner_references"]] == ["[M4]"]
    assert second.value != second.value and second.reason == "nothing said"  # Not a number: in no metric.
    assert json.dumps(first.metadata)
