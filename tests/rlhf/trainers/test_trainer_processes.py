"""TRL's trainers in several processes take the steps of one."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.align import align
from apportion.rlhf.launch import launcher as launch
from apportion.rlhf.policy import sharding
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.settings import AlarmSettings, AlignSettings
from apportion.rlhf.trainers.group_advantages import GroupReward
from apportion.rlhf.trainers.running import TrainerCheckpoints
from tests.forked import Tell, ended, forked
from tests.made_once import made_once
from tests.rlhf.test_alignment import digest
from tests.rlhf.test_alignment import run as alone
from tests.rlhf.together import job, launched, named_policy
from tests.rlhf.toy import SMALL, contexts, quiet, small_policy
from tests.rlhf.trainer_processes_run import WAYS, run
from tests.rlhf.trainers.test_grpo_rloo import METRICS, Stop, stop_after

GROUPS = {"algorithm": "grpo", "num_generations": 2, "batch_size": 4, "mini_batch_size": 4, "lr": 0.01}
TOGETHER = {
    "grpo": GROUPS,
    # Groups of three: one lies across both processes.
    "grpo, several turns": {
        **GROUPS, "max_turns": 2, "max_context_tokens": 90, "batch_size": 6, "mini_batch_size": 6, "num_generations": 3,
    },
    "rloo": {**GROUPS, "algorithm": "rloo", "beta": 0.5},
    "sft": {**GROUPS, "algorithm": "sft"},
}  # fmt: skip


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As many as each of the two processes has; on a policy this small more of them only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("config", ["data_parallel", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_processes_take_the_steps_of_one(tmp_path: Path, config: str) -> None:
    # Responses of several turns end at different times, which sharded weights cannot wait for.
    ways = [way for way in WAYS if config != "fsdp" or "turns" not in way]
    launched(config, "-m", "tests.rlhf.trainer_processes_run", str(tmp_path), *ways)
    for way in ways:
        trained, history = run(way, Processes())
        first, second = (load_file(tmp_path / f"{way}{rank}.safetensors") for rank in (0, 1))
        assert all(torch.equal(first[name], second[name]) for name in first)
        for name, weight in trained.items():
            assert bool(weight.any())
            torch.testing.assert_close(first[name], weight, rtol=1e-3, atol=1e-4)
        told = [ast.literal_eval((tmp_path / f"{way}{rank}.txt").read_text()) for rank in (0, 1)]
        assert told[0] == told[1] and {name for _, name, _ in told[0]} > {"gradient"}
        for (step, name, value), (_, other, same) in zip(history.rows, told[0], strict=True):
            # TRL's clip fraction is a mean of the micro-batches' means, and they are made of other replies.
            near = 0.02 if name == "clip_fraction" else 1e-5
            assert name == other and same == pytest.approx(value, rel=1e-3, abs=near), (way, step, name)


class Second(Processes):
    """The second of two processes; the first has had ``found``."""

    def __init__(self, found: list[float]) -> None:
        super().__init__()
        self.rank, self.size, self.found = 1, 2, found

    def gather_objects(self, value):
        return [(self.found, [True] * len(self.found), []) if isinstance(value, tuple) else self.found, value]


def test_the_moments_of_the_scores_are_those_of_all_processes() -> None:
    policy = small_policy()
    settings = SMALL.model_copy(update={"algorithm": "grpo"})
    reward = GroupReward(
        lambda contexts, histories, replies: [3.0, 5.0], contexts(policy), settings, Second([1.0, 1.0, 5.0])
    )
    state = type("State", (), {"global_step": 0})()
    said = [[{"role": "assistant", "content": "yes"}]] * 2
    rewards = reward(prompts=[0, 0], completions=said, context=[0, 1], trainer_state=state)
    mean, deviation = 3.0, (16 / 5) ** 0.5
    assert reward.scores == [1.0, 1.0, 5.0, 3.0, 5.0]
    assert reward.score_norm.moments[:3] == pytest.approx((5, mean, 16.0))
    assert rewards == pytest.approx([0.0, 2.0 / deviation])
    assert reward.turns == [[value] for value in rewards]


def test_each_turn_of_a_response_is_scored_at_its_own_place() -> None:
    policy, places = small_policy(), []

    def score(answered, histories, replies):
        places.append([context.place for context in answered])
        return [1.0] * len(replies)

    asked = contexts(policy)
    reward = GroupReward(score, asked, SMALL.model_copy(update={"algorithm": "grpo"}), Processes())
    state, said = type("State", (), {"global_step": 0})(), [["a", "b", "c"], ["d"]]
    reward([0, 0], [], [0, 1], state, replies=said, histories=said)
    ends = torch.tensor([(0, 1), (0, 2), (0, 3), (1, 2)])
    places.append([one.place for one in Rollout(*torch.ones(3, 2, 4), ends=ends).answered(asked)])
    assert [one.place for one in asked[:2]] == [0, 1] and places == [[0, 1, 2, 1]] * 2


def test_of_sharded_weights_only_ppo_has_to_be_told_of_its_minibatch() -> None:
    # sft does not read it.
    taught = SMALL.model_copy(update={"algorithm": "sft", "policy": "p", "mini_batch_size": 3, "micro_batch_size": 1})
    sharding.check_sharding(taught, 2)
    with pytest.raises(InputError, match=r"mini_batch_size = 3"):
        sharding.check_sharding(taught.model_copy(update={"algorithm": "ppo"}), 2)


def test_a_checkpoint_has_to_hold_every_process_random_numbers(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        alone(tmp_path / "out", checkpoints=tmp_path / "kept", progress=stop_after(1), **GROUPS)
    folder, kept = tmp_path / "kept" / "step-000001", TrainerCheckpoints(tmp_path / "kept", 2)
    random = (folder / "rng_state.pth").rename(folder / "rng_state_0.pth").read_bytes()
    for found in (None, b"\x80\x04 half"):
        if found is not None:
            (folder / "rng_state_1.pth").write_bytes(found)
        with pytest.raises(UnitError, match=r"checkpoint .*step-000001 cannot be read .* Delete this folder to go on"):
            kept.open()
    (folder / "rng_state_1.pth").write_bytes(random)
    opened = kept.open()
    assert opened is not None and opened[0] == folder


def oddly(monkeypatch: pytest.MonkeyPatch, mishap: str, step: int) -> None:
    plain = launch.launch_command

    def odd(settings: AlignSettings, folder: Path) -> list[str]:
        return [*plain(settings, folder)[:-2], "tests.rlhf.launched_oddly", mishap, str(step), str(folder)]

    monkeypatch.setattr(launch, "launch_command", odd)


def in_one_go(tmp_path_factory: pytest.TempPathFactory, way: str, config: str) -> Path:
    """The folder of an alignment by two processes, in one go: ``out``, ``kept``, ``reward``, and what it told.

    Two tests look at one of them, each perhaps in a process of its own.
    """

    def make(folder: Path) -> None:
        if config == "fsdp":
            named_policy(folder / "policy")
        told: dict[str, list[Any]] = {"lines": [], "seen": []}
        history, samples = align(
            job(folder, **changed(folder, way, config)),
            lambda done, total, text: told["lines"].append(text),
            [lambda step, metrics: told["seen"].append([step, sorted(metrics)])],
        )
        rows = {"history": history.to_pylist(), "samples": samples.to_pylist()}
        (folder / "told.json").write_text(json.dumps({**told, **rows}))

    return made_once(tmp_path_factory, f"{way} by {config}", make)


def changed(folder: Path, way: str, config: str) -> dict[str, Any]:
    policy = str(folder / "policy") if config == "fsdp" else "tiny"
    return {**TOGETHER[way], "steps": 3, "policy": policy, "accelerate": config}


@pytest.mark.slow
@pytest.mark.parametrize("way", TOGETHER)
def test_two_processes_align_and_the_first_one_tells_and_writes(tmp_path_factory, way: str) -> None:
    folder = in_one_go(tmp_path_factory, way, "data_parallel")
    told = json.loads((folder / "told.json").read_text())
    measured = {"loss", "entropy", "token_accuracy"} if way == "sft" else METRICS
    assert told["seen"] == [[step, sorted(measured)] for step in (1, 2, 3)] and len(told["samples"]) == 2
    name = TOGETHER[way]["algorithm"].upper()
    assert [line.split(":")[0] for line in told["lines"]] == [f"{name} step {step}" for step in (1, 2, 3)]
    steps = {row["step"] for row in told["history"] if row["metric"] in measured}
    assert steps == {1, 2, 3} and (folder / "out" / "README.md").is_file()
    kept = folder / "kept"
    assert {path.name for path in kept.iterdir()} == {"base", "step-000002", "step-000003"}  # The last two.
    states = [torch.load(kept / "step-000003" / f"rng_state_{rank}.pth", weights_only=False) for rank in (0, 1)]
    assert not torch.equal(states[0]["cpu"], states[1]["cpu"])


def aligned(tell: Tell, folder: Path, reward: Path, changes: dict[str, Any], hold: int = 0) -> None:
    if hold:
        oddly(pytest.MonkeyPatch(), "hold", hold)
    launch.align_distributed(job(folder, reward, **changes), lambda done, total, text: tell(done), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "config"), [("grpo, several turns", "data_parallel"), ("sft", "data_parallel"), ("grpo", "fsdp")]
)
def test_killed_after_a_step_two_processes_come_to_the_same_policy(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, way: str, config: str
) -> None:
    whole = in_one_go(tmp_path_factory, way, config)
    changes = changed(whole, way, config)
    for stop in (1, 3):
        with forked(aligned, tmp_path, whole / "reward", changes, stop) as (running, told):
            assert stop in told
            for process in [*psutil.Process(running.pid).children(recursive=True), running]:
                process.kill()
        assert (tmp_path / "kept" / f"step-00000{stop}").is_dir()
        assert not (tmp_path / "out" / "README.md").exists()
    ended(aligned, tmp_path, whole / "reward", changes)
    assert digest(whole / "out") == digest(tmp_path / "out")


@pytest.mark.slow
def test_a_reward_that_is_no_number_in_one_process_ends_all_with_its_message(tmp_path: Path, monkeypatch) -> None:
    oddly(monkeypatch, "nan", 3)
    match = r"GRPO step 3: the reward model gave nan for the reply .*checkpoint, of 1 step, .*step-000001"
    with pytest.raises(UnitError, match=match):
        launch.align_distributed(job(tmp_path, **{**GROUPS, "steps": 4}), quiet, ())
    assert (tmp_path / "kept" / "step-000001" / "adapter_model.safetensors").is_file()
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_alarm_ends_all_processes_with_its_message(tmp_path: Path) -> None:
    alarms = AlarmSettings(patience=1, max_kl=1e-9)
    with pytest.raises(UnitError, match=r"GRPO step \d: stopped, the policy games its reward. KL blow-up"):
        launch.align_distributed(job(tmp_path, **{**GROUPS, "steps": 6, "alarms": alarms, "lr": 0.1}), quiet, ())
