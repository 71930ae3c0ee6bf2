"""How TRL's trainers are set and run: checkpoints without pickles; metrics, alarms, progress after every step."""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import safe_globals
from trl import DPOConfig, GRPOConfig, KTOConfig, RLOOConfig, SFTConfig

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.folder import write_adapter
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.sharding import shard_for_trainer, sharding_asked
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.alarms import Alarms
from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import STATE, progress_line
from apportion.rlhf.training.step_end import step_ended


def updates_a_step(settings: AlignSettings) -> int:
    """Optimizer steps of one step."""
    several = "ppo_epochs" in settings.trainer.reads
    return settings.ppo_epochs * settings.batch_size // settings.mini_batch_size if several else 1


LIKELIHOOD = {"loss_type": "cispo", "epsilon_high": 1.0, "vllm_importance_sampling_correction": False}
"""What makes TRL's loss the negative log-likelihood where advantages and ratios are 1: ``-clamp(ratio) A log pi``."""


def scales(settings: AlignSettings) -> bool:
    """Whether advantages are divided by their group's deviation, as GRPO was published; RLOO and RAFT never do."""
    return settings.scale_rewards and "scale_rewards" in settings.trainer.reads


def group_arguments(config: type[GRPOConfig] | type[RLOOConfig], run: Run, folder: Path) -> Any:
    """Arguments of GRPO, RLOO or RAFT; one step samples ``batch`` replies, ``group`` to each context.

    What is not named here is as TRL sets it: GRPO's loss is ``dapo`` (a mean over tokens). RLOO's divergence is a part
    of the reward, which TRL sees to; GRPO's is one by `grpo_rloo`, and TRL weighs none, but for the published form.
    RAFT's loss is `LIKELIHOOD`.
    """
    settings = run.settings
    likely = settings.trainer.keeps_best
    published = scales(settings)
    form: dict[str, Any] = {"beta": settings.divergence_weight}
    if config is GRPOConfig:
        form = {"beta": settings.divergence_weight if published else 0.0, "scale_rewards": published}
    arguments = config(
        **_shared(run, folder, settings.mini_batch_size),
        steps_per_generation=settings.batch_size // (settings.at_once * settings.processes),
        num_generations=settings.num_generations,
        num_iterations=settings.ppo_epochs,
        **form,
        epsilon=settings.clip,
        max_completion_length=settings.max_new_tokens,
        temperature=settings.temperature,
        top_p=1.0,
        top_k=0,
        # The order is in the data set already.
        shuffle_dataset=False,
        use_vllm=settings.generation == "vllm",
        # In each process an engine of its own, which samples that process' replies.
        vllm_mode="colocate",
        **(LIKELIHOOD if likely else {}),
    )
    return on_one_device(arguments)


