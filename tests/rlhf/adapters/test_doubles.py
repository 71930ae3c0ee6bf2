"""Adapters in doubles of what was read of SkyRL, Atropos, prime-rl, NeMo-RL and rLLM, where these are not installed."""

import asyncio
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.adapters.atropos import IGNORED, scored_group
from apportion.rlhf.adapters.nemo_rl import environment_of
from apportion.rlhf.adapters.prime_rl import turn_advantages, turn_credit_of, turn_rewards
from apportion.rlhf.adapters.rllm import set_advantages
from apportion.rlhf.adapters.scoring import RecordedRewards, scorer
from tests.rlhf.adapters.recorded import CREDIT, HEARD, PROMPT, ROLLOUTS, rows, said, write

CONVERSATIONS = [[*PROMPT, *said(*texts)] for texts in ROLLOUTS]


def module_double(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    """A module of that name, with the packages above it."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    sys.modules[name].__dict__.update(names)


def test_skyrls_environment_pays_each_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class BaseTextEnvDouble:
        def __init__(self) -> None:
            self.turns = 0

    base = {"BaseTextEnv": BaseTextEnvDouble, "BaseTextEnvStepOutput": dict}
    module_double(monkeypatch, "skyrl_gym.envs.base_text_env", **base)
    monkeypatch.delitem(sys.modules, "apportion.rlhf.adapters.skyrl", raising=False)
    from apportion.rlhf.adapters.skyrl import DialogueEnv

    env = DialogueEnv({}, {"extra_info": {"replies": [HEARD]}}, source=write(tmp_path))
    assert env.init(PROMPT) == (PROMPT, {})
    first, second = env.step("no"), env.step("yes good .")
    assert first == {"observations": [said("", "")[1]], "reward": -1.0, "done": False, "metadata": {}}
    assert second == {"observations": [], "reward": 2.0, "done": True, "metadata": {}}
    assert (env.turns, env.max_turns, env.get_metrics()) == (2, 2, {"turns": 2, "turn_reward": 0.5})
    short = DialogueEnv(extras={"max_turns": 1, "extra_info": {"replies": [HEARD]}}, source=write(tmp_path))
    short.init(PROMPT)
    assert short.step("no")["done"]
    monkeypatch.delitem(sys.modules, "apportion.rlhf.adapters.skyrl")


def test_a_group_for_atropos_has_advantages_at_trained_tokens() -> None:
    masks = [[IGNORED, 3, 3, IGNORED, 4], [IGNORED, 3, IGNORED, 4, 4]]
    completions = [said(*texts) for texts in ROLLOUTS]
    group = scored_group(RecordedRewards(rows()), [PROMPT] * 2, completions, [[0, 3, 3, 5, 4]] * 2, masks)
    (a, b), (c, d) = CREDIT
    assert group["advantages"] == [[0, a, a, 0, b], [0, c, 0, d, d]] and group["scores"] == [1.5, 1.0]
    assert group["masks"] == masks and group["messages"] == CONVERSATIONS
    with pytest.raises(ValueError, match="a group of 1"):
        scored_group(RecordedRewards(rows()), [PROMPT], completions[:1], [[0] * 5], masks[:1])
    last = [[IGNORED, IGNORED, IGNORED, IGNORED, 4]] * 2
    with pytest.raises(ValueError, match=r"rollout 0: 1 runs of trained tokens, 2 assistant.*train_on_all_assistant"):
        scored_group(RecordedRewards(rows()), [PROMPT] * 2, completions, [[0] * 5] * 2, last)
    with pytest.raises(ValueError, match="runs of the policy's tokens"):
        scored_group(RecordedRewards(rows()), [PROMPT] * 2, completions, masks, [[1, IGNORED, 1, IGNORED, 1]] * 2)


class NodeDouble:
    """verifiers' ``MessageNode``: a message, whether the model said it, and which tokens it sampled."""

    def __init__(self, message: dict[str, str], dumped: bool) -> None:
        self.sampled = message["role"] == "assistant"
        self.mask = [False, True, True] if self.sampled else [False]
        self.message: Any = SimpleNamespace(model_dump=lambda: message) if dumped else message


def trace_double(conversation: list[dict[str, str]], dumped: bool = False) -> Any:
    return SimpleNamespace(nodes=[NodeDouble(message, dumped) for message in conversation])


@pytest.mark.parametrize("dumped", [False, True])
def test_prime_rl_is_handed_the_advantages_of_sampled_tokens(
    dumped: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assigned: list[list[float]] = []
    traces = [trace_double(conversation, dumped) for conversation in CONVERSATIONS]
    algo = "prime_rl.orchestrator.algo"
    both = {"iter_trainable_traces": lambda episodes: ((one, trace) for one in episodes for trace in one.traces)}
    module_double(monkeypatch, f"{algo}.base", **both)
    routing = ModuleType(f"{algo}.routing")
    routing.__dict__["assign_advantages"] = lambda trace, values: assigned.append(values)
    monkeypatch.setitem(sys.modules, routing.__name__, routing)
    kind = turn_credit_of(object, write(tmp_path))
    asyncio.run(kind().score_group([SimpleNamespace(traces=[trace]) for trace in traces]))
    assert assigned == [[a, a, b, b] for a, b in CREDIT]


def test_a_lone_trace_and_context_that_the_model_did_not_say() -> None:
    judge, traces = RecordedRewards(rows()), [trace_double(conversation) for conversation in CONVERSATIONS]
    assert turn_advantages(judge, traces[:1]) == [[0.0] * 4]
    for trace in traces:  # the first answer was put there by somebody
        trace.nodes[1].sampled, trace.nodes[1].mask = False, [False]
    assert turn_advantages(judge, traces) == [[-1.5, -1.5], [1.5, 1.5]]


def test_state_scores_for_prime_rl_warn_of_what_is_lost() -> None:
    with pytest.warns(UserWarning, match=r"the first turn's -1 is lost\. Use turn_credit_of"):
        assert turn_rewards(RecordedRewards(rows()), trace_double(CONVERSATIONS[1])) == [-1.0, 1.0]


def test_nemo_rls_environment_pays_the_last_turn_of_each_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class EnvironmentReturnDouble(NamedTuple):
        observations: Any
        metadata: Any
        next_stop_strings: Any
        rewards: Any
        terminateds: Any
        answers: Any = None

    module_double(monkeypatch, "nemo_rl.environments.interfaces", EnvironmentReturn=EnvironmentReturnDouble)
    env = environment_of(object)(write(tmp_path))
    logs = [[{**message, "token_ids": [1]} for message in CONVERSATIONS[1][:end]] for end in (2, 4)]
    found = env.step(logs, [{"replies": [HEARD], "id": 7}, None])
    assert found.rewards.tolist() == [-1.0, 2.0] and found.terminateds.tolist() == [False, True]
    assert [of["content"] for of in found.observations] == [HEARD, ""]
    assert found.metadata == [{"replies": [], "id": 7}, {"replies": []}] and found.next_stop_strings == [None, None]
    assert env.global_post_process_and_metrics("batch") == ("batch", {})


def test_rllms_steps_get_their_rewards_and_what_follows() -> None:
    ends = [CONVERSATIONS[1][:2], CONVERSATIONS[1]]
    steps = [SimpleNamespace(chat_completions=said_so_far, reward=0.0, advantage=None) for said_so_far in ends]
    set_advantages(RecordedRewards(rows()), SimpleNamespace(steps=steps))
    assert [(step.reward, step.advantage) for step in steps] == [(-1.0, 1.0), (2.0, 2.0)]


def test_a_place_that_is_neither_is_told(tmp_path: Path) -> None:
    for name in ("nothing", "nothing.jsonl"):
        with pytest.raises(InputError, match=name):
            scorer(tmp_path / name)