def supervised_arguments(run: Run, folder: Path) -> SFTConfig:
    """An SFTConfig for token ids and labels that are ready; a step is one update from ``batch`` turns."""
    arguments = SFTConfig(
        **_shared(run, folder, run.settings.batch_size),
        train_sampling_strategy="sequential",
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    return on_one_device(arguments)


def preference_arguments(run: Run, folder: Path) -> DPOConfig:
    """A DPOConfig for contexts; a step is one update from a pair of replies to each of ``batch`` / ``group`` contexts.

    A forward pass holds at most ``micro_batch_size`` replies, and one pair at least.
    """
    settings = run.settings
    pairs = settings.batch_size // (settings.num_generations * settings.processes)
    at_once = math.gcd(pairs, max(1, settings.at_once // 2))
    shared = _shared(run, folder, settings.batch_size)
    arguments = DPOConfig(
        **shared | {"per_device_train_batch_size": at_once, "gradient_accumulation_steps": pairs // at_once},
        beta=settings.divergence_weight,
        train_sampling_strategy="sequential",
        max_length=None,
    )
    return on_one_device(arguments)


def unpaired_arguments(run: Run, folder: Path, good: int, bad: int) -> KTOConfig:
    """A KTOConfig for so many good and bad turns; a step is one update from ``batch`` of them.

    The rarer ones weigh more each, so that both kinds weigh alike (Ethayarajh et al., 2024, Eq. 8, at its ratio 1).
    """
    arguments = KTOConfig(
        **_shared(run, folder, run.settings.batch_size),
        beta=run.settings.divergence_weight,
        desirable_weight=max(1.0, bad / good),
        undesirable_weight=max(1.0, good / bad),
        train_sampling_strategy="sequential",
        max_length=None,
    )
    return on_one_device(arguments)


def on_one_device(arguments: Any) -> Any:
    """``arguments`` for a single GPU, however many there are: one process is one copy of the policy."""
    # Else transformers would split batches over all that it sees, which TRL refuses.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def _shared(run: Run, folder: Path, minibatch: int) -> dict[str, Any]:
    settings = run.settings
    updates, constant = updates_a_step(settings), settings.lr_schedule == "constant"
    return {
        "output_dir": str(folder),
        "max_steps": settings.steps * updates,
        "per_device_train_batch_size": settings.at_once,
        "gradient_accumulation_steps": minibatch // (settings.at_once * settings.processes),
        "learning_rate": settings.learning_rate,
        # Their constant one has no warm-up.
        "lr_scheduler_type": "constant_with_warmup" if constant and settings.warmup else settings.lr_schedule,
        "warmup_steps": settings.warmup or 0,
        "weight_decay": 0.0,
        "max_grad_norm": settings.max_gradient_norm,
        "optim": "adamw_torch",
        "gradient_checkpointing": settings.gradient_checkpointing,
        # Weights are in the wanted format already, adapters in float32; no automatic casting on top.
        "bf16": False,
        "use_cpu": settings.placement.device == "cpu",
        # numpy, which TRL seeds too, takes no other numbers.
        "seed": run.seed % 2**32,
        "logging_steps": updates,
        # A loss that is not a number has to be seen.
        "logging_nan_inf_filter": False,
        "save_strategy": "steps" if run.checkpoints else "no",
        "save_steps": updates,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
    }


def tensor_files(processes: int) -> tuple[str, ...]:
    """What a checkpoint of that many processes holds beside adapters and JSON."""
    random = [f"rng_state_{rank}.pth" for rank in range(processes)] if processes > 1 else ["rng_state.pth"]
    return ("optimizer.pt", "scheduler.pt", *random)


class TrainerCheckpoints(StepFolders):
    """What TRL's trainers go on from.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the trainer's own optimizer,
    schedule, random number generators and count of updates, and in ``state.json`` what is ours. Nothing in it is
    unpickled: weights are safetensors, and the trainer reads the rest with ``weights_only=True``. Several processes
    share one; each has its own random number generators in it.

    ``root``: made when the first checkpoint is written.
    """

    def __init__(self, root: Path, processes: int = 1) -> None:
        super().__init__(root)
        self._processes = processes

    def open(self) -> tuple[Path, Mapping[str, Any]] | None:
        """The newest checkpoint and what is ours in it, once all of it has been read; None without one."""
        folder = self.newest()
        return None if folder is None else (folder, self.read(folder, self._verified))

    def _verified(self, folder: Path) -> Mapping[str, Any]:
        state: Mapping[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
        load_file(folder / "adapter_model.safetensors")
        TrainerState.load_from_json(str(folder / "trainer_state.json"))
        with safe_globals():  # type: ignore[no-untyped-call]
            for name in tensor_files(self._processes):
                torch.load(folder / name, weights_only=True, map_location="cpu")
        return {"history": state["history"], "alarms": state["alarms"], "own": state["own"]}


class StepTrainer:
    """Part of a trainer: what a step measured, and checkpoints in our form, without pickled arguments."""

    policy: Policy
    model: Any
    args: Any

    def _save(self, output_dir: str, state_dict: Any = None) -> None:
        # The trainer asks every process.
        if not self.args.should_save:
            return
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        write_adapter(folder, self.policy, self.model)

    def _send_telemetry(self) -> None:
        """Nothing: TRL would tell the Hub what is trained, and how."""

    def create_model_card(self, *arguments: Any, **options: Any) -> None:
        """Nothing: the policy card is ours."""

    def step_metrics(self, logs: Mapping[str, float]) -> dict[str, float]:
        """The last step's metrics, ``logs`` being the trainer's own means over the step's updates."""
        raise NotImplementedError

    def own_state(self) -> Any:
        """What a checkpoint has to hold beside the trainer's own, as JSON values."""
        return None

    def load_own_state(self, state: Any) -> None:
        """Go on from what `own_state` gave."""


class StepCallback(TrainerCallback):
    """What happens after each step, which is several optimizer steps; the trainer has to log and to save once a step.

    Every process of ``run.processes`` has one; all of them come to the same metrics and alarms, the first one finishes
    checkpoints.

    ``checkpoints``: what a killed run goes on from. ``watched``: whether the trainer samples the replies that alarms go
    by, where its algorithm has alarms.
    """

    def __init__(
        self, run: Run, trainer: StepTrainer, checkpoints: TrainerCheckpoints | None, watched: bool = True
    ) -> None:
        self.run = run
        self.trainer = trainer
        self.checkpoints = checkpoints
        self.alarms = Alarms(run.settings.alarms) if watched and "alarms" in run.settings.trainer.reads else None
        self._metrics: dict[str, float] = {}
        self._since = 0.0

    def resume(self) -> Path | None:
        """Take up the newest checkpoint; the folder that the trainer has to go on from, None to start anew."""
        newest = self.checkpoints.open() if self.checkpoints else None
        if newest is None:
            return None
        folder, state = newest
        self.run.metrics.restore(state["history"])
        self.trainer.load_own_state(state["own"])
        if self.alarms:
            self.alarms.load_state(state["alarms"])
        return folder

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """Start the clock."""
        self._since = time.perf_counter()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:
        """Note a step's metrics."""
        if logs is None or "loss" not in logs:
            return
        step, algorithm = self._step(state), self.run.settings.algorithm.upper()
        for name, what in (("loss", "the loss"), ("grad_norm", "the gradient's norm")):
            if not math.isfinite(logs.get(name, 0.0)):
                raise UnitError(
                    f"{algorithm} step {step}: {what} is {logs[name]}; it must be a finite number. Lower lr."
                )
        # The first one's in all: what an alarm tells one process it tells every other.
        measured = self.run.processes.broadcast(self.trainer.step_metrics(logs))
        model: Any = others.get("model")
        if step_ended(self.run, self.alarms, step, measured, model):
            control.should_training_stop = True
        self._metrics = self.run.metrics.at(step)
        if not self.checkpoints:
            self._tell(step)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Finish the checkpoint that the trainer has written."""
        if not self.checkpoints:
            return
        # Until then some process' random numbers may be missing in it.
        self.run.processes.wait()
        step = self._step(state)
        if self.run.processes.rank == 0:
            self._finish(self.checkpoints, Path(str(args.output_dir)) / f"checkpoint-{state.global_step}", step)
        # An error in the next step names the last good checkpoint, in whatever process.
        self.run.processes.wait()
        self._tell(step)

    def _finish(self, checkpoints: TrainerCheckpoints, written: Path, step: int) -> None:
        ours = {
            "alarms": self.alarms.state() if self.alarms else {"start": {}, "streaks": {}},
            "history": self.run.metrics.rows,
            "own": self.trainer.own_state(),
        }
        checkpoints.finish(written, step, self.alarms is None or self.alarms.calm, ours)

    def _tell(self, step: int) -> None:
        now = time.perf_counter()
        settings = self.run.settings
        line = progress_line(settings.algorithm, step, self._metrics, settings.batch_size / (now - self._since))
        self._since = now
        self.run.progress(step, settings.steps, line)

    def _step(self, state: TrainerState) -> int:
        return state.global_step // updates_a_step(self.run.settings)


@contextmanager
def _writable(run: Run, checkpoints: TrainerCheckpoints | None) -> Iterator[Path]:
    """Where a trainer may write until a checkpoint is whole; one for all processes, where there are checkpoints."""
    if checkpoints is None:
        with tempfile.TemporaryDirectory(prefix="apportion-align-") as name:
            yield Path(name)
        return
    folder = None
    if run.processes.rank == 0:
        checkpoints.clear_scratch()
        folder = checkpoints.scratch()
    folder = run.processes.broadcast(folder)
    assert folder is not None
    yield folder
    # The trainer looks into it once more when it has ended.
    run.processes.wait()
    if run.processes.rank == 0:
        checkpoints.clear_scratch()


def run_trainer(run: Run, make: Callable[[Path], Any], watched: bool = True) -> PeftModel:
    """Train what ``make`` makes (a TRL trainer and `StepTrainer` that writes into a folder); the model that is trained.

    ``watched`` as `StepCallback` takes it. A killed run goes on from its newest checkpoint.
    """
    checkpoints = TrainerCheckpoints(run.checkpoints, run.processes.size) if run.checkpoints else None
    with _writable(run, checkpoints) as folder:
        trainer = make(folder)
        if sharding_asked(run.processes):
            shard_for_trainer(trainer.model, run.settings, run.processes)
        callback = StepCallback(run, trainer, checkpoints, watched)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(callback)
        newest = callback.resume()
        if run.processes.rank:
            # Each process samples other replies and drops other activations; the first one's are those of one alone.
            torch.manual_seed(run.seed + run.processes.rank)
        try:
            # A run that was killed after its last step, before its end, has ended; its weights are gold's to choose.
            if run.gold is None or not run.gold.fell(run.metrics):
                trainer.train(resume_from_checkpoint=str(newest) if newest else None)
        except UnitError as error:
            last_good = checkpoints.kept() if checkpoints else None
            raise UnitError(f"{error} {last_good}" if last_good else str(error)) from None
    model: PeftModel = trainer.model
    return model
